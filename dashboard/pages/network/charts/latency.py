"""Latency curves of a profile and of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.domain import units
from core.lab.scenarios.measures import Change, Curve, RankingHistory, ScenarioRun
from core.network.traces import OUTAGE_S
from dashboard.theme import CHOSEN, GROUPS, LOOKED_AT, MUTED, REJECTED, SIMILARITY, TIME
from dashboard.ui.charts.base import SMALL, chart, figure, label
from dashboard.ui.charts.shared import dotted


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a server or a router at a step. `subtask` is empty for servers."""

    step: int
    who: str
    what: str
    query: str = ""


@dataclass(frozen=True)
class RunTimeline:
    """Two routers through the same network, simulated or `live` (then latencies are measured).

    Steps count from the first query; each lasts `step_s`. `experts` are the rows of the servers that can do each task.
    `curves` are the latencies of the shown servers, from `lead_in` steps before the first query.
    `not_stored` is the reason if the runs could not be stored.
    """

    titles: tuple[str, ...]
    runs: tuple[ScenarioRun, ...]
    rankings: tuple[RankingHistory, ...]
    changes: tuple[tuple[Change, ...], ...]
    curves: tuple[Curve, ...]
    subtasks: tuple[str, ...]
    experts: tuple[frozenset[int], ...]
    servers: tuple[str, ...]
    tools: tuple[str, ...]
    steps: int
    lead_in: int
    step_s: float
    live: bool = False
    not_stored: str = ""

    @property
    def source(self) -> str:
        """The source of the numbers, for titles."""
        return "measured live" if self.live else "simulated"

    @property
    def first_step(self) -> int:
        """The first step to show: the first change of a router's server, else the first outage, else the middle."""
        changes = [change.step for of_router in self.changes for change in of_router]
        outages = [int(begin) for curve in self.curves for begin, _ in self.outages(curve)]
        return min(changes or outages, default=self.steps // 2)

    def step_of(self, time_s: float) -> float:
        """Returns the step of a time on a curve; negative before the first query."""
        return time_s / self.step_s - self.lead_in

    def outages(self, curve: Curve) -> list[tuple[float, float]]:
        """Returns the spans of steps in which a server is down, from the first query on."""
        spans = [(self.step_of(begin), self.step_of(end)) for begin, end in curve.outages]
        return [(max(begin, 0.0), end) for begin, end in spans if end > 0]

    def events(self) -> list[Event]:
        events: list[Event] = []
        for curve in self.curves:
            for begin, end in self.outages(curve):
                events.append(Event(int(begin), curve.server, "goes down"))
                if end < self.steps:
                    lasted = units.seconds((end - begin) * self.step_s)
                    events.append(Event(int(end), curve.server, f"is up again, after {lasted}"))
        for title, of_router in zip(self.titles, self.changes, strict=True):
            events += [
                Event(c.step, title, f"leaves {c.left} for {c.chosen}: {c.why}", self.subtasks[c.task])
                for c in of_router
            ]
        return sorted(events, key=lambda event: event.step)


FAINT = 0.25  # the opacity of later steps
FIXED = {"fixedrange": True}
LEFT_PX = 128  # of every chart as wide as the page, so that their steps align
ROUTER_LOOKS = (
    (CHOSEN, "circle", "solid"),
    (SIMILARITY, "diamond", "dash"),
)  # as the Compare page colours the first two
SERVER_COLOURS = tuple(colour for colour in GROUPS if colour != SIMILARITY)


def server_look(place: int) -> dict[str, Any]:
    """Returns colour and stroke of the n-th shown server.

    >>> server_look(0) == server_look(len(SERVER_COLOURS)), server_look(0)["dash"], server_look(len(SERVER_COLOURS))["dash"]
    (False, 'solid', 'dot')
    """
    turn, colour = divmod(place, len(SERVER_COLOURS))
    return {"color": SERVER_COLOURS[colour], "dash": ("solid", "dot", "dashdot")[turn % 3]}


def step_axis(timeline: RunTimeline) -> dict[str, Any]:
    return {
        "title": {"text": f"step (one query each {timeline.step_s:g} s)", "font": SMALL, "standoff": 4},
        "range": [-0.01 * timeline.steps, 1.01 * timeline.steps],
        **FIXED,
    }


def step_marker(at: int) -> dict[str, Any]:
    return dotted("x", at, LOOKED_AT, width=1.5)


def boxes(
    spans: Sequence[tuple[float, float]], low: float, high: float
) -> tuple[list[float | None], list[float | None]]:
    """Returns x and y of rectangles as one line with gaps, so that hundreds of them are one trace.

    >>> boxes([(1, 2)], 0, 9)
    ([1, 2, 2, 1, None], [0, 0, 9, 9, None])
    """
    xs: list[float | None] = []
    ys: list[float | None] = []
    for begin, end in spans:
        xs += [begin, end, end, begin, None]
        ys += [low, low, high, high, None]
    return xs, ys


ROOM = 1.25
TEN_MS = 10.0


def latency_curves(timeline: RunTimeline, at: int, *, logarithmic: bool = True) -> go.Figure:
    """Draws one line for each server in ms, shaded while it is down (1,000 ms or more). A dotted line is the chosen step.

    Marks are the servers that the routers call at step `at`.
    """
    low, high = _reach(timeline, logarithmic)
    traces: list[dict[str, Any]] = []
    for place, curve in enumerate(timeline.curves):
        colour = server_look(place)["color"]
        traces += [
            shade(timeline.outages(curve), low, high, fillcolor=colour, opacity=0.13, showlegend=False),
            _line(timeline, curve, place),
        ]
    traces += [_measured(timeline, place, at) for place in range(len(timeline.runs)) if timeline.live]
    traces += [mark for place in range(len(timeline.runs)) if (mark := _mark(timeline, place, at)) is not None]
    axis = [math.log10(low), math.log10(high)] if logarithmic else [low, high]
    plot = chart(
        traces,
        title="Injected and measured latency of servers" if timeline.live else "Simulated latency of servers",
        height=360,
        top=84,
        left=LEFT_PX,
        hovermode="x unified",
        shapes=[step_marker(at), limit()],
        xaxis=step_axis(timeline),
        yaxis={
            "title": "network latency (ms)", "type": "log" if logarithmic else "linear",
            "range": axis, "hoverformat": ",.3~r", **({"dtick": 1} if logarithmic else {}), "ticksuffix": " ms",
            "automargin": False, **FIXED,
        },
    )  # fmt: skip
    return plot.update_layout(legend_itemsizing="constant")


def _reach(timeline: RunTimeline, logarithmic: bool) -> tuple[float, float]:
    """Returns the range of the axis in ms. It is equal at every step, so that the chart does not jump, and includes the limit."""
    lowest = min((float(curve.latency_s.min()) for curve in timeline.curves), default=0.01)
    highest = max((float(curve.latency_s.max()) for curve in timeline.curves), default=1.0)
    if logarithmic:
        return min(lowest * 1e3, TEN_MS) / ROOM, max(highest, OUTAGE_S) * 1e3 * ROOM
    return 0.0, highest * 1e3 * ROOM


def _line(timeline: RunTimeline, curve: Curve, place: int) -> dict[str, Any]:
    look = server_look(place)
    return {
        "type": "scatter", "mode": "lines", "name": label(curve.server, 24),
        "x": (curve.time_s / timeline.step_s - timeline.lead_in).astype(np.int32),
        "y": (curve.latency_s * 1e3).astype(np.float32), "line": {**look, "width": 1.4}, "hoverinfo": "x+y+name",
    }  # fmt: skip


def shade(spans: Sequence[tuple[float, float]], low: float, high: float, **looks: Any) -> dict[str, Any]:
    xs, ys = boxes(spans, low, high)
    return {
        "type": "scatter", "mode": "lines", "x": xs, "y": ys, "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip", **looks,
    }  # fmt: skip


def _measured(timeline: RunTimeline, place: int, step: int) -> dict[str, Any]:
    run, (colour, symbol, _) = timeline.runs[place], ROUTER_LOOKS[place]
    return {
        "type": "scatter", "mode": "markers", "name": f"{label(timeline.titles[place], 24)} measured",
        "x": list(range(step + 1)), "y": (run.network_s[: step + 1] * 1e3).astype(np.float32),
        "marker": {"symbol": symbol, "color": colour, "size": 5}, "hoverinfo": "skip",
    }  # fmt: skip


def _mark(timeline: RunTimeline, place: int, step: int) -> dict[str, Any] | None:
    run, (colour, symbol, _) = timeline.runs[place], ROUTER_LOOKS[place]
    if run.server[step] < 0:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{label(timeline.titles[place], 24)} calls",
        "x": [step],
        "y": [float(run.network_s[step]) * 1e3],
        "marker": {
            "symbol": f"{symbol}-open", "color": colour, "size": 12 + 6 * place, "line": {"width": 2.5, "color": colour}
        },
        "hoverinfo": "skip",
    }  # fmt: skip


