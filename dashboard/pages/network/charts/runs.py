"""Runs over time: events, totals, the history of a server, the calls of a live run so far; and stored runs compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.domain.lab_runs import LIVE, KeptRun
from core.lab.scenarios.measures import NETWORK, Change, Curve, ScenarioRun
from dashboard.pages.network.charts.latency import (
    FAINT,
    FIXED,
    LEFT_PX,
    ROUTER_LOOKS,
    RunTimeline,
    limit,
    server_look,
    shade,
    step_axis,
    step_marker,
)
from dashboard.theme import ACCEPTED, MUTED, REJECTED, SERIES
from dashboard.ui.charts.base import SMALL, chart, figure, label, money_unit

LANE_PX, AROUND_PX = 24, 84
THICK = 0.32
NAME = 13
NOWHERE = "nowhere"


def event_strip(timeline: RunTimeline, at: int) -> go.Figure:
    """Draws two rows for each router (calls in the colours of servers, changes), and a row for each server with outages.

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


def _calls(timeline: RunTimeline, place: int, row: int, current: int) -> list[dict[str, Any]]:
    """Returns a stroke for each call in the colour of its server, grey for other servers, and a cross for failed calls."""
    colours = {curve.server: server_look(number)["color"] for number, curve in enumerate(timeline.curves)}
    run = timeline.runs[place]
    names = [timeline.servers[server] if server >= 0 else NOWHERE for server in run.server.tolist()]
    traces: list[dict[str, Any]] = []
    for steps, opacity in ((range(current + 1), 1.0), (range(current + 1, timeline.steps), FAINT)):
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
            }
        )
    return traces


def _injected(run: ScenarioRun, step: int) -> str:
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
    }


def _outages(timeline: RunTimeline, curve: Curve, place: int, row: int, current: int) -> list[dict[str, Any]]:
    spans = timeline.outages(curve)
    past = [(begin, min(end, current + 1)) for begin, end in spans if begin <= current]
    coming = [(max(begin, current + 1), end) for begin, end in spans if end > current + 1]
    colour = server_look(place)["color"]
    return [
        shade(group, row - THICK, row + THICK, fillcolor=colour, opacity=opacity)
        for group, opacity in ((past, 0.85), (coming, FAINT))
    ]


@dataclass(frozen=True, slots=True)
class Total:
    """A running total: its title, and its value at each step (N,) of a run."""

    title: str
    column: Callable[[ScenarioRun], NDArray[np.float64]]


def failures(run: ScenarioRun) -> NDArray[np.float64]:
    return np.cumsum(~run.ok).astype(np.float64)


def mean_latency_ms(run: ScenarioRun) -> NDArray[np.float64]:
    """Returns the mean network latency of the calls so far (N,), NaN before the first call."""
    is_call = ~np.isnan(run.network_s)
    calls = np.cumsum(is_call)
    total = np.cumsum(np.where(is_call, run.network_s, 0.0)) * 1e3
    return np.divide(total, calls, out=np.full(len(calls), np.nan), where=calls > 0)


def cost_usd(run: ScenarioRun) -> NDArray[np.float64]:
    return np.nancumsum(run.price_usd)


TOTALS = {
    "failures": Total("Queries without success", failures),
    "latency": Total("Mean network latency (ms)", mean_latency_ms),
    "cost": Total("Cost of the calls", cost_usd),
}


def totals_so_far(timeline: RunTimeline, name: str, at: int) -> go.Figure:
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
            trace
            for title, column, (colour, _, dash) in zip(timeline.titles, columns, ROUTER_LOOKS, strict=False)
            for trace in _until(at, title, column, {"color": colour, "dash": dash, "width": 2})
        ],
        title=f"{total.title}{unit}, {timeline.source}",
        height=210,
        hovermode="x unified",
        shapes=[step_marker(at)],
        xaxis={**step_axis(timeline), "title": {"text": "step", "font": {"size": 11}, "standoff": 4}},
        yaxis={"range": [0, (highest or 1.0) * 1.08], "hoverformat": ",.4~r", **FIXED},
    )


