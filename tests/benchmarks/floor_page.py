"""The floor: a page with one slider and CHARTS charts. It measures the page host and the browser without Wayfare."""

import os

import plotly.graph_objects as go
import streamlit as st

value = st.slider("αt", 0.0, 2.0, 0.25, 0.01)
for chart in range(int(os.environ.get("CHARTS", "1"))):
    lengths = [round(value * (row + 1) + chart, 4) for row in range(20)]
    bars = go.Bar(
        x=lengths, y=[f"tool {row}" for row in range(20)], orientation="h", text=[str(length) for length in lengths]
    )
    figure = go.Figure(bars).update_layout(height=260, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    st.plotly_chart(figure.update_traces(textposition="outside"), key=f"chart:{chart}")
