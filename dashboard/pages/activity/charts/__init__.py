"""Charts of the Activity page alone: data in, Plotly figure out; no Streamlit, no services."""
