"""A tool's utility taken apart: similarity less time less money, EHRR (6), (7)."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.decision import Decision
from core.domain.trace import Drop, ToolRow
from core.shared import units
from dashboard.pages.route.charts.tool_states import sign, state
from dashboard.theme import CHOSEN, MONEY, SIMILARITY, TIME
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

SHOWN = 8


def tool_breakdown(decision: Decision, *, height: int = 330) -> go.Figure:
    """Similarity to the right, αt·time and αt·κ·price to the left, the utility as a mark; best on top."""
    rows = decision.tools_at(decision.evaluated_tools()[:SHOWN])[::-1]
    alpha = _alpha(decision)
    names = [f"{sign(row)} {label(row.tool, 40)}" for row in rows]
    places = list(range(len(rows)))
    faded = [0.35 if row.dropped_by in {Drop.NOT_AFFORDABLE, Drop.REJECTED} else 1.0 for row in rows]
    parts = (
        ("similarity", SIMILARITY, [row.similarity for row in rows]),
        ("time", TIME, [-alpha * row.time_cost_s for row in rows]),
        ("money", MONEY, [-alpha * row.money_cost_s for row in rows]),
    )
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": values,
            "y": places,
            "width": 0.34,
            "marker": {"color": colour, "opacity": faded},
            "customdata": [row.tool for row in rows],
            "hovertext": [_hover(row, alpha) for row in rows],
            "hoverinfo": "text",
        }
        for name, colour, values in parts
    ]
    utility = {
        "type": "scatter",
        "mode": "markers",
        "x": [row.utility for row in rows],
        "y": places,
        "marker": {"symbol": "diamond", "size": 9, "color": CHOSEN, "line": {"width": 1, "color": "white"}},
        "customdata": [row.tool for row in rows],
        "hoverinfo": "skip",
    }
    dropped = [place for place in places if faded[place] < 1]
    feasible = [place for place in places if faded[place] == 1]
    texts = (
        row_texts([names[place] for place in feasible], feasible),
        row_texts([names[place] for place in dropped], dropped, faded=True),
        row_texts([f"<b>{row.utility:.3f}</b>" for row in rows], places, right=True),
    )
    return figure(
        [*bars, utility, *texts],
        title=f"3 · Tools: {_in(CHOSEN, '◆')} = {_in(SIMILARITY, 'similarity')} − {_in(TIME, 'time')} − {_in(MONEY, 'money')}",
        height=height,
        barmode="relative",
        xaxis2=EDGES,
        yaxis=rows_axis(len(rows), shown=SHOWN),
        xaxis={"title": {"text": "U = Sim − αt·(time + κ·price)", "font": {"size": 11}}},
    )


def _in(colour: str, word: str) -> str:
    """A word of ours in its colour: the title is the legend."""
    return f'<span style="color:{colour}">{word}</span>'


def _alpha(decision: Decision) -> float:
    p = decision.parameters
    return float(p.get("alpha_t") or 0.0) if p.get("execution_signals", True) else 0.0


def _hover(row: ToolRow, alpha: float) -> str:
    return (
        f"{label(row.tool, 70)}<br>{state(row)}, U = {row.utility:.3f}<br>similarity {row.similarity:.3f}"
        f"<br>time {units.seconds(row.time_cost_s)} × αt {alpha:g} = {alpha * row.time_cost_s:.3f}"
        f"<br>price {units.price(row.price_usd)} → {alpha * row.money_cost_s:.4f}"
    )
