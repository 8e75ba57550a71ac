"""Charts of the Papers page alone: data in, Plotly figure out; no Streamlit, no services."""
