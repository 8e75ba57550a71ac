"""Charts of the Lab page alone: data in, Plotly figure out; no Streamlit, no services."""
