"""The posted-price auction: EHRR (4), (5)."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.decision import Decision
from core.domain.trace import ServerRow
from core.shared import units
from dashboard.theme import ACCEPTED, ACCEPTED_SIGN, REJECTED, REJECTED_SIGN
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

SHOWN = 9


def auction(decision: Decision, *, height: int = 330) -> go.Figure:
    """For each short-listed server the posted price (line) against its ask price (dot), in m$ per call."""
    rows = [decision.server_at(row) for row in decision.shortlist()[:SHOWN]][::-1]
    names = [f"{ACCEPTED_SIGN if row.accepted else REJECTED_SIGN} {label(row.server)}" for row in rows]
    colours = [ACCEPTED if row.accepted else REJECTED for row in rows]
    spans = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [row.ask_usd * 1e3, row.posted_price_usd * 1e3],
            "y": [place, place],
            "line": {"color": colour, "width": 3},
            "hoverinfo": "skip",
        }
        for place, (row, colour) in enumerate(zip(rows, colours, strict=True))
        if row.ask_usd is not None and row.posted_price_usd is not None
    ]
    posted = _points(rows, colours, [row.posted_price_usd for row in rows], "line-ns-open", 14)
    asks = _points(rows, colours, [row.ask_usd for row in rows], "circle", 10)
    return figure(
        [*spans, posted, asks, row_texts(names, range(len(rows)))],
        title="2 · Auction: ask ● ≤ posted |",
        height=height,
        xaxis2=EDGES,
        xaxis={"title": {"text": "m$ per call", "font": {"size": 11}}, "rangemode": "tozero"},
        yaxis=rows_axis(len(rows), shown=5),
    )


def _points(
    rows: list[ServerRow], colours: list[str], prices: list[float | None], symbol: str, size: int
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None if price is None else price * 1e3 for price in prices],
        "y": list(range(len(rows))),
        "marker": {"symbol": symbol, "size": size, "color": colours, "line": {"width": 3, "color": colours}},
        "customdata": [row.server for row in rows],
        "cliponaxis": False,  # a price near 0 is a whole circle
        "hovertext": [_hover(row) for row in rows],
        "hoverinfo": "text",
    }


def _hover(row: ServerRow) -> str:
    answer = "accepts" if row.accepted else "rejects"
    return (
        f"{label(row.server, 60)} {answer}<br>posted price {_price(row.posted_price_usd, 'none: the auction is off')}"
        f"<br>ask price {_price(row.ask_usd, 'none advertised')}"
    )


def _price(value: float | None, absent: str) -> str:
    return absent if value is None else units.price(value)