def _until(current: int, name: str, column: NDArray[Any], line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a line through the values of all steps (N,), in two parts: faint from step `at` on."""
    return [
        {
            "type": "scatter", "mode": "lines", "name": label(name, 24), "x": np.array(steps, dtype=np.int32),
            "y": column[steps.start : steps.stop].astype(np.float32), "line": {**line, "shape": "hv"}, "opacity": opacity,
            "hoverinfo": "x+y+name" if opacity == 1.0 else "skip",
        }
        for steps, opacity in ((range(current, len(column)), FAINT), (range(current + 1), 1.0))
    ]  # fmt: skip


ROOM = 0.06


def server_history(timeline: RunTimeline, place: int, at: int) -> go.Figure:
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
        trace
        for number, curve in enumerate(timeline.curves)
        for trace in _until(
            at, curve.server, ranking.server_scores[:, timeline.servers.index(curve.server)],
            {**server_look(number), "width": 1.6},
        )
    ]  # fmt: skip
    return figure(
        lines, title=f"{label(timeline.titles[place], 24)}: {ranking.server_score}, {source}", height=190,
        hovermode="x unified", margin={"l": LEFT_PX, "r": 8, "t": 34, "b": 8}, shapes=[step_marker(at)],
        xaxis=step_axis(timeline),
        yaxis={"range": [low - margin, high + margin], "hoverformat": ".3f", "automargin": False, **FIXED},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call: the place of its router, step, server, measured latency, success, and injected network."""

    place: int
    step: int
    server: str
    network_s: float
    ok: bool
    injected: str


def calls_so_far(calls: Sequence[LiveCall], titles: Sequence[str], steps: int) -> go.Figure:
    """Draws latency in ms over steps, a mark for each call, in the look of its router. A cross is a failed call."""
    traces = []
    for place, title in enumerate(titles):
        colour, symbol, _ = ROUTER_LOOKS[place]
        of_router = [call for call in calls if call.place == place]
        traces.append(
            {
                "type": "scatter", "mode": "markers", "name": label(title, 24),
                "x": [call.step for call in of_router], "y": [call.network_s * 1e3 for call in of_router],
                "marker": {"symbol": [symbol if call.ok else "x" for call in of_router], "color": colour, "size": 8},
                "hovertext": [f"{label(call.server, 30)}: {label(call.injected, 40)}" for call in of_router],
                "hoverinfo": "text+y",
            }
        )  # fmt: skip
    return chart(
        traces,
        title="Measured latency of the calls so far, with injected network; 1,000 ms: no answer",
        height=260,
        top=74,
        left=LEFT_PX,
        xaxis={"title": "step", "range": [-0.5, steps - 0.5], **FIXED},
        yaxis={
            "title": "latency (ms)", "type": "log", "range": [0.5, 3.3],
            "dtick": 1, "ticksuffix": " ms", "automargin": False, **FIXED,
        },
        shapes=[limit()],
    )  # fmt: skip


RUN_COLOURS = tuple(colour for colour in SERIES if colour not in {ACCEPTED, REJECTED})
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "pentagon", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MOST_POINTS = 2000
HEIGHT, AWAY_PX, LEAST_MS = 290, 32, 1e-3
TURNS = tuple(math.pi * turn / 6 for turn in (9, 3, 1, 7, 11, 5))  # directions of the numbers around a point


def latency_against_success(runs: Sequence[KeptRun], names: Sequence[str]) -> go.Figure:
    """Draws a numbered point for each run: AL in ms on a logarithmic axis, SSR in percent. The upper left is best.

    Runs at one point stay visible: their marks differ in size, and their numbers surround it.
    """
    latencies = [max(run.al_ms, LEAST_MS) for run in runs] or [1.0]
    shares = [run.ssr * 100 for run in runs]
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [al_ms],
            "y": [share],
            "marker": {
                "symbol": f"{SYMBOLS[place]}-open",
                "size": 9 + 3 * place,
                "color": RUN_COLOURS[place],
                "line": {"width": 2.2},
            },
            "cliponaxis": False,
            "hovertext": [
                f"{place + 1} {label(name, 60)}<br>latency (AL) {al_ms:,.4g} ms, right server (SSR) {share:.1f} %"
            ],
        }
        for place, (al_ms, share, name) in enumerate(zip(latencies, shares, names, strict=False))
    ]
    low, high = math.log10(min(latencies)), math.log10(max(latencies))
    room = max(0.3, 0.14 * (high - low))
    ticks = [
        mark * 10.0**power for power in range(math.floor(low - room), math.ceil(high + room)) for mark in (1, 2, 5)
    ]
    return figure(
        points,
        title="Latency of the calls against success",
        height=HEIGHT,
        hovermode="closest",
        annotations=[
            {
                **_number(place), "x": math.log10(al_ms), "y": share, "showarrow": True, "arrowhead": 0, "arrowwidth": 1,
                "arrowcolor": RUN_COLOURS[place], "ax": AWAY_PX * math.cos(turn), "ay": AWAY_PX * math.sin(turn),
            }
            for place, (al_ms, share, turn) in enumerate(zip(latencies, shares, TURNS, strict=False))
        ],
        xaxis={
            "title": {"text": "Mean latency of the calls (AL), ms", "font": SMALL, "standoff": 12}, "type": "log", "range": [low - room, high + room],
            "tickvals": ticks, "ticktext": [f"{tick:,g}" for tick in ticks], "zeroline": False, **FIXED,
        },
        yaxis={"title": "Queries to a right server (SSR), %", "range": _share_range(shares), "zeroline": False, **FIXED},
    )  # fmt: skip


