"""A server's pay-off over what it says that a call costs it."""

from __future__ import annotations

import plotly.graph_objects as go

from core.whatif.auction import Payoff
from dashboard.theme import ACCEPTED, CHOSEN, MUTED
from dashboard.ui.charts.base import figure, label


def payoff_chart(found: Payoff, server: str, *, height: int = 280) -> go.Figure:
    """A step: what it earns up to the posted price, nothing beyond; the diamond is the truth."""
    posted, cost = 1e3 * found.posted_usd, 1e3 * found.cost_usd
    end = max(1.6 * posted, 1.2 * cost, 1.0)
    step = {
        "type": "scatter", "mode": "lines", "x": [0, posted, posted, end], "y": [posted - cost, posted - cost, 0, 0],
        "line": {"width": 3, "color": ACCEPTED}, "hovertemplate": "says %{x:.3g} m$: earns %{y:.3g} m$<extra></extra>",
    }  # fmt: skip
    truth = {
        "type": "scatter", "mode": "markers", "x": [cost], "y": [1e3 * found.truthful_usd], "cliponaxis": False,
        "marker": {"size": 13, "symbol": "diamond", "color": CHOSEN}, "hovertemplate": "the truth: %{y:.3g} m$<extra></extra>",
    }  # fmt: skip
    line = {
        "type": "line", "x0": posted, "x1": posted, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": MUTED, "dash": "dot", "width": 2},
    }  # fmt: skip
    return figure(
        [step, truth],
        title=f"What {label(server)} earns by what it says; ◆ the truth, dotted τ",
        height=height,
        shapes=[line],
        xaxis={"title": {"text": "cost that it says (m$)", "font": {"size": 11}}, "range": [0, end]},
        yaxis={"title": {"text": "earns when executed (m$)", "font": {"size": 11}}},
    )
