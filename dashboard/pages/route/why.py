"""Why the winner won, and the labels of the tools beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from core.domain import units
from core.domain.decision import Decision
from core.domain.feedback import AskedQuery
from core.domain.trace import ServerRow, ToolRow
from core.routers.utility import Headroom
from core.routers.why import condition, reasons_of_fit, tool_headroom, why
from dashboard.ui.calling import judge_popover
from dashboard.ui.labels import LABELS_HELP, Labelling, asked_like_line, label_bar, label_notice, moved_lines
from dashboard.ui.text import escaped

WHY = "why"


def tool_labels(known: Labelling, tool: str) -> None:
    """Draw the shift by labels and the label buttons of any tool of the catalog."""
    moves = known.moves.get(tool, ())
    if moves:
        bound = known.app.catalogs.learnt(known.decision.catalog).values.bound
        st.markdown(
            f":gray[labels] **{known.learnt(tool):+.2f}** :gray[of at most ±{bound:g}, in logits of fit, the sum over the labels, "
            "the strongest first]",
            help=LABELS_HELP,
        )
        st.markdown("\n".join(f"- :small[{line}]" for line in moved_lines(moves)))
    if known.hypothetical:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(":gray[Is this the tool for the sub-task?]", width="content")
        with st.container(width="content"):
            label_bar(known, tool, WHY)
        judge_popover(
            known.app, AskedQuery(known.decision.subtask, known.decision.server_hint), (tool,), WHY,
            catalog=known.decision.catalog, decision_id=known.decision.id,
        )  # fmt: skip
    label_notice(known, WHY, now=known.decision)


LISTED, FITTING = 2000, 20


def explain(key: str, subject: str) -> None:
    """Let the panel explain this server or tool while the question stays.

    The list gets a new key with each turn, because a double click also sends the old selection of the list, which must not count.
    """
    turn, _, question = st.session_state.get(key, (0, "", None))
    st.session_state[key] = turn + 1, subject, question


def why_panel(known: Labelling, key: str) -> None:
    """Draw the choice of a server or tool (a click in a chart chooses, too), the reason for its place, and its labels.

    `st.session_state[key]` is (turn, subject, question). A new question begins with its winner, which stays until another one is chosen.
    """
    decision = known.decision
    subjects = _subjects(decision)
    if not subjects:
        return
    question = decision.catalog, decision.subtask, decision.server_hint
    turn, subject, asked = st.session_state.get(key, (0, "", None))
    if asked != question or subject not in subjects:
        turn, subject = turn + 1, decision.winner.tool if decision.winner else subjects[0]
    st.session_state[key] = turn, subject, question
    listed = f"{key}.{turn}"
    choice, sentence = st.columns([2, 3], vertical_alignment="bottom")
    subject = choice.selectbox(
        "Why this server or tool?", subjects, index=subjects.index(subject), key=listed, on_change=_take_listed,
        args=(key, listed), help="Type to search. The list has servers and tools that did not win, too.",
    )  # fmt: skip
    sentence.info(escaped(why(decision, subject), 600), icon=":material/help:")
    if "::" in subject:
        row = decision.tools.ids.index(subject)
        _numbers(_numbers_of_tool(decision, row))
        _numbers(reasons_of_fit(decision, row, known.app.catalogs.catalog(decision.catalog)))
        asked_like_line(known.app, decision, subject)
        tool_labels(known, subject)
    else:
        _numbers(_numbers_of_server(decision, decision.server_at(decision.servers.names.index(subject))))


def _take_listed(key: str, listed: str) -> None:
    turn, _, question = st.session_state[key]
    st.session_state[key] = turn, st.session_state[listed], question


def _subjects(decision: Decision) -> list[str]:
    """Returns the best fitting tools, then the servers, then all other tools. This order does not depend on prices and times, so that
    the list is not sent again when a knob moves."""
    likeliest, nearest = (np.argsort(-of.similarity, kind="stable") for of in (decision.tools, decision.servers))
    tools = [decision.tools.ids[row] for row in map(int, likeliest[:LISTED])]
    servers = [decision.servers.names[row] for row in map(int, nearest)]
    listed = [*tools[:FITTING], *servers, *tools[FITTING:]]
    of_many = (
        [decision.tools.ids[row] for row in decision.evaluated_tools()] if len(decision.tools.ids) > LISTED else []
    )
    return list(dict.fromkeys([*listed, *of_many]))


def _numbers(numbers: Sequence[tuple[str, str]]) -> None:
    """Draw all numbers as one line of text. A table would take longer to draw than the decision."""
    st.markdown("  ·  ".join(f":gray[{escaped(name)}] **{escaped(value)}**" for name, value in numbers))


def _numbers_of_server(decision: Decision, row: ServerRow) -> list[tuple[str, str]]:
    return [
        ("rank", str(row.rank)), ("similarity", f"{row.similarity:.3f}"),
        ("time to success C", units.seconds(row.cost_s)), (_score(decision), units.plain(row.utility)),
        ("posted price τ", "none" if row.posted_price_usd is None else units.price(row.posted_price_usd)),
        ("ask price c", "none advertised" if row.ask_usd is None else units.price(row.ask_usd)),
        ("short-listed", "yes" if row.shortlisted else "no"), ("accepted", "yes" if row.accepted else "no"),
    ]  # fmt: skip


def _fit(decision: Decision, index: int) -> list[tuple[str, str]]:
    """Returns the probability of fit and the similarity, as one number if they are one."""
    similarity = float(decision.tools.similarity[index])
    if decision.fit is None:
        return [("similarity", f"{similarity:.3f}")]
    chances = decision.fit_at(index)
    beside = condition(decision.fit)
    fits, solves = units.share(chances["p_fit"]), (f"one call solves it{beside}", units.share(chances["p_success"]))
    if math.isclose(chances["p_fit"], similarity):
        return [(f"fits{beside} = Sim", fits), solves]
    return [(f"fits{beside}", fits), solves, ("similarity", f"{similarity:.3f}")]


def _numbers_of_tool(decision: Decision, index: int) -> list[tuple[str, str]]:
    row = decision.tool_at(index)
    numbers = [
        ("rank", str(row.rank or "–")), *_fit(decision, index),
        ("latency l", units.seconds(row.latency_s)), ("success of one attempt", units.share(row.success)),
        ("time cost", units.seconds(row.time_cost_s)), ("price", units.price(row.price_usd)), ("payment", units.price(row.payment_usd)),
        ("money cost κ·p", units.seconds(row.money_cost_s)), (_score(decision), units.plain(row.utility)),
        ("schema tokens", f"{row.tokens:,}"),
    ]  # fmt: skip
    room = tool_headroom(decision, index) if row.rank and decision.economic else None
    return numbers + (_headroom(row, room) if room else [])


def _score(decision: Decision) -> str:
    return "utility U" if decision.economic else decision.score


def _headroom(row: ToolRow, room: Headroom) -> list[tuple[str, str]]:
    verb = "wins up to" if row.rank == 1 else "would win at"
    return [
        (f"{verb} price", _reach(room.price_usd, units.price)),
        (f"{verb} latency", _reach(room.latency_s, units.seconds)),
        (f"{'wins down to' if row.rank == 1 else verb} success r", _reach(room.success, units.share)),
    ]


def _reach(value: float | None, show: Callable[[float], str]) -> str:
    if value is None:
        return "any"
    return "not reachable" if math.isnan(value) else show(value)