def failures_by_step(columns: Sequence[NDArray[np.bool_]], names: Sequence[str]) -> go.Figure:
    """Draws the number of failed queries so far, a numbered line for each run. `columns` are the success of each step."""
    sums = [np.cumsum(~ok, dtype=np.int64) for ok in columns]
    highest = max((int(failed[-1]) for failed in sums if len(failed)), default=0) or 1
    longest = max(map(len, sums), default=1)
    return figure(
        [_failures(place, failed, name) for place, (failed, name) in enumerate(zip(sums, names, strict=True))],
        title="Queries without success so far",
        height=HEIGHT,
        hovermode="x unified",
        margin={"l": 8, "r": 24, "t": 34, "b": 8},
        annotations=[
            {**_number(place), "x": len(sums[place]) - 1, "y": y, "xanchor": "left", "xshift": 4, "showarrow": False}
            for place, y in _apart(sums, 0.075 * highest).items()
        ],
        xaxis={"title": {"text": "step", "font": SMALL, "standoff": 12}, "range": [0, longest], **FIXED},
        yaxis={"range": [-0.02 * highest, highest * 1.12], **FIXED},
    )


def _failures(place: int, failed: NDArray[np.int64], name: str) -> dict[str, object]:
    steps = np.unique(np.linspace(0, max(0, len(failed) - 1), min(len(failed), MOST_POINTS)).astype(np.int64))
    return {
        "type": "scatter", "mode": "lines", "name": f"{place + 1} {label(name, 40)}", "x": steps, "y": failed[steps],
        "line": {"color": RUN_COLOURS[place], "dash": DASHES[place], "width": 2, "shape": "hv"},
        "hoverinfo": "x+y+name",
    }  # fmt: skip


def _number(place: int) -> dict[str, object]:
    return {"text": str(place + 1), "font": {"color": RUN_COLOURS[place], "size": 13}}


def _apart(sums: Sequence[NDArray[np.int64]], gap: float) -> dict[int, float]:
    """Returns heights for the numbers at the ends of lines, without overlaps at one step.

    >>> _apart([np.array([5]), np.array([5]), np.array([9]), np.array([1, 5])], 1.0)
    {0: 5.0, 1: 6.0, 3: 5.0, 2: 9.0}
    """
    heights: dict[int, float] = {}
    last: dict[int, float] = {}
    ends = {place: float(failed[-1]) for place, failed in enumerate(sums) if len(failed)}
    for place in sorted(ends, key=ends.__getitem__):
        steps = len(sums[place])
        last[steps] = heights[place] = max(ends[place], last.get(steps, -math.inf) + gap)
    return heights


def _share_range(shares: Sequence[float]) -> list[float]:
    """Returns a range around the points, at least ten wide, with room for marks at 0 % and 100 %."""
    low, high = min(shares, default=0.0), max(shares, default=100.0)
    room = max(5.0, 0.3 * (high - low))  # for numbers below and above
    return [max(-9.0, low - room), min(106.0, high + room)]
