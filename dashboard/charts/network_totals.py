"""What came together up to the chosen step, a line a router: failures, mean latency, cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.lab.scenario_measures import ScenarioRun
from dashboard.charts.activity_axes import money_unit
from dashboard.charts.base import figure, label
from dashboard.charts.network_base import FIXED, ROUTER_LOOKS, Story, moment, step_axis


@dataclass(frozen=True, slots=True)
class Total:
    """A figure that accumulates: its title, and the column (N,) of it for a run."""

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


def accumulated(story: Story, name: str, at: int, *, height: int = 210) -> go.Figure:
    """One of TOTALS up to step `at`. The axes span the whole run, so that nothing jumps while time runs."""
    total = TOTALS[name]
    columns = [total.column(run) for run in story.runs]
    unit = ""
    if name == "cost":
        scale, money = money_unit([run.cost_usd for run in story.runs])
        columns, unit = [column * scale for column in columns], f" ({money})"
    highest = max((float(np.nanmax(column, initial=0.0)) for column in columns), default=0.0)
    return figure(
        [_line(story, place, column, at) for place, column in enumerate(columns)],
        title=f"{total.title}{unit}, {story.source}",
        height=height,
        hovermode="x unified",
        shapes=[moment(at)],
        xaxis={**step_axis(story), "title": {"text": "step", "font": {"size": 11}, "standoff": 4}},
        yaxis={"range": [0, (highest or 1.0) * 1.08], "hoverformat": ",.4~r", **FIXED},
    )


def _line(story: Story, place: int, column: NDArray[np.float64], at: int) -> dict[str, object]:
    colour, _, dash = ROUTER_LOOKS[place]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(story.titles[place], 24),
        "x": np.arange(at + 1, dtype=np.int32),
        "y": column[: at + 1].astype(np.float32),
        "line": {"color": colour, "dash": dash, "width": 2, "shape": "hv"},
        "hoverinfo": "x+y+name",
    }
