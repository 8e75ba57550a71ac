"""The charts of a decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from core.domain import units
from core.domain.decision import Decision
from core.domain.feedback import RefusalCurve, RefusalPoint
from core.domain.trace import Drop, ServerRow, ToolRow
from core.domain.untrusted_text import one_line
from core.planning.plans import Plan, PlannedStep
from core.routers.why import condition, lessened, why_tool
from dashboard.theme import (
    ACCEPTED,
    ACCEPTED_SIGN,
    CHOSEN,
    CHOSEN_SIGN,
    DROPPED_SIGN,
    MONEY,
    MUTED,
    REJECTED,
    REJECTED_SIGN,
    SIMILARITY,
    TIME,
)
from dashboard.ui.charts.base import EDGES, figure, label, row_figure, row_texts

COLUMN_PX = 472  # three candidates
SERVERS_SHOWN = 9
OUT = set(Drop) - {Drop.OUTRANKED}


def auction(decision: Decision) -> go.Figure:
    """Draws the posted price (line) and the ask price (dot) of each short-listed server, in m$ per call."""
    rows = [decision.server_at(row) for row in decision.shortlist()[:SERVERS_SHOWN]][::-1]
    names = [f"{ACCEPTED_SIGN if row.accepted else REJECTED_SIGN} {label(row.server)}" for row in rows]
    colours = [ACCEPTED if row.accepted else REJECTED for row in rows]
    spans = [
        {
            "type": "scatter", "mode": "lines", "x": [row.ask_usd * 1e3, row.posted_price_usd * 1e3],
            "y": [place, place], "line": {"color": colour, "width": 3}, "hoverinfo": "skip",
        }
        for place, (row, colour) in enumerate(zip(rows, colours, strict=True))
        if row.ask_usd is not None and row.posted_price_usd is not None
    ]  # fmt: skip
    prices = [row.posted_price_usd for row in rows], [row.ask_usd for row in rows]
    posted = _points(rows, colours, prices[0], "line-ns-open", 14)
    asks = _points(rows, colours, prices[1], "circle", 10)
    return row_figure(
        [*spans, posted, asks],
        names,
        shown=5,
        title="2 · Auction: ask ● ≤ posted |" if decision.parameters.get("auction", True) else "2 · Auction off: ask ●",
        height=COLUMN_PX,
        xaxis={
            "title": "m$ per call",
            "range": _range([1e3 * price for column in prices for price in column if price is not None]),
        },
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
        "hovertext": [_auction_hover(row) for row in rows],
    }


def _auction_hover(row: ServerRow) -> str:
    answer = "accepts" if row.accepted else "rejects"
    return (
        f"{label(row.server, 60)} {answer}<br>posted price {_price(row.posted_price_usd, 'none: the auction is off')}"
        f"<br>ask price {_price(row.ask_usd, 'none advertised')}"
    )


def _price(value: float | None, absent: str) -> str:
    return absent if value is None else units.price(value)


ROW_PX, AXIS_PX, TITLE_PX = 46, 34, 34
LEAST = 0.004  # of the whole width, so that very short steps stay visible
BEFORE, AFTER = 0.01, 0.03  # of the whole time, beside the steps
CHARACTERS, BESIDE = 72, 0.015  # in a line of a narrow chart; of its width, between an arrow and a name


def plan_steps(plan: Plan) -> go.Figure:
    """Draws the steps over time, the first on top. Steps on the longest path have the colour of chosen items."""
    rows = list(range(len(plan.steps)))[::-1]  # the row of each position
    whole = plan.elapsed_s or 1.0
    critical = set(plan.longest_path)
    colours = [CHOSEN if position in critical else TIME for position in range(len(plan.steps))]
    bars = {
        "type": "bar", "orientation": "h", "base": [step.start_s for step in plan.steps],
        "x": [max(step.finish_s - step.start_s, LEAST * whole) for step in plan.steps], "y": rows, "width": 0.32,
        "marker": {"color": colours},
        "hovertext": [_step_hover(position, step) for position, step in enumerate(plan.steps)],
    }  # fmt: skip
    free = [_free(plan, rows, position, whole) for position in range(len(plan.steps))]
    names = [
        _name(position, step, int((high - low) * CHARACTERS))
        for position, (step, (low, high)) in enumerate(zip(plan.steps, free, strict=True))
    ]
    return figure(
        [bars, row_texts(names, rows, starts=[low for low, _ in free])], title="Steps over expected time",
        height=TITLE_PX + AXIS_PX + ROW_PX * len(plan.steps), margin={"l": 8, "r": 12, "t": TITLE_PX, "b": AXIS_PX},
        xaxis={"range": [-BEFORE * whole, (1 + AFTER) * whole], "ticksuffix": " s", "fixedrange": True, "zeroline": False},
        xaxis2=EDGES, yaxis={"range": [-0.4, len(rows) - 0.25], "visible": False, "fixedrange": True},
        annotations=_arrows(plan, rows),
    )  # fmt: skip


def _arrows(plan: Plan, rows: list[int]) -> list[dict[str, object]]:
    """Returns arrows from the end of each needed step to the start of the step that needs it."""
    return [
        {
            "x": step.start_s, "y": rows[position] + 0.16, "ax": plan.steps[need].finish_s, "ay": rows[need] - 0.16,
            **dict.fromkeys(("xref", "axref"), "x"), **dict.fromkeys(("yref", "ayref"), "y"), "text": "",
            "showarrow": True, "arrowhead": 2, "arrowsize": 0.9, "arrowwidth": 1.4, "arrowcolor": MUTED,
        }
        for position, step in enumerate(plan.steps)
        for need in step.needs
    ]  # fmt: skip


def _free(plan: Plan, rows: list[int], position: int, whole: float) -> tuple[float, float]:
    """Returns the widest span of the chart's width, in [0, 1], in which no arrow crosses the name above a step."""
    edges = [0.0, 1.0]
    for later in range(position, len(plan.steps)):
        for need in plan.steps[later].needs:
            if need < position:
                start, end = plan.steps[need].finish_s, plan.steps[later].start_s
                share = (rows[need] - rows[position] - 0.6) / (rows[need] - rows[later] - 0.32)
                x = (start + share * (end - start)) / whole
                edges.append((x + BEFORE) / (1 + BEFORE + AFTER))
    edges.sort()
    low, high = max(pairwise(edges), key=lambda span: span[1] - span[0])
    return (low + BESIDE if low else 0.0), high


