"""The trade-off of refusing: how many of the impossible sub-tasks are turned down, and how many of the others with them."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.feedback import RefusalCurve, RefusalPoint
from dashboard.theme import CHOSEN, MUTED
from dashboard.ui.charts.base import figure


def refusal_curve(curve: RefusalCurve, percent: float, *, height: int = 260) -> go.Figure:
    """A line from never refusing to the upper right, in percent, and where the knob is."""
    here = curve.at(percent)
    line = {
        "type": "scatter", "mode": "lines+markers", "x": [100 * point.wrong for point in curve.points],
        "y": [100 * point.refused for point in curve.points], "line": {"width": 2, "color": MUTED}, "marker": {"size": 5},
        "hovertext": [_hover(point) for point in curve.points], "hoverinfo": "text",
    }  # fmt: skip
    knob = {
        "type": "scatter", "mode": "markers", "x": [100 * here.wrong], "y": [100 * here.refused],
        "marker": {"size": 13, "symbol": "diamond", "color": CHOSEN}, "hovertext": [_hover(here)], "hoverinfo": "text",
        "cliponaxis": False,
    }  # fmt: skip
    return figure(
        [line, knob],
        title=f"What refusing turns down, {'measured on your labels' if curve.questions else 'as shipped'}",
        height=height,
        xaxis={
            "title": {"text": "of what something can do, % (wrong refusals)", "font": {"size": 11}},
            "rangemode": "tozero",
        },
        yaxis={"title": {"text": "of what nothing can do, %", "font": {"size": 11}}, "range": [-4, 104]},
    )


def _hover(point: RefusalPoint) -> str:
    return (
        f"knob at {point.percent:g} %: {100 * point.wrong:.0f} % wrong refusals, "
        f"{100 * point.refused:.0f} % of the impossible refused"
    )
