"""A run over time: its events, totals and the history of a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.domain.lab_runs import LIVE
from core.lab.scenarios.measures import NETWORK, Change, Curve, ScenarioRun
from dashboard.pages.network.charts.latency import (
    FAINT,
    FIXED,
    LEFT_PX,
    ROUTER_LOOKS,
    RunTimeline,
    boxes,
    server_look,
    step_axis,
    step_marker,
)
from dashboard.theme import MUTED
from dashboard.ui.charts.base import figure, label, money_unit

LANE_PX, AROUND_PX = 24, 84
THICK = 0.32
NAME = 13
NOWHERE = "nowhere"


def event_strip(timeline: RunTimeline, at: int) -> go.Figure:
    """Draws two rows for each router (calls in the colours of servers, changes), and one for each server with outages.

    Steps after `at` are faint.
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
        title=f"Events, {timeline.source}",
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
    """Returns a stroke for each call in the colour of its server, grey for other servers, and a cross for failed calls."""
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
    """Returns the injected network and the measured latency of a live call."""
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
    """Returns the past and the later outages."""
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


@dataclass(frozen=True, slots=True)
class Total:
    """A running total: its title, and its value at each step (N,) of a run."""

    title: str
    column: Callable[[ScenarioRun], NDArray[np.float64]]


def failures(run: ScenarioRun) -> NDArray[np.float64]:
    """Returns the number of queries without success so far (N,)."""
    return np.cumsum(~run.ok).astype(np.float64)


def mean_latency_ms(run: ScenarioRun) -> NDArray[np.float64]:
    """Returns the mean network latency of the calls so far (N,), NaN before the first call."""
    called = ~np.isnan(run.network_s)
    calls = np.cumsum(called)
    total = np.cumsum(np.where(called, run.network_s, 0.0)) * 1e3
    return np.divide(total, calls, out=np.full(len(calls), np.nan), where=calls > 0)


def cost_usd(run: ScenarioRun) -> NDArray[np.float64]:
    """Returns the cost of the calls so far (N,)."""
    return np.nancumsum(run.price_usd)


TOTALS = {
    "failures": Total("Queries without success", failures),
    "latency": Total("Mean network latency (ms)", mean_latency_ms),
    "cost": Total("Cost of the calls", cost_usd),
}


def totals_so_far(timeline: RunTimeline, name: str, at: int, *, height: int = 210) -> go.Figure:
    """Draws one of TOTALS, faint from step `at` on. The axes span the whole run, so that the chart does not jump."""
    total = TOTALS[name]
    columns = [total.column(run) for run in timeline.runs]
    unit = ""
    if name == "cost":
        scale, money = money_unit([run.cost_usd for run in timeline.runs])
        columns, unit = [column * scale for column in columns], f" ({money})"
    highest = max((float(np.nanmax(column, initial=0.0)) for column in columns), default=0.0)
    return figure(
        [
            _line(timeline, place, column, steps, opacity)
            for place, column in enumerate(columns)
            for steps, opacity in ((range(at, timeline.steps), FAINT), (range(at + 1), 1.0))
        ],
        title=f"{total.title}{unit}, {timeline.source}",
        height=height,
        hovermode="x unified",
        shapes=[step_marker(at)],
        xaxis={**step_axis(timeline), "title": {"text": "step", "font": {"size": 11}, "standoff": 4}},
        yaxis={"range": [0, (highest or 1.0) * 1.08], "hoverformat": ",.4~r", **FIXED},
    )


def _line(
    timeline: RunTimeline, place: int, column: NDArray[np.float64], steps: range, opacity: float
) -> dict[str, object]:
    colour, _, dash = ROUTER_LOOKS[place]
    return {
        "type": "scatter", "mode": "lines", "name": label(timeline.titles[place], 24),
        "x": np.array(steps, dtype=np.int32), "y": column[steps.start : steps.stop].astype(np.float32),
        "line": {"color": colour, "dash": dash, "width": 2, "shape": "hv"}, "opacity": opacity,
        "hoverinfo": "x+y+name" if opacity == 1.0 else "skip",
    }  # fmt: skip


ROOM = 0.06


def server_history(timeline: RunTimeline, place: int, at: int, *, height: int = 190) -> go.Figure:
    """Draws a line for each shown server in the colours of the latency curves, faint from step `at` on.

    Raises ValueError for a router without scores of servers.
    """
    ranking = timeline.rankings[place]
    if ranking.server_scores is None:
        raise ValueError(f"{timeline.titles[place]} knows nothing of the servers' state.")
    low, high = float(np.min(ranking.server_scores, initial=0.0)), float(np.max(ranking.server_scores, initial=1.0))
    margin = ROOM * (high - low)
    # SONAR's network score comes from the injected latencies, also in live runs
    source = "injected" if timeline.live and ranking.server_score == NETWORK else timeline.source
    lines = [
        _server_line(timeline, ranking.server_scores, number, steps, opacity)
        for number in range(len(timeline.curves))
        for steps, opacity in ((range(at, timeline.steps), FAINT), (range(at + 1), 1.0))
    ]
    return figure(
        lines, title=f"{label(timeline.titles[place], 24)}: {ranking.server_score}, {source}", height=height,
        hovermode="x unified", margin={"l": LEFT_PX, "r": 8, "t": 34, "b": 8}, shapes=[step_marker(at)],
        xaxis=step_axis(timeline),
        yaxis={"range": [low - margin, high + margin], "hoverformat": ".3f", "automargin": False, **FIXED},
    )  # fmt: skip


def _server_line(
    timeline: RunTimeline, values: NDArray[np.float32], number: int, steps: range, opacity: float
) -> dict[str, Any]:
    server = timeline.curves[number].server
    return {
        "type": "scatter", "mode": "lines", "name": label(server, 24), "x": np.array(steps, dtype=np.int32),
        "y": values[steps.start : steps.stop, timeline.servers.index(server)],
        "line": {**server_look(number), "width": 1.6, "shape": "hv"}, "opacity": opacity,
        "hoverinfo": "x+y+name" if opacity == 1.0 else "skip",
    }  # fmt: skip
