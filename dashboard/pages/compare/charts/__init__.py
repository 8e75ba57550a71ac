"""Charts of the Compare page alone: data in, Plotly figure out; no Streamlit, no services."""
