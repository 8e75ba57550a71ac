"""Charts that several pages draw, and the template of all charts: data in, Plotly figure out.

No Streamlit and no services. A chart of one page alone is in `pages/<page>/charts.py`.
"""