def _name(position: int, step: PlannedStep, most: int) -> str:
    """Returns a step's number, tool, time and payment, in at most so many characters; the tool has at least eight."""
    winner = step.decision.winner
    if winner is None:
        return f"{position + 1} · {REJECTED_SIGN} no tool can do it"
    figures = f" · {units.seconds(winner.time_cost_s)} · {units.price(winner.payment_usd)}"
    return f"{position + 1} · {label(winner.tool, max(8, min(40, most - len(figures) - 4)))}{figures}"


def _step_hover(position: int, step: PlannedStep) -> str:
    needed = f"<br>after step {' and '.join(str(need + 1) for need in step.needs)}" if step.needs else ""
    span = f"{units.seconds(step.start_s)} to {units.seconds(step.finish_s)}"
    return f"{position + 1} {label(step.text, 90)}<br>{span}{needed}"


def refusal_curve(curve: RefusalCurve, percent: float) -> go.Figure:
    """Draws the refusal curve in percent, from no refusals to the upper right, and the place of the knob."""
    current = curve.at(percent)
    line = {
        "type": "scatter", "mode": "lines+markers", "x": [100 * point.wrong for point in curve.points],
        "y": [100 * point.refused for point in curve.points], "line": {"width": 2, "color": MUTED}, "marker": {"size": 5},
        "hovertext": [_refusal_hover(point) for point in curve.points],
    }  # fmt: skip
    knob = {
        "type": "scatter", "mode": "markers", "x": [100 * current.wrong], "y": [100 * current.refused],
        "marker": {"size": 13, "symbol": "diamond", "color": CHOSEN}, "hovertext": [_refusal_hover(current)],
        "cliponaxis": False,
    }  # fmt: skip
    return figure(
        [line, knob],
        title=f"Refused sub-tasks, {'measured on your labels' if curve.questions else 'as shipped'}",
        height=260,
        xaxis={
            "title": "% of answerable sub-tasks (wrong refusals)",
            "rangemode": "tozero",
        },
        yaxis={"title": "% of impossible sub-tasks", "range": [-4, 104]},
    )


def _refusal_hover(point: RefusalPoint) -> str:
    return (
        f"knob at {point.percent:g} %: {100 * point.wrong:.0f} % wrong refusals, "
        f"{100 * point.refused:.0f} % of the impossible refused"
    )


