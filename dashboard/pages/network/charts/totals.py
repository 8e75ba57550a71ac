"""Running totals of both routers: failures, mean latency, cost. Faint after the chosen step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.lab.scenarios.measures import ScenarioRun
from dashboard.pages.network.charts.base import FAINT, FIXED, ROUTER_LOOKS, step_axis, step_marker
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.ui.charts.base import figure, label
from dashboard.ui.charts.time_axes import money_unit


@dataclass(frozen=True, slots=True)
class Total:
    """A running total: its title, and its value at each step (N,) of a run."""

    title: str
    column: Callable[[ScenarioRun], NDArray[np.float64]]


def failures(run: ScenarioRun) -> NDArray[np.float64]:
    """How many queries had no success so far (N,): the call failed, or went nowhere."""
    return np.cumsum(~run.ok).astype(np.float64)


def mean_latency_ms(run: ScenarioRun) -> NDArray[np.float64]:
    """Mean network latency of the calls so far (N,); NaN before the first one."""
    called = ~np.isnan(run.network_s)
    calls = np.cumsum(called)
    total = np.cumsum(np.where(called, run.network_s, 0.0)) * 1e3
    return np.divide(total, calls, out=np.full(len(calls), np.nan), where=calls > 0)


def cost_usd(run: ScenarioRun) -> NDArray[np.float64]:
    """What the calls cost so far (N,)."""
    return np.cumsum(run.price_usd)


TOTALS = {
    "failures": Total("Queries without success", failures),
    "latency": Total("Mean network latency (ms)", mean_latency_ms),
    "cost": Total("Cost of the calls", cost_usd),
}


def totals_so_far(timeline: RunTimeline, name: str, at: int, *, height: int = 210) -> go.Figure:
    """One of TOTALS, faint from step `at` on. The axes span the whole run, so that nothing jumps while time runs."""
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
        "type": "scatter",
        "mode": "lines",
        "name": label(timeline.titles[place], 24),
        "x": np.array(steps, dtype=np.int32),
        "y": column[steps.start : steps.stop].astype(np.float32),
        "line": {"color": colour, "dash": dash, "width": 2, "shape": "hv"},
        "opacity": opacity,
        "hoverinfo": "x+y+name" if opacity == 1.0 else "skip",
    }
