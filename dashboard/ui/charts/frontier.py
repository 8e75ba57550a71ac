"""Success against what it takes: a point for each router, with 95 % intervals, and the front of those that none beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.lab.execution import Interval
from core.lab.sweep import unbeaten
from dashboard.theme import CHOSEN, MUTED
from dashboard.ui.charts.base import figure, label


@dataclass(frozen=True, slots=True)
class Cost:
    """What a solved sub-task takes, on an axis: `scale` turns a stored value into `unit`."""

    name: str
    unit: str
    axis: str
    scale: float = 1.0
    digits: int = 2


COSTS: Mapping[str, Cost] = {
    "usd_per_solved": Cost("money", "m$", "m$ per solved sub-task (1 m$ = 0.001 USD)", 1e3),
    "s_per_solved": Cost("time", "s", "s per solved sub-task"),
    "tokens_per_solved": Cost("tokens", "tokens", "tokens per solved sub-task", digits=0),
}
MONEY = "usd_per_solved"


def frontier(
    names: Sequence[str],
    success: Sequence[Interval],
    costs: Sequence[Interval],
    *,
    cost: str = MONEY,
    height: int = 380,
) -> go.Figure:
    """For each name its success rate, and what a solved sub-task took of `cost`; one that solved nothing has no place on the chart."""
    of = COSTS[cost]
    best = unbeaten([(rate.mean, taken.mean) for rate, taken in zip(success, costs, strict=True)])
    shown = [number for number, rate in enumerate(success) if rate.mean > 0]
    front = sorted((number for number in shown if best[number]), key=lambda number: costs[number].mean)
    line = {
        "type": "scatter", "mode": "lines", "x": [of.scale * costs[n].mean for n in front],
        "y": [100 * success[n].mean for n in front], "line": {"color": CHOSEN, "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }  # fmt: skip
    return figure(
        [line, *(_point(names[n], success[n], costs[n], of, best=best[n]) for n in shown)],
        title=f"Solved, %, against {of.name} per solved sub-task · simulated",
        height=height,
        xaxis={
            "title": {"text": of.axis, "font": {"size": 11}},
            "range": [
                0,
                1.15 * of.scale * max((costs[n].high for n in shown), default=1e-3),
            ],  # with room for the names
        },
        yaxis={"title": {"text": "solved, %", "font": {"size": 11}}},
    )


def _point(name: str, success: Interval, taken: Interval, of: Cost, *, best: bool) -> dict[str, object]:
    text = label(name, 40)
    return {
        "type": "scatter", "mode": "markers+text", "name": text, "x": [of.scale * taken.mean], "y": [100 * success.mean],
        "text": [text], "textposition": "bottom center", "textfont": {"size": 11}, "cliponaxis": False,
        "error_x": {"type": "data", "array": [of.scale * (taken.high - taken.mean)], "thickness": 1, "width": 3},
        "error_y": {"type": "data", "array": [100 * (success.high - success.mean)], "thickness": 1, "width": 3},
        "marker": {"size": 11, "color": CHOSEN if best else MUTED, "symbol": "diamond" if best else "circle"},
        "hovertemplate": f"{text}<br>%{{y:.1f}} % solved, %{{x:,.{of.digits}f}} {of.unit} each<extra></extra>",
    }  # fmt: skip
