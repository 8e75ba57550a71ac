"""The event strip on the page's time axis: the server each router calls, its changes of mind, and when servers are down."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from core.domain.lab_runs import LIVE
from core.lab.scenarios.measures import ScenarioRun
from core.lab.scenarios.records import Change, Curve
from dashboard.pages.network.charts.base import (
    FAINT,
    FIXED,
    LEFT_PX,
    ROUTER_LOOKS,
    boxes,
    server_look,
    step_axis,
    step_marker,
)
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.theme import MUTED
from dashboard.ui.charts.base import figure, label

LANE_PX, AROUND_PX = 24, 84
THICK = 0.32
NAME = 13
NOWHERE = "nowhere"


def event_strip(timeline: RunTimeline, at: int) -> go.Figure:
    """Two rows a router (calls in their servers' colours, changes of mind), one for each shown server that goes down.

    What comes after step `at` is faint.
    """
    failing = [(place, curve) for place, curve in enumerate(timeline.curves) if timeline.outages(curve)]
    lanes = 2 * len(timeline.runs) + len(failing)
    traces: list[dict[str, Any]] = []
    names: list[str] = []
    for place, title in enumerate(timeline.titles):
        row = lanes - 1 - 2 * place
        names += [f"{label(title, NAME)} calls", f"{label(title, NAME)} changes"]
        traces += _calls(timeline, place, row, at)
        past = [change for change in timeline.changes[place] if change.step <= at]
        coming = [change for change in timeline.changes[place] if change.step > at]
        traces += [_changes(past, place, row - 1, 1.0), _changes(coming, place, row - 1, FAINT)]
    for lane, (place, curve) in enumerate(failing):
        names.append(f"{label(curve.server, NAME)} down")
        traces += _outages(timeline, curve, place, len(failing) - 1 - lane, at)
    return figure(
        traces,
        title=f"What happened when, {timeline.source}",
        height=AROUND_PX + LANE_PX * lanes,
        hovermode="closest",
        margin={"l": LEFT_PX, "r": 8, "t": 34, "b": 8},
        shapes=[step_marker(at)],
        xaxis=step_axis(timeline),
        yaxis={
            "tickvals": [lanes - 1 - number for number in range(lanes)], "ticktext": names,
            "range": [-0.6, lanes - 0.4], "zeroline": False, "showgrid": False, "automargin": False, **FIXED,
        },
    )  # fmt: skip


def _calls(timeline: RunTimeline, place: int, row: int, at: int) -> list[dict[str, Any]]:
    """A stroke a call in its server's colour, grey where the server is not shown; a cross where it had no success."""
    colours = {curve.server: server_look(number)["color"] for number, curve in enumerate(timeline.curves)}
    run = timeline.runs[place]
    names = [timeline.servers[server] if server >= 0 else NOWHERE for server in run.server.tolist()]
    traces: list[dict[str, Any]] = []
    for steps, opacity in ((range(at + 1), 1.0), (range(at + 1, timeline.steps), FAINT)):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": list(steps),
                "y": [row] * len(steps),
                "marker": {
                    "symbol": ["line-ns-open" if run.ok[step] else "x-thin-open" for step in steps],
                    "color": [colours.get(names[step], MUTED) for step in steps],
                    "size": [10 if run.ok[step] else 7 for step in steps],
                    "line": {"width": 2},
                    "opacity": opacity,
                },
                "hovertext": [
                    f"step {step}: {label(names[step], 30)}{'' if run.ok[step] else ', no success'}{_injected(run, step)}"
                    for step in steps
                ],
                "hoverinfo": "text",
            }
        )
    return traces


def _injected(run: ScenarioRun, step: int) -> str:
    """What was measured and what was injected, of a live run."""
    if run.mode != LIVE or not run.injected[step]:
        return ""
    return f"<br>{label(run.injected[step], 40)}; {run.network_s[step] * 1e3:,.0f} ms measured"


def _changes(changes: list[Change], place: int, row: int, opacity: float) -> dict[str, Any]:
    colour, symbol, _ = ROUTER_LOOKS[place]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [change.step for change in changes],
        "y": [row] * len(changes),
        "marker": {"symbol": symbol, "color": colour, "size": 8, "opacity": opacity},
        "hovertext": [
            f"step {change.step}: {label(change.left, 30)} → {label(change.chosen, 30)}<br>{label(change.why, 120)}"
            for change in changes
        ],
        "hoverinfo": "text",
    }


def _outages(timeline: RunTimeline, curve: Curve, place: int, row: int, at: int) -> list[dict[str, Any]]:
    """What has happened of the outages, and what is still to come."""
    spans = timeline.outages(curve)
    past = [(begin, min(end, at + 1)) for begin, end in spans if begin <= at]
    coming = [(max(begin, at + 1), end) for begin, end in spans if end > at + 1]
    return [_bars(past, place, row, 0.85), _bars(coming, place, row, FAINT)]


def _bars(spans: list[tuple[float, float]], place: int, row: int, opacity: float) -> dict[str, Any]:
    xs, ys = boxes(spans, row - THICK, row + THICK)
    return {
        "type": "scatter", "mode": "lines", "x": xs, "y": ys, "fill": "toself", "line": {"width": 0},
        "fillcolor": server_look(place)["color"], "opacity": opacity, "hoverinfo": "skip",
    }  # fmt: skip