def server_ranking(decision: Decision) -> go.Figure:
    """Draws bars of U_i (or the router's score), best on top: chosen, accepted, rejected, or not short-listed."""
    rows = [decision.server_at(row) for row in decision.servers_by_rank()[:SERVERS_SHOWN]][::-1]
    winner = decision.winner.server if decision.winner else None
    marks = [_mark(row, winner) for row in rows]
    trace = {
        "type": "bar", "orientation": "h", "x": [row.utility for row in rows], "y": list(range(len(rows))),
        "width": 0.34, "marker": {"color": [colour for _, colour in marks]},
        "text": [units.plain(row.utility) for row in rows], "textposition": "outside", "textfont": {"size": 11},
        "constraintext": "none", "cliponaxis": False, "customdata": [row.server for row in rows],
        "hovertext": [_server_hover(decision, row) for row in rows],
    }  # fmt: skip
    names = [f"{sign} {label(row.server)}" for row, (sign, _) in zip(rows, marks, strict=True)]
    return row_figure(
        [trace],
        names,
        shown=SERVERS_SHOWN,
        faded=[not row.shortlisted for row in rows],
        title=f"1 · Servers by {label(decision.score, 30)}",
        height=COLUMN_PX,
        xaxis={
            "title": "U = Sim − αs·C" if decision.economic else label(decision.score),
            "range": _range([row.utility for row in rows], room=0.28, least=0.05),
        },
    )


