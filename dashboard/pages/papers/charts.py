"""A figure of a paper: our values as solid lines and bars, printed values in the same hue, faint and dashed."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from core.papers.report import Chart, Series
from dashboard.theme import MUTED, SERIES
from dashboard.ui.charts.base import figure, label

FEW, SINGLE = 14, 4  # points of a line up to FEW are marked; up to SINGLE there is no line


def paper_chart(chart: Chart) -> go.Figure:
    """Draws the series of a figure, with the legend below."""
    hues: dict[str, str] = {}
    for series in chart.series:
        hues.setdefault(_subject(series), SERIES[len(hues) % len(SERIES)])
    traces = [_trace(chart, series, hues[_subject(series)]) for series in chart.series]
    rows = -(-len(chart.series) // 3)
    return figure(
        traces,
        title=label(chart.title, 90),
        height=330 + 18 * rows,
        showlegend=len(chart.series) > 1,
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "font": {"size": 11}},
        xaxis={"title": {"text": label(chart.x, 60), "font": {"size": 11}}, "fixedrange": True}
        | ({"type": "log"} if chart.log_x else {}),
        yaxis={
            "title": {"text": label(chart.y, 60), "font": {"size": 11}, "standoff": 10},
            "type": "log" if chart.log_y else "linear",
            "fixedrange": True,
        },
        **({"barmode": "group", "bargap": 0.25} if chart.shape == "bar" else {}),
    )


def _subject(series: Series) -> str:
    """Returns the subject of a series: the paper's and ours have one hue."""
    return series.name.removesuffix(", ours").removesuffix(", paper")


def _trace(chart: Chart, series: Series, hue: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "name": label(series.name, 60),
        "x": [label(str(x), 40) if isinstance(x, str) else x for x in series.x],
        "y": series.y,
        "hovertemplate": f"{label(series.name, 60)}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    }
    if chart.shape == "bar":
        pattern = {"shape": "/", "size": 5, "solidity": 0.4} if series.theirs else {"shape": ""}
        return common | {
            "type": "bar",
            "marker": {"color": hue, "opacity": 0.75 if series.theirs else 1.0, "pattern": pattern},
        }
    mode = (
        "markers"
        if len(series.x) <= SINGLE or chart.shape == "point"
        else "lines+markers"
        if len(series.x) <= FEW
        else "lines"
    )
    colour = MUTED if series.theirs and mode == "markers" and chart.shape != "point" else hue
    marker = {
        "size": 10 if mode == "markers" else 6,
        "symbol": "circle-open" if series.theirs else "circle",
        "color": colour,
    }
    if series.theirs:
        marker["line"] = {"width": 2}
    return common | {
        "type": "scatter",
        "mode": mode,
        "marker": marker,
        "line": {"color": colour, "width": 2, "dash": "dash" if series.theirs else "solid"},
    }
