"""How much of the context is left for the task, turn by turn, and where that breaks."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.lab.token_meter import BREAKING_POINT, UtilisationLines
from dashboard.theme import MUTED, REJECTED, SERIES
from dashboard.ui.charts.base import figure, label

ALL_TOOLS = "All definitions"


def token_utilisation(
    names: Sequence[str], lines: Sequence[UtilisationLines], *, turns: int, height: int = 300
) -> go.Figure:
    """One line a decision, the dashed one for all definitions; dotted: 0.3, below which reasoning breaks, and `turns`.

    The lines share their turns, and the first one's catalog stands for all. Decisions of the same course are one line.
    """
    alike: dict[UtilisationLines, list[str]] = {}
    for name, of in zip(names, lines, strict=True):
        alike.setdefault(of, []).append(label(name, 26))
    traces = [
        _line(", ".join(named), of.turns, of.decision, color=color, width=2.5)
        for (of, named), color in zip(alike.items(), SERIES, strict=False)
    ]
    traces += [_line(ALL_TOOLS, of.turns, of.all_tools, color=MUTED, dash="dash", width=2) for of in lines[:1]]
    return figure(
        traces,
        title="Context utilisation over turns (projected)",
        height=height,
        showlegend=True,
        legend={"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0, "font": {"size": 11}},
        shapes=[_rule("y", BREAKING_POINT, REJECTED), _rule("x", turns, MUTED)],
        annotations=[_note()],
        xaxis={
            "title": {"text": "turns", "font": {"size": 11}},
            "type": "log",
            "dtick": 1,
            "tickformat": ",d",
            "fixedrange": True,
        },
        yaxis={"title": {"text": "ρ", "font": {"size": 11}}, "range": [0, 1.02], "fixedrange": True},
    )


def _line(name: str, turns: Sequence[int], rho: Sequence[float], **style: object) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": turns,
        "y": rho,
        "line": style,
        "hovertext": [f"{name}<br>after {k:,} turn{'s' * (k > 1)}: ρ = {at:.2f}" for k, at in zip(turns, rho, strict=True)],
        "hoverinfo": "text",
    }  # fmt: skip


def _rule(axis: str, at: float, color: str) -> dict[str, object]:
    """A dotted line across the chart at one value of an axis."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "line", f"{axis}0": at, f"{axis}1": at, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1,
        "line": {"color": color, "dash": "dot", "width": 1.5},
    }  # fmt: skip


def _note() -> dict[str, object]:
    return {
        "x": 0, "xref": "paper", "xanchor": "left", "y": BREAKING_POINT, "yanchor": "top", "showarrow": False,
        "text": f"{BREAKING_POINT}: reasoning breaks", "font": {"size": 11, "color": REJECTED},
    }  # fmt: skip
