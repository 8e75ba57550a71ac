"""Charts of the Network page alone: data in, Plotly figure out; no Streamlit, no services."""
