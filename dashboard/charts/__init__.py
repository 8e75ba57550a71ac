"""Data to Plotly figures. No Streamlit, no store. One chart a file."""