def limit(number: str | None = None) -> dict[str, Any]:
    """Returns the dashed line of an outage across the chart, or across its panel of a number."""
    panel = {"xref": "paper"} if number is None else {"xref": f"x{number} domain", "yref": f"y{number}"}
    return {
        "type": "line", **panel, "x0": 0, "x1": 1, "y0": OUTAGE_S * 1e3, "y1": OUTAGE_S * 1e3,
        "line": {"color": MUTED, "dash": "dash", "width": 1},
    }  # fmt: skip


COLUMNS = 3
GAP, HEADING = 0.02, 0.24  # shares of the width between panels, and of a row's height above it
LOWEST_MS, PREVIEW_ROOM = 1.0, 1.6
HEIGHT_PX = 118


def latency_preview(curves: Sequence[Curve], step_s: float) -> go.Figure:
    """Draws a panel for each server in ms on equal axes, shaded while it is down (1,000 ms or more, dashed)."""
    rows = max(1, -(-len(curves) // COLUMNS))
    highest = max((float(curve.latency_s.max()) for curve in curves), default=1.0) * 1e3
    top = max(highest, OUTAGE_S * 1e3) * PREVIEW_ROOM
    steps = max((len(curve.time_s) for curve in curves), default=1)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for place, curve in enumerate(curves):
        row, column = divmod(place, COLUMNS)
        left, upper = column / COLUMNS, 1 - row / rows
        number = "" if place == 0 else str(place + 1)
        spans = [(begin / step_s, end / step_s) for begin, end in curve.outages]
        panel = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        traces += [
            shade(spans, LOWEST_MS, top, fillcolor=REJECTED, opacity=0.16, **panel),
            _preview_line(curve, step_s, number),
        ]
        axes |= _axes(number, left, upper, rows, first=column == 0)
        axes[f"xaxis{number}"]["range"] = [0, steps]
        axes[f"yaxis{number}"]["range"] = [np.log10(LOWEST_MS), np.log10(top)]
        notes.append(_heading(curve, left, upper))
    return figure(
        traces, title=f"Simulated latency in the first {steps:,} steps (ms)", height=HEIGHT_PX * rows + 40,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        shapes=[limit("" if place == 0 else str(place + 1)) for place in range(len(curves))],
        annotations=notes, **axes,
    )  # fmt: skip


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


def _preview_line(curve: Curve, step_s: float, number: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "name": label(curve.server, 24),
        "x": np.round(curve.time_s / step_s).astype(np.int32), "y": (curve.latency_s * 1e3).astype(np.float32),
        "line": {"color": TIME, "width": 1.2}, "hoverinfo": "x+y",
    }  # fmt: skip


def _heading(curve: Curve, left: float, upper: float) -> dict[str, Any]:
    return {
        "text": f"{label(curve.server, 24)} · {label(' + '.join(curve.states), 30)}",
        "x": left + GAP, "y": upper, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top",
        "showarrow": False, "font": SMALL,
    }  # fmt: skip
