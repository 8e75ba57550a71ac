"""Posted price against expected time: EHRR (4), with every short-listed server and what it asks."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.decision import Decision
from core.lab.curves import PostedPriceCurve
from core.shared import units
from dashboard.theme import ACCEPTED, CHOSEN, GRID, REJECTED
from dashboard.ui.charts.base import figure, label


def posted_price(decision: Decision, curve: PostedPriceCurve, *, height: int = 280) -> go.Figure:
    """The band of offers between similarity 0 and 1; a diamond for each offer made, a dot for each ask, in m$."""
    rows = [decision.server_at(row) for row in decision.shortlist()]
    times = curve.cost_s.tolist()
    band = [
        {"type": "scatter", "mode": "lines", "x": times, "y": (usd * 1e3).tolist(), "line": {"color": CHOSEN, "width": 1},
         "fill": fill, "fillcolor": GRID, "hoverinfo": "skip"}
        for usd, fill in ((curve.lowest_usd, None), (curve.highest_usd, "tonexty"))
    ]  # fmt: skip
    colours = [ACCEPTED if row.accepted else REJECTED for row in rows]
    hover = [
        f"{label(row.server, 60)}<br>C = {units.seconds(row.cost_s)}"
        f"<br>posted {'none: the auction is off' if row.posted_price_usd is None else units.price(row.posted_price_usd)}"
        f"<br>ask {'none advertised' if row.ask_usd is None else units.price(row.ask_usd)}"
        for row in rows
    ]
    points = [
        {"type": "scatter", "mode": "markers", "x": [row.cost_s for row in rows],
         "y": [None if price is None else price * 1e3 for price in prices],
         "marker": {"symbol": symbol, "size": 10, "color": colours}, "cliponaxis": False, "customdata": [row.server for row in rows],
         "hovertext": hover, "hoverinfo": "text"}
        for symbol, prices in (
            ("diamond", [row.posted_price_usd for row in rows]),
            ("circle", [row.ask_usd for row in rows]),
        )
    ]  # fmt: skip
    return figure(
        [*band, *points],
        title="Posted price ◆ and ask ● by expected time",
        height=height,
        xaxis={"title": {"text": "expected time to success C (s)", "font": {"size": 11}}, "rangemode": "tozero"},
        yaxis={"title": {"text": "m$ per call", "font": {"size": 11}}, "rangemode": "tozero"},
    )
