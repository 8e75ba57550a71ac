"""A measure of several runs, each with its 95 % interval over tasks."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.theme import CHOSEN
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis


def intervals(
    names: Sequence[str], values: Sequence[float], bounds: Sequence[tuple[float, float]], *, measure: str
) -> go.Figure:
    """A point for each run, the best on top, with its interval; all in [0, 1]."""
    order = sorted(range(len(names)), key=lambda at: values[at])
    trace = {
        "type": "scatter", "mode": "markers", "x": [values[at] for at in order], "y": list(range(len(order))),
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 2, "width": 5,
            "array": [bounds[at][1] - values[at] for at in order],
            "arrayminus": [values[at] - bounds[at][0] for at in order],
        },
        "marker": {"size": 10, "color": CHOSEN},
        "hovertext": [
            f"{label(names[at], 80)}<br>{values[at]:.3f}, 95 % interval {bounds[at][0]:.3f} to {bounds[at][1]:.3f}"
            for at in order
        ],
        "hoverinfo": "text",
    }  # fmt: skip
    texts = row_texts([label(names[at], 70) for at in order], list(range(len(order))))
    return figure(
        [trace, texts],
        title=f"{measure}, with 95 % intervals over tasks",
        height=70 + 46 * max(2, len(order)),
        xaxis={"rangemode": "normal"},
        xaxis2=EDGES,
        yaxis=rows_axis(len(order), shown=2) | {"range": [-0.6, len(order) - 0.2]},
    )
