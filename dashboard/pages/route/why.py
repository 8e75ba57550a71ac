"""Beside a decision: why the winner won, the labels of tools, and the scoreboard over labelled tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st

from core.app import App
from core.decisions.routing import Asked
from core.domain import units
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.feedback import AskedQuery
from core.domain.trace import ServerRow, ToolRow
from core.lab.scoreboard import FIRST, REQUESTS, Score
from core.lab.sweep import INVALID, SECONDS, SOLVED, USD
from core.routers.ehrr import EhrrParameters
from core.routers.utility import Headroom
from core.routers.why import condition, reasons_of_fit, tool_headroom, why
from dashboard.lane import Answer, Values
from dashboard.ui.calling import judge_popover
from dashboard.ui.chart import live, noted
from dashboard.ui.labels import LABELS_HELP, Labelling, asked_like_line, label_bar, label_notice, moved_lines
from dashboard.ui.question import Question, fill
from dashboard.ui.text import as_html, escaped

WHY = "why"


def tool_labels(known: Labelling, tool: str) -> None:
    """Draw the shift by labels and the label buttons of any tool of the catalog."""
    moves = known.moves.get(tool, ())
    if moves:
        bound = known.app.catalogs.learnt(known.decision.catalog).values.memory.bound
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
            known.app, AskedQuery(known.decision.query, known.decision.server_hint), (tool,), WHY,
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

    `st.session_state[key]` is (turn, subject, question). A new question begins with its winner, which stays until another subject is chosen.
    """
    decision = known.decision
    subjects = _subjects(decision)
    if not subjects:
        return
    question = decision.catalog, decision.query, decision.server_hint
    turn, subject, previous = st.session_state.get(key, (0, "", None))
    if previous != question or subject not in subjects:
        turn, subject = turn + 1, decision.winner.tool if decision.winner else subjects[0]
    st.session_state[key] = turn, subject, question
    list_key = f"{key}.{turn}"
    choice, sentence = st.columns([2, 3], vertical_alignment="bottom")
    subject = choice.selectbox(
        "Why this server or tool?", subjects, index=subjects.index(subject), key=list_key, on_change=_take_listed,
        args=(key, list_key), help="Type to search. The list has servers and tools that did not win, too.",
    )  # fmt: skip
    sentence.info(escaped(why(decision, subject), 600), icon=":material/help:")
    if "::" in subject:
        row = decision.tools.ids.index(subject)
        _numbers(numbers_of_tool(decision, row))
        _numbers(reasons_of_fit(decision, row, known.app.catalogs.catalog(decision.catalog)))
        asked_like_line(known.app, decision, subject)
        tool_labels(known, subject)
    else:
        _numbers(_numbers_of_server(decision, decision.server_at(decision.servers.names.index(subject))))


def _take_listed(key: str, list_key: str) -> None:
    turn, _, question = st.session_state[key]
    st.session_state[key] = turn, st.session_state[list_key], question


def _subjects(decision: Decision) -> list[str]:
    """Returns the best fitting tools, then the servers, then all other tools. This order does not depend on prices and times, so that
    the list is not sent again when a knob moves."""
    likeliest, nearest = (np.argsort(-table.similarity, kind="stable") for table in (decision.tools, decision.servers))
    tools = [decision.tools.ids[row] for row in map(int, likeliest[:LISTED])]
    servers = [decision.servers.names[row] for row in map(int, nearest)]
    subjects = [*tools[:FITTING], *servers, *tools[FITTING:]]
    evaluated_ids = (
        [decision.tools.ids[row] for row in decision.evaluated_tools()] if len(decision.tools.ids) > LISTED else []
    )
    return list(dict.fromkeys([*subjects, *evaluated_ids]))


def _numbers(numbers: Sequence[tuple[str, str]]) -> None:
    """Draw all numbers as one line of text. A table would take longer to draw than the decision."""
    st.markdown("  ·  ".join(f":gray[{escaped(name)}] **{escaped(value)}**" for name, value in numbers))


