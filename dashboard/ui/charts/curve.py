"""A cost curve: lines, marks and bands over one axis, in the house style."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from core.whatif.curves import Curve, Line
from dashboard.theme import ACCEPTED, CHOSEN, MUTED, REJECTED, SERIES
from dashboard.ui.charts.base import figure, label

LONGEST_TITLE = 90
NAMED = 4  # lines that a legend names; of more, hover tells
KINDS = {"chosen": CHOSEN, "accepted": ACCEPTED, "rejected": REJECTED, "muted": MUTED}


def curve_chart(curve: Curve, *, height: int = 300) -> go.Figure:
    """The lines of a curve. The dotted line is the current value; within the band the winner stays the same."""
    others = [colour for colour in SERIES if colour != CHOSEN]
    drawn = [_line(line, others[number % len(others)]) for number, line in enumerate(curve.lines)]
    named = 1 < sum(not line.marks for line in curve.lines) <= NAMED
    shapes = [] if curve.current is None else [_dotted(curve.current)]
    shapes += [] if curve.holds is None else [_band(*curve.holds)]
    return figure(
        drawn,
        title=label(curve.title, LONGEST_TITLE),
        height=height,
        shapes=shapes,
        showlegend=named,
        legend={"orientation": "h", "y": -0.28, "yanchor": "top", "x": 0, "font": {"size": 10}},
        xaxis={
            "title": {"text": curve.x, "font": {"size": 11}},
            **({"range": [0, curve.longest]} if curve.longest else {}),
        },
        yaxis={"title": {"text": curve.y, "font": {"size": 11}}},
    )


def _line(line: Line, otherwise: str) -> dict[str, Any]:
    colour = KINDS.get(line.kind, otherwise)
    name = label(line.name, 50)
    return {
        "type": "scatter", "mode": "markers" if line.marks else "lines", "name": name, "showlegend": not line.marks, "x": list(line.x), "y": list(line.y),
        "line": {"color": colour, "width": 3 if line.kind == "chosen" else 1.6, "dash": "dash" if line.dashed else "solid",
                 "shape": "hv" if line.steps else "linear"},
        "marker": {"size": 10, "color": colour, "symbol": line.marks or "circle"},
        **({"fill": "tozeroy", "fillcolor": "rgba(23, 151, 111, 0.12)"} if line.filled else {}),
        "cliponaxis": not line.marks, "hoverinfo": "text",
        "hovertext": [f"{name}<br>{x:.4g}, {y:.4g}" for x, y in zip(line.x, line.y, strict=True)],
    }  # fmt: skip


def _dotted(x: float) -> dict[str, Any]:
    return {
        "type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": MUTED, "dash": "dot", "width": 2},
    }  # fmt: skip


def _band(low: float, high: float) -> dict[str, Any]:
    return {
        "type": "rect", "x0": low, "x1": high, "yref": "paper", "y0": 0, "y1": 1,
        "fillcolor": CHOSEN, "opacity": 0.09, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
