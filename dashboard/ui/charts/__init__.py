"""Charts that several pages draw, and the template of all charts: data in, Plotly figure out.

No Streamlit and no services. The next one is a file here; a chart of one page alone is in `pages/<page>/charts`.
"""