def _numbers_of_server(decision: Decision, row: ServerRow) -> list[tuple[str, str]]:
    return [
        ("rank", str(row.rank)), ("similarity", f"{row.similarity:.3f}"),
        ("time to success C", units.seconds(row.cost_s)), (_score_name(decision), units.plain(row.utility)),
        ("posted price τ", "none" if row.posted_price_usd is None else units.price(row.posted_price_usd)),
        ("ask price c", "none advertised" if row.ask_usd is None else units.price(row.ask_usd)),
        ("short-listed", "yes" if row.shortlisted else "no"), ("accepted", "yes" if row.accepted else "no"),
    ]  # fmt: skip


def _fit(decision: Decision, index: int) -> list[tuple[str, str]]:
    """Returns the probability of fit and the similarity, as a single number if they are equal."""
    similarity = float(decision.tools.similarity[index])
    if decision.fit is None:
        return [("similarity", f"{similarity:.3f}")]
    chances = decision.fit_at(index)
    suffix = condition(decision.fit)
    fits, solves = units.share(chances["p_fit"]), (f"one call solves it{suffix}", units.share(chances["p_success"]))
    if math.isclose(chances["p_fit"], similarity):
        return [(f"fits{suffix} = Sim", fits), solves]
    return [(f"fits{suffix}", fits), solves, ("similarity", f"{similarity:.3f}")]


def numbers_of_tool(decision: Decision, index: int) -> list[tuple[str, str]]:
    """Returns names and values of a tool's figures in a decision, and its headroom under EHRR."""
    row, billed = decision.tool_at(index), "/β" if decision.parameters.get("billing") == "per_attempt" else ""
    numbers = [
        ("rank", str(row.rank or "–")), *_fit(decision, index),
        ("latency l", units.seconds(row.latency_s)), ("success of one attempt", units.share(row.success)),
        ("time cost", units.seconds(row.time_cost_s)), ("price", units.price(row.price_usd)), ("payment", units.price(row.payment_usd)),
        (f"money cost κ·p{billed}", units.seconds(row.money_cost_s)), (_score_name(decision), units.plain(row.utility)),
        ("schema tokens", f"{row.tokens:,}"),
    ]  # fmt: skip
    room = tool_headroom(decision, index) if row.rank and decision.economic else None
    return numbers + (_headroom(row, room) if room else [])


def _score_name(decision: Decision) -> str:
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


# The scoreboard: the effect of these knobs on labelled tasks, beside the defaults, while a knob is dragged

SCORE = "route:score"
FIGURES = (
    (FIRST, "right first", units.share, 1, "Share of the tasks whose first candidate can do them."),
    (SOLVED, "solved", units.share, 1, "Expected share of the tasks of which every step is solved by its candidates, by declared reliability."),
    (USD, "money a task", units.price, -1, "Expected payment of the calls of one task."),
    (SECONDS, "time a task", units.seconds, -1, "Expected time of the calls of one task, with connecting."),
    (INVALID, "wrong calls", lambda value: units.plain(value, 2), -1, "Expected calls of tools, for each task, that cannot do its next step."),
)  # fmt: skip
PROJECTED = "Projected from labels and declared figures. “from”: at the defaults of this router; green is better, orange is worse. Nothing of it is recorded."
MOST_SHOWN = 50


def task_sets(question: Question) -> Sequence[str]:
    """Returns the task sets of the catalog. It is empty under supposed figures: tasks are not measured with them."""
    asked = question.asked
    return [] if asked.supposed else question.app.scoreboard.task_sets(asked.catalog)


def scores(question: Question, sets: Sequence[str]) -> Mapping[str, Answer]:
    """Returns the fast-lane answer of the scoreboard, or nothing without task sets."""
    app, asked = question.app, question.asked
    if not (task_set := _chosen(question, sets)):
        return {}

    def score(values: Values) -> Mapping[str, object]:
        try:
            return {"parts": {SCORE: _html(_score(app, asked, task_set, values), asked)}}
        except WayfareError as error:  # in place of the score, because the knob is not at fault
            return {"parts": {SCORE: f"<small>{as_html(str(error), 300)}</small>"}}

    return {"score": score}


