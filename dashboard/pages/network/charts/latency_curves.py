"""Latency over time of the servers that matter, when they were down, and where both routers go at the chosen step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.lab.scenarios.records import Curve
from core.network.traces import OUTAGE_S
from dashboard.pages.network.charts.base import (
    FIXED,
    LEFT_PX,
    ROUTER_LOOKS,
    SMALL,
    boxes,
    server_look,
    step_axis,
    step_marker,
)
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.theme import MUTED
from dashboard.ui.charts.base import figure, label

ROOM = 1.25
TEN_MS = 10.0


def latency_curves(timeline: RunTimeline, at: int, *, logarithmic: bool = True, height: int = 360) -> go.Figure:
    """One line a server in ms, shaded while it is down (at 1,000 ms or more), with the chosen step as a dotted line.

    The marks on it are the servers that the routers call at step `at`.
    """
    low, high = _reach(timeline, logarithmic)
    traces: list[dict[str, Any]] = []
    for place, curve in enumerate(timeline.curves):
        traces += [_shade(timeline, curve, place, low, high), _line(timeline, curve, place)]
    traces += [_measured(timeline, place, at) for place in range(len(timeline.runs)) if timeline.live]
    traces += [mark for place in range(len(timeline.runs)) if (mark := _mark(timeline, place, at)) is not None]
    axis = [math.log10(low), math.log10(high)] if logarithmic else [low, high]
    drawn = figure(
        traces,
        title="Injected latency of the servers that matter, and what was measured"
        if timeline.live
        else "Simulated latency of the servers that matter",
        height=height,
        showlegend=True,
        hovermode="x unified",
        margin={"l": LEFT_PX, "r": 8, "t": 84, "b": 8},
        shapes=[step_marker(at), _limit()],
        xaxis=step_axis(timeline),
        yaxis={
            "title": {"text": "network latency (ms)", "font": SMALL},
            "type": "log" if logarithmic else "linear",
            "range": axis,
            "hoverformat": ",.3~r",
            **({"dtick": 1} if logarithmic else {}),
            "ticksuffix": " ms",
            "automargin": False,
            **FIXED,
        },
    )
    return drawn.update_layout(title_y=1, title_yanchor="top", title_pad_t=6, legend_itemsizing="constant")


def _reach(timeline: RunTimeline, logarithmic: bool) -> tuple[float, float]:
    """What the axis spans, in ms; the same at every step, so that nothing jumps while time runs. Decades reach the limit."""
    lowest = min((float(curve.latency_s.min()) for curve in timeline.curves), default=0.01)
    highest = max((float(curve.latency_s.max()) for curve in timeline.curves), default=1.0)
    if logarithmic:
        return min(lowest * 1e3, TEN_MS) / ROOM, max(highest, OUTAGE_S) * 1e3 * ROOM
    return 0.0, highest * 1e3 * ROOM


def _line(timeline: RunTimeline, curve: Curve, place: int) -> dict[str, Any]:
    look = server_look(place)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(curve.server, 24),
        "x": (curve.time_s / timeline.step_s - timeline.lead_in).astype(np.int32),
        "y": (curve.latency_s * 1e3).astype(np.float32),
        "line": {**look, "width": 1.4},
        "hoverinfo": "x+y+name",
    }


def _shade(timeline: RunTimeline, curve: Curve, place: int, low: float, high: float) -> dict[str, Any]:
    xs, ys = boxes(timeline.outages(curve), low, high)
    return {
        "type": "scatter", "mode": "lines", "x": xs, "y": ys, "fill": "toself", "line": {"width": 0},
        "fillcolor": server_look(place)["color"], "opacity": 0.13, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip


def _measured(timeline: RunTimeline, place: int, at: int) -> dict[str, Any]:
    """The calls of a live run up to a step, each at the latency that it had."""
    run, (colour, symbol, _) = timeline.runs[place], ROUTER_LOOKS[place]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{label(timeline.titles[place], 24)} measured",
        "x": list(range(at + 1)),
        "y": (run.network_s[: at + 1] * 1e3).astype(np.float32),
        "marker": {"symbol": symbol, "color": colour, "size": 5},
        "hoverinfo": "skip",
    }


def _mark(timeline: RunTimeline, place: int, at: int) -> dict[str, Any] | None:
    """Where a router's call went; nothing where it went nowhere."""
    run, (colour, symbol, _) = timeline.runs[place], ROUTER_LOOKS[place]
    if run.server[at] < 0:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{label(timeline.titles[place], 24)} calls",
        "x": [at],
        "y": [float(run.network_s[at]) * 1e3],
        "marker": {
            "symbol": f"{symbol}-open", "color": colour, "size": 12 + 6 * place, "line": {"width": 2.5, "color": colour}
        },
        "hoverinfo": "skip",
    }  # fmt: skip


def _limit() -> dict[str, Any]:
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": OUTAGE_S * 1e3, "y1": OUTAGE_S * 1e3,
        "line": {"color": MUTED, "dash": "dash", "width": 1},
    }  # fmt: skip
