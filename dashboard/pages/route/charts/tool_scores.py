"""Tools by a router's own score."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.decision import Decision
from core.domain.trace import Drop, ToolRow
from core.shared import units
from dashboard.pages.route.charts.tool_states import sign, state
from dashboard.theme import CHOSEN, MUTED, SIMILARITY
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

SHOWN = 8


def tool_scores(decision: Decision, *, height: int = 330) -> go.Figure:
    """Bars of the score, best on top: the winner, the other candidates, and what was dropped."""
    rows = decision.tools_at(decision.evaluated_tools()[:SHOWN])[::-1]
    places = list(range(len(rows)))
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [row.utility for row in rows],
        "y": places,
        "width": 0.34,
        "marker": {"color": [_colour(row) for row in rows]},
        "customdata": [row.tool for row in rows],
        "hovertext": [_hover(decision, row) for row in rows],
        "hoverinfo": "text",
    }
    names = [f"{sign(row)} {label(row.tool, 40)}" for row in rows]
    dropped = [place for place in places if rows[place].dropped_by not in {None, Drop.OUTRANKED}]
    racing = [place for place in places if place not in dropped]
    return figure(
        [
            bars,
            row_texts([names[place] for place in racing], racing),
            row_texts([names[place] for place in dropped], dropped, faded=True),
            row_texts([f"<b>{row.utility:.3f}</b>" for row in rows], places, right=True),
        ],
        title=f"3 · Tools by {label(decision.score, 30)}",
        height=height,
        xaxis2=EDGES,
        xaxis={"title": {"text": label(decision.score), "font": {"size": 11}}},
        yaxis=rows_axis(len(rows), shown=SHOWN),
    )


def _colour(row: ToolRow) -> str:
    if row.dropped_by is None:
        return CHOSEN if row.rank == 1 else SIMILARITY
    return MUTED


def _hover(decision: Decision, row: ToolRow) -> str:
    return (
        f"{label(row.tool, 70)}<br>{state(row)}, {label(decision.score)} {row.utility:.3f}<br>similarity {row.similarity:.3f}"
        f"<br>expected time {units.seconds(row.time_cost_s)}, price {units.price(row.price_usd)}"
    )