def scoreboard(question: Question, token: str, sets: Sequence[str]) -> Score | None:
    """Draw the choice of the tasks and their score. The browser asks for the score. A quick score is drawn at once, and returned."""
    app, asked = question.app, question.asked
    if not (task_set := _chosen(question, sets)):
        return None
    score = None
    if isinstance(asked.parameters, EhrrParameters) and app.scoreboard.ready(
        task_set, asked.catalog, asked.router, asked.network
    ):
        score = _score(app, asked, task_set, {})
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:scoreboard"):
        caveat = " Example requests are written for their tools, so they flatter the routers that use them."
        st.markdown(
            f"Scored{', simulated,' * asked.network.simulated} over", help=PROJECTED + caveat * (task_set == REQUESTS), width="content"
        )  # fmt: skip
        st.selectbox("Scored over", sets, key=_key(question), width=190, label_visibility="collapsed")
        note = '<small class="wayfare-faint">Scoring the labelled tasks: the first time takes a few seconds.</small>'
        with st.container(width="stretch"):
            live(note if score is None else _html(score, asked), key=SCORE, lane=token)
    return score


def changed_answers(question: Question, score: Score | None) -> None:
    """Draw the questions that get another first tool. A click asks the question."""
    if score is None or not score.changed:
        return
    count, key = len(score.changed), f"route:score:{question.asked.query}"  # another question starts without a choice
    rows = score.changed[:MOST_SHOWN]

    def chosen() -> None:
        for row in st.session_state[key].selection.rows:
            fill({question.state.key("q"): rows[row].query})

    with st.expander(f"{count:,} of {score.tasks:,} questions get another first tool than at the defaults"):
        st.caption(
            f"✓ can do it, ✗ cannot. Choose a row to ask its question.{f' The first {MOST_SHOWN} of {count:,}.' if count > MOST_SHOWN else ''}"
        )
        event = st.dataframe(
            {
                "question": [row.query for row in rows],
                "at the defaults": [_answer(row.before, right=row.right[0]) for row in rows],
                "now": [_answer(row.now, right=row.right[1]) for row in rows],
            },
            key=key, hide_index=True, on_select=chosen, selection_mode="single-row",
        )  # fmt: skip
        if any(rows[row].query.strip() != question.asked.query for row in event.selection.rows):
            st.rerun()  # the filled field is outside the fragment of this table


def _answer(tool: str | None, *, right: bool) -> str:
    return f"{'✓' if right else '✗'} {tool or 'no tool'}"


def _key(question: Question) -> str:
    return question.state.key("scored")


def _chosen(question: Question, sets: Sequence[str]) -> str:
    """Returns the chosen task set, initially the first, "" if there is none."""
    key = _key(question)
    if sets and st.session_state.get(key) not in sets:
        st.session_state[key] = sets[0]
    return str(st.session_state[key]) if sets else ""


def _score(app: App, asked: Asked, task_set: str, values: Values) -> Score:
    parameters = asked.parameters.replaced(values)
    return app.scoreboard.score(
        task_set, catalog=asked.catalog, router=asked.router, parameters=parameters, network=asked.network
    )


def _html(score: Score, asked: Asked) -> str:
    """Returns the current figures, each beside its default if they differ. `data-slow` makes the browser wait until a knob is released."""
    slow = "" if isinstance(asked.parameters, EhrrParameters) else " data-slow"
    figures = "".join(
        f"<div><dt>{noted(label, about)}</dt><dd>{as_html(show(score.now[name]))}{_beside(score.before[name], score.now[name], show, sign)}</dd></div>"
        for name, label, show, sign, about in FIGURES
    )
    return (
        f'<dl class="wayfare-metrics wayfare-score"{slow}>{figures}<div><dt>{noted("answers", PROJECTED)}</dt>'
        f"<dd>{len(score.changed):,} of {score.tasks:,} change</dd></div></dl>"
    )


def _beside(default: float, current: float, show: Callable[[float], str], sign: int) -> str:
    """Returns the figure at the defaults with an arrow up or down, coloured for better or worse unless a figure is unknown, "" if both look
    equal."""
    if show(default) == show(current):
        return ""
    if math.isnan(current - default):
        return f" <small>from {as_html(show(default))}</small>"
    kind = "better" if (current - default) * sign > 0 else "worse"
    return f' <small class="wayfare-{kind}" title="{kind}">{"▲" if current > default else "▼"} from {as_html(show(default))}</small>'
