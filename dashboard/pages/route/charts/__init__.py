"""Charts of the Route page alone: data in, Plotly figure out; no Streamlit, no services."""
