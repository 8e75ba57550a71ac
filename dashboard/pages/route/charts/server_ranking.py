"""Servers by utility, EHRR (3), or by the score of another router."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.decision import Decision
from core.domain.trace import ServerRow
from core.shared import units
from dashboard.theme import ACCEPTED, ACCEPTED_SIGN, CHOSEN, CHOSEN_SIGN, DROPPED_SIGN, MUTED, REJECTED, REJECTED_SIGN
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

SHOWN = 9


def server_ranking(decision: Decision, *, height: int = 330) -> go.Figure:
    """Bars of U_i (or the router's score), best on top: chosen, accepted, rejected, or left off the short-list."""
    rows = [decision.server_at(row) for row in decision.servers_by_rank()[:SHOWN]][::-1]
    chosen = decision.winner.server if decision.winner else None
    marks = [_mark(row, chosen) for row in rows]
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [row.utility for row in rows],
        "y": list(range(len(rows))),
        "width": 0.34,
        "marker": {"color": [colour for _, colour in marks]},
        "text": [f"{row.utility:.3f}" for row in rows],
        "textposition": "outside",
        "textfont": {"size": 11},
        "constraintext": "none",
        "cliponaxis": False,
        "customdata": [row.server for row in rows],
        "hovertext": [_hover(decision, row) for row in rows],
        "hoverinfo": "text",
    }
    names = [f"{sign} {label(row.server)}" for row, (sign, _) in zip(rows, marks, strict=True)]
    listed = [place for place, row in enumerate(rows) if row.shortlisted]
    others = [place for place, row in enumerate(rows) if not row.shortlisted]
    return figure(
        [
            trace,
            row_texts([names[place] for place in listed], listed),
            row_texts([names[place] for place in others], others, faded=True),
        ],
        title=f"1 · Servers by {label(decision.score, 30)}",
        height=height,
        xaxis2=EDGES,
        xaxis={
            "title": {"text": "U = Sim − αs·C" if decision.economic else label(decision.score), "font": {"size": 11}},
            "range": _range([row.utility for row in rows]),
        },
        yaxis=rows_axis(len(rows), shown=SHOWN),
    )


def _range(utilities: list[float]) -> list[float]:
    """Room for the numbers written behind the bars."""
    low, high = min([0.0, *utilities]), max([0.0, *utilities])
    room = 0.28 * max(high - low, 0.05)
    return [low - (room if low < 0 else 0.0), high + room]


def _mark(row: ServerRow, chosen: str | None) -> tuple[str, str]:
    if row.server == chosen:
        return CHOSEN_SIGN, CHOSEN
    if not row.shortlisted:
        return DROPPED_SIGN, MUTED
    return (ACCEPTED_SIGN, ACCEPTED) if row.accepted else (REJECTED_SIGN, REJECTED)


def _hover(decision: Decision, row: ServerRow) -> str:
    return (
        f"{label(row.server, 60)}<br>rank {row.rank}, {label(decision.score)} {row.utility:.3f}<br>similarity {row.similarity:.3f}"
        f"<br>expected time to success {units.seconds(row.cost_s)}"
    )
