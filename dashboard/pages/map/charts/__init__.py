"""Charts of the Map page alone: data in, Plotly figure out; no Streamlit, no services."""
