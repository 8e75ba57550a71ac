"""Live calls, and stored runs compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.domain.lab_runs import KeptRun
from core.network.traces import OUTAGE_S
from dashboard.pages.network.charts.latency import FIXED, LEFT_PX, ROUTER_LOOKS, SMALL
from dashboard.theme import ACCEPTED, MUTED, REJECTED, SERIES
from dashboard.ui.charts.base import figure, label


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call: the place of its router, step, server, measured latency, success, and injected network."""

    place: int
    step: int
    server: str
    network_s: float
    ok: bool
    injected: str


def calls_so_far(calls: Sequence[LiveCall], titles: Sequence[str], steps: int, *, height: int = 260) -> go.Figure:
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
    drawn = figure(
        traces,
        title="Measured latency of the calls so far, with injected network; 1,000 ms: no answer",
        height=height,
        showlegend=True,
        margin={"l": LEFT_PX, "r": 8, "t": 74, "b": 8},
        xaxis={"title": {"text": "step", "font": SMALL}, "range": [-0.5, steps - 0.5], **FIXED},
        yaxis={
            "title": {"text": "latency (ms)", "font": SMALL}, "type": "log", "range": [0.5, 3.3],
            "dtick": 1, "ticksuffix": " ms", "automargin": False, **FIXED,
        },
        shapes=[
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": OUTAGE_S * 1e3, "y1": OUTAGE_S * 1e3,
                "line": {"color": MUTED, "dash": "dash", "width": 1},
            }
        ],
    )  # fmt: skip
    return drawn.update_layout(title_y=1, title_yanchor="top", title_pad_t=6)


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
            "hoverinfo": "text",
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
        yaxis={"title": {"text": "Queries to a right server (SSR), %", "font": SMALL}, "range": _share_range(shares), "zeroline": False, **FIXED},
    )  # fmt: skip


def failures_by_step(columns: Sequence[NDArray[np.bool_]], names: Sequence[str]) -> go.Figure:
    """Draws the number of failed queries so far, a numbered line for each run. `columns` are the success of each step."""
    sums = [np.cumsum(~ok, dtype=np.int64) for ok in columns]
    highest = max((int(failed[-1]) for failed in sums if len(failed)), default=0) or 1
    longest = max(map(len, sums), default=1)
    return figure(
        [_line(place, failed, name) for place, (failed, name) in enumerate(zip(sums, names, strict=True))],
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


def _line(place: int, failed: NDArray[np.int64], name: str) -> dict[str, object]:
    at = np.unique(np.linspace(0, max(0, len(failed) - 1), min(len(failed), MOST_POINTS)).astype(np.int64))
    return {
        "type": "scatter", "mode": "lines", "name": f"{place + 1} {label(name, 40)}", "x": at, "y": failed[at],
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
    found: dict[int, float] = {}
    last: dict[int, float] = {}
    ends = {place: float(failed[-1]) for place, failed in enumerate(sums) if len(failed)}
    for place in sorted(ends, key=ends.__getitem__):
        steps = len(sums[place])
        last[steps] = found[place] = max(ends[place], last.get(steps, -math.inf) + gap)
    return found


def _share_range(shares: Sequence[float]) -> list[float]:
    """Returns a range around the points, at least ten wide, with room for marks at 0 % and 100 %."""
    low, high = min(shares, default=0.0), max(shares, default=100.0)
    room = max(5.0, 0.3 * (high - low))  # for numbers below and above
    return [max(-9.0, low - room), min(106.0, high + room)]
