"""What a network will be like: the latency of a few servers over the first steps, each in a panel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.lab.scenarios.records import Curve
from core.network.traces import OUTAGE_S
from dashboard.pages.network.charts.base import FIXED, SMALL, boxes
from dashboard.theme import MUTED, REJECTED, TIME
from dashboard.ui.charts.base import figure, label

COLUMNS = 3
GAP, HEADING = 0.02, 0.24  # of the width between panels, and of a row's height above one
LOWEST_MS, ROOM = 1.0, 1.6
HEIGHT_PX = 118


def latency_preview(curves: Sequence[Curve], step_s: float) -> go.Figure:
    """A panel a server in ms, on axes that all share; shaded while it is down (at 1,000 ms or more, dashed)."""
    rows = max(1, -(-len(curves) // COLUMNS))
    highest = max((float(curve.latency_s.max()) for curve in curves), default=1.0) * 1e3
    top = max(highest, OUTAGE_S * 1e3) * ROOM
    steps = max((len(curve.time_s) for curve in curves), default=1)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for place, curve in enumerate(curves):
        row, column = divmod(place, COLUMNS)
        left, upper = column / COLUMNS, 1 - row / rows
        number = "" if place == 0 else str(place + 1)
        traces += [_shade(curve, step_s, top, number), _line(curve, step_s, number)]
        axes |= _axes(number, left, upper, rows, first=column == 0)
        axes[f"xaxis{number}"]["range"] = [0, steps]
        axes[f"yaxis{number}"]["range"] = [np.log10(LOWEST_MS), np.log10(top)]
        notes.append(_heading(curve, left, upper))
    return figure(
        traces,
        title=f"Simulated latency in the first {steps:,} steps (ms)",
        height=HEIGHT_PX * rows + 40,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        shapes=[_limit("" if place == 0 else str(place + 1)) for place in range(len(curves))],
        annotations=notes,
        **axes,
    )


def _axes(number: str, left: float, upper: float, rows: int, *, first: bool) -> dict[str, Any]:
    return {
        f"xaxis{number}": {
            "domain": [left + GAP, left + 1 / COLUMNS - GAP / 2], "anchor": f"y{number}", "tickfont": SMALL, "nticks": 4,
            "zeroline": False, **FIXED,
        },
        f"yaxis{number}": {
            "domain": [upper - (1 - HEADING / 2) / rows + HEADING / 2 / rows, upper - HEADING / rows], "anchor": f"x{number}",
            "type": "log", "dtick": 1, "tickfont": SMALL, "showticklabels": first, "hoverformat": ",.3~r", **FIXED,
        },
    }  # fmt: skip


def _line(curve: Curve, step_s: float, number: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "name": label(curve.server, 24),
        "x": np.round(curve.time_s / step_s).astype(np.int32), "y": (curve.latency_s * 1e3).astype(np.float32),
        "line": {"color": TIME, "width": 1.2}, "hoverinfo": "x+y",
    }  # fmt: skip


def _shade(curve: Curve, step_s: float, top: float, number: str) -> dict[str, Any]:
    xs, ys = boxes([(begin / step_s, end / step_s) for begin, end in curve.outages], LOWEST_MS, top)
    return {
        "type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "x": xs, "y": ys,
        "fill": "toself", "line": {"width": 0}, "fillcolor": REJECTED, "opacity": 0.16, "hoverinfo": "skip",
    }  # fmt: skip


def _heading(curve: Curve, left: float, upper: float) -> dict[str, Any]:
    return {
        "text": f"{label(curve.server, 24)} · {label(' + '.join(curve.states), 30)}",
        "x": left + GAP, "y": upper, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top",
        "showarrow": False, "font": SMALL,
    }  # fmt: skip


def _limit(number: str) -> dict[str, Any]:
    return {
        "type": "line", "xref": f"x{number} domain", "yref": f"y{number}", "x0": 0, "x1": 1,
        "y0": OUTAGE_S * 1e3, "y1": OUTAGE_S * 1e3, "line": {"color": MUTED, "dash": "dash", "width": 1},
    }  # fmt: skip
