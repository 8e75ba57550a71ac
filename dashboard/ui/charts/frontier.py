"""Success against money: a point for each router, with 95 % intervals, and the front of those that none beats in both."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.lab.execution import Interval
from core.lab.frontier import unbeaten
from dashboard.theme import CHOSEN, MUTED
from dashboard.ui.charts.base import figure, label


def frontier(
    names: Sequence[str], success: Sequence[Interval], money: Sequence[Interval], *, height: int = 380
) -> go.Figure:
    """For each name its success rate, and its USD per solved sub-task; one that solved nothing has no place on the chart."""
    best = unbeaten([(rate.mean, usd.mean) for rate, usd in zip(success, money, strict=True)])
    shown = [number for number, rate in enumerate(success) if rate.mean > 0]
    front = sorted((number for number in shown if best[number]), key=lambda number: money[number].mean)
    line = {
        "type": "scatter", "mode": "lines", "x": [1e3 * money[n].mean for n in front],
        "y": [100 * success[n].mean for n in front], "line": {"color": CHOSEN, "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }  # fmt: skip
    return figure(
        [line, *(_point(names[n], success[n], money[n], best=best[n]) for n in shown)],
        title="Solved, %, against money per solved sub-task · simulated",
        height=height,
        xaxis={
            "title": {"text": "m$ per solved sub-task (1 m$ = 0.001 USD)", "font": {"size": 11}},
            "range": [0, 1.15e3 * max((money[n].high for n in shown), default=1e-3)],  # with room for the names
        },
        yaxis={"title": {"text": "solved, %", "font": {"size": 11}}},
    )


def _point(name: str, success: Interval, money: Interval, *, best: bool) -> dict[str, object]:
    text = label(name, 40)
    return {
        "type": "scatter", "mode": "markers+text", "name": text, "x": [1e3 * money.mean], "y": [100 * success.mean],
        "text": [text], "textposition": "bottom center", "textfont": {"size": 11}, "cliponaxis": False,
        "error_x": {"type": "data", "array": [1e3 * (money.high - money.mean)], "thickness": 1, "width": 3},
        "error_y": {"type": "data", "array": [100 * (success.high - success.mean)], "thickness": 1, "width": 3},
        "marker": {"size": 11, "color": CHOSEN if best else MUTED, "symbol": "diamond" if best else "circle"},
        "hovertemplate": f"{text}<br>%{{y:.1f}} % solved, %{{x:.2f}} m$ each<extra></extra>",
    }  # fmt: skip