def _range(values: Sequence[float], *, room: float = 0.06, least: float = 1e-3) -> list[float]:
    """Returns a range from 0 to all values, and `room` times their span more: for numbers behind bars. Its ends are steps of an eighth, so
    that it stays while a knob is turned.

    >>> _range([0.91, 0.85]), _range([0.93]), _range([0.4, -0.3]), _range([])
    ([0, 1.0], [0, 1.0], [-0.375, 0.5], [0, 0.0001220703125])
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    span = max(high - low, least)
    step = 2.0 ** (math.floor(math.log2(span)) - 3)
    return [
        math.floor((low - room * span) / step) * step if low else 0,
        math.ceil((high + room * span) / step) * step,
    ]


def _mark(row: ServerRow, winner: str | None) -> tuple[str, str]:
    if row.server == winner:
        return CHOSEN_SIGN, CHOSEN
    if not row.shortlisted:
        return DROPPED_SIGN, MUTED
    return (ACCEPTED_SIGN, ACCEPTED) if row.accepted else (REJECTED_SIGN, REJECTED)


def _server_hover(decision: Decision, row: ServerRow) -> str:
    return (
        f"{label(row.server, 60)}<br>rank {row.rank}, {label(decision.score)} {units.plain(row.utility)}<br>similarity {row.similarity:.3f}"
        f"<br>expected time to success {units.seconds(row.cost_s)}"
    )


def sign(row: ToolRow) -> str:
    if row.dropped_by is None:
        return CHOSEN_SIGN if row.rank == 1 else ACCEPTED_SIGN
    return DROPPED_SIGN if row.dropped_by is Drop.OUTRANKED else REJECTED_SIGN


def _state(row: ToolRow) -> str:
    return "candidate" if row.dropped_by is None else row.dropped_by.replace("_", " ")


TOOLS_SHOWN = 8
NAME_CHARS = 28  # beside the figures at the right edge


def tool_breakdown(decision: Decision) -> go.Figure:
    """Draws similarity to the right, αt·time and αt·κ·price to the left, and the utility as a mark, best on top."""
    rivals = decision.rivals(TOOLS_SHOWN)[::-1]
    rows = decision.tools_at(rivals)
    alpha = _alpha(decision)
    places = list(range(len(rows)))
    opacity = [0.35 if row.dropped_by in OUT else 1.0 for row in rows]
    hover = [_breakdown_hover(decision, place, row, alpha) for place, row in zip(rivals, rows, strict=True)]
    parts = (
        ("similarity", SIMILARITY, [row.similarity for row in rows]),
        ("time", TIME, [-alpha * row.time_cost_s for row in rows]),
        ("money", MONEY, [-alpha * row.money_cost_s for row in rows]),
    )
    bars = [
        {
            "type": "bar", "orientation": "h", "name": name, "x": values, "y": places, "width": 0.34,
            "marker": {"color": colour, "opacity": opacity}, "customdata": [row.tool for row in rows],
            "hovertext": hover,
        }
        for name, colour, values in parts
    ]  # fmt: skip
    utility = {
        "type": "scatter", "mode": "markers", "x": [row.utility for row in rows], "y": places,
        "marker": {"symbol": "diamond", "size": 9, "color": CHOSEN, "line": {"width": 1, "color": "white"}},
        "customdata": [row.tool for row in rows], "hoverinfo": "skip",
    }  # fmt: skip
    words = _in(SIMILARITY, "similarity"), _in(TIME, "time"), _in(MONEY, "money")
    return _tools(
        decision,
        [*bars, utility],
        title=f"3 · Tools: {_in(CHOSEN, '◆')} = {' − '.join(words)}",
        score=f"U = Sim − αt·(time + κ·price{'/β' if decision.parameters.get('billing') == 'per_attempt' else ''})",
        ends=[*parts[0][2], *(time + money for time, money in zip(parts[1][2], parts[2][2], strict=True))],
        barmode="relative",
    )


def tool_scores(decision: Decision) -> go.Figure:
    """Draws bars of the score, best on top: the winner, the other candidates, and dropped tools."""
    rivals = decision.rivals(TOOLS_SHOWN)[::-1]
    rows = decision.tools_at(rivals)
    colours = [MUTED if row.dropped_by else CHOSEN if row.rank == 1 else SIMILARITY for row in rows]
    bars = {
        "type": "bar", "orientation": "h", "x": [row.utility for row in rows], "y": list(range(len(rows))), "width": 0.34,
        "marker": {"color": colours}, "customdata": [row.tool for row in rows],
        "hovertext": [_score_hover(decision, place, row) for place, row in zip(rivals, rows, strict=True)],
    }  # fmt: skip
    return _tools(
        decision,
        [bars],
        title=f"{2 if decision.tries is None else 3} · Tools by {label(decision.score, 30)}",
        score=label(decision.score),
        ends=[row.utility for row in rows],
    )


def _tools(
    decision: Decision, traces: list[dict[str, object]], *, score: str, ends: Sequence[float], **layout: Any
) -> go.Figure:
    """Draws traces over the rivals, with their names and figures. `ends` are the ends of the bars. The axis names the condition of the fit."""
    rivals = decision.rivals(TOOLS_SHOWN)[::-1]
    rows = decision.tools_at(rivals)
    fifths = [lessened(decision, row) for row in rivals]  # "÷ 5" stands beside the name
    names = [f"{sign(row)} {label(row.tool, NAME_CHARS - 4 * fifth)}" for row, fifth in zip(rows, fifths, strict=True)]
    suffix = "" if decision.fit is None else condition(decision.fit)
    axis = f"{score} · fits{suffix}" if suffix else score
    axis += "<br>÷ 5: it writes, and the question asks to know" if any(fifths) else ""
    figures = row_texts(_figures(decision, rivals), range(len(rows)), right=True)
    return row_figure(
        [*traces, figures],
        names,
        shown=TOOLS_SHOWN,
        faded=[row.dropped_by in OUT for row in rows],
        height=COLUMN_PX,
        xaxis={"title": axis, "range": _range(ends)},
        **layout,
    )


def _in(colour: str, word: str) -> str:
    """Returns a word in its colour, because the title is the legend."""
    return f'<span style="color:{colour}">{word}</span>'


def _alpha(decision: Decision) -> float:
    p = decision.parameters
    return float(p.get("alpha_t") or 0.0) if p.get("execution_signals", True) else 0.0


def _figures(decision: Decision, rows: Sequence[int]) -> list[str]:
    """Returns the score of each tool, after its fit if it is known, "÷ 5" if a fifth of it counts."""
    scores = [f"<b>{decision.tools.utility[row]:z.3f}</b>" for row in rows]
    if decision.fit is None:
        return scores
    return [
        f"fits {float(decision.fit.tools[row]):.0%}{' ÷ 5' if lessened(decision, row) else ''} {score}"
        for row, score in zip(rows, scores, strict=True)
    ]


LINE, WHY_CHARS = 70, 170


def _why_not(decision: Decision, place: int) -> str:
    return "<br>".join(label(line, LINE + 1) for line in wrap(one_line(why_tool(decision, place), WHY_CHARS), LINE))


def _breakdown_hover(decision: Decision, place: int, row: ToolRow, alpha: float) -> str:
    return (
        f"{label(row.tool, 70)}<br>{_why_not(decision, place)}<br>{_state(row)}, U = {units.plain(row.utility)}<br>similarity {row.similarity:.3f}"
        f"<br>time {units.seconds(row.time_cost_s)} × αt {alpha:g} = {alpha * row.time_cost_s:z.3f}"
        f"<br>price {units.price(row.price_usd)} → {alpha * row.money_cost_s:.4f}"
    )


def _score_hover(decision: Decision, place: int, row: ToolRow) -> str:
    return (
        f"{label(row.tool, 70)}<br>{_why_not(decision, place)}<br>{_state(row)}, {label(decision.score)} {units.plain(row.utility)}<br>similarity {row.similarity:.3f}"
        f"<br>expected time {units.seconds(row.time_cost_s)}, price {units.price(row.price_usd)}"
    )
