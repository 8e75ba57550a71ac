"""The scoreboard of a decision: what this setting of the knobs does to labelled tasks, beside the defaults, while a knob is dragged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from core.app import App
from core.decisions.routing import Asked
from core.domain import units
from core.domain.errors import WayfareError
from core.lab.scoreboard import FIRST, REQUESTS, Score
from core.lab.sweep import INVALID, SECONDS, SOLVED, USD
from core.routers.ehrr import EhrrParameters
from dashboard.lane import Answer, Values
from dashboard.ui.chart import live, noted
from dashboard.ui.question import Question, fill
from dashboard.ui.text import as_html

SCORE = "route:score"
FIGURES = (
    (FIRST, "right first", units.share, 1, "Share of the tasks whose first candidate can do them."),
    (SOLVED, "solved", units.share, 1, "Expected share of the tasks of which every step is solved by its candidates, by declared reliability."),
    (USD, "money a task", units.price, -1, "Expected payment of the calls of one task."),
    (SECONDS, "time a task", units.seconds, -1, "Expected time of the calls of one task, with connecting."),
    (INVALID, "wrong calls", lambda value: units.plain(value, 2), -1, "Expected calls of tools, for each task, that cannot do its next step."),
)  # fmt: skip
PROJECTED = "Projected from labels and declared figures. “from”: at the defaults of this router; ▲ is better, ▼ is worse. Nothing of it is recorded."
MOST_SHOWN = 50


def task_sets(question: Question) -> Sequence[str]:
    """Returns the task sets of the catalog. It is empty under a simulated network or supposed figures: tasks are not measured with them."""
    asked = question.asked
    return [] if asked.hypothetical or asked.network.simulated else question.app.scoreboard.task_sets(asked.catalog)


def scores(question: Question, sets: Sequence[str]) -> Mapping[str, Answer]:
    """Returns the fast-lane answer of the scoreboard, nothing without task sets."""
    app, asked = question.app, question.asked
    if not (chosen := _chosen(question, sets)):
        return {}

    def score(values: Values) -> Mapping[str, object]:
        try:
            return {"parts": {SCORE: _html(_score(app, asked, chosen, values), asked)}}
        except WayfareError as error:  # in its place: it is no fault of the knob
            return {"parts": {SCORE: f"<small>{as_html(str(error), 300)}</small>"}}

    return {"score": score}


def scoreboard(question: Question, token: str, sets: Sequence[str]) -> Score | None:
    """Draw the choice of the tasks and their score. The browser asks for it; a score that takes no time is drawn at once, and returned."""
    app, asked = question.app, question.asked
    if not (chosen := _chosen(question, sets)):
        return None
    known = None
    if isinstance(asked.parameters, EhrrParameters) and app.scoreboard.ready(chosen, asked.catalog, asked.router):
        known = _score(app, asked, chosen, {})
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:scoreboard"):
        flatters = " Example requests are written for their tools, so they flatter the routers that use them."
        st.markdown("Scored over", help=PROJECTED + flatters * (chosen == REQUESTS), width="content")
        st.selectbox("Scored over", sets, key=_key(question), width=190, label_visibility="collapsed")
        waits = '<small class="wayfare-faint">Scoring the labelled tasks: the first time takes a few seconds.</small>'
        with st.container(width="stretch"):
            live(waits if known is None else _html(known, asked), key=SCORE, lane=token)
    return known


def changed_answers(question: Question, score: Score | None) -> None:
    """Draw the questions that get another first tool. A click asks one."""
    if score is None or not score.changed:
        return
    count, key = len(score.changed), f"route:score:{question.asked.subtask}"  # of another question nothing is chosen
    rows = score.changed[:MOST_SHOWN]

    def chosen() -> None:
        for row in st.session_state[key].selection.rows:
            fill({question.state.key("q"): rows[row].query})

    with st.expander(f"{count:,} of {score.tasks:,} questions get another first tool than at the defaults"):
        st.caption(
            f"✓ can do it, ✗ cannot. Choose a row to ask its question.{f' The first {MOST_SHOWN} of {count:,}.' if count > MOST_SHOWN else ''}"
        )
        picked = st.dataframe(
            {
                "question": [one.query for one in rows],
                "at the defaults": [_answer(one.before, right=one.right[0]) for one in rows],
                "now": [_answer(one.now, right=one.right[1]) for one in rows],
            },
            key=key, hide_index=True, on_select=chosen, selection_mode="single-row",
        )  # fmt: skip
        if picked.selection.rows:
            st.rerun()  # the filled field is outside the fragment of this table


def _answer(tool: str | None, *, right: bool) -> str:
    return f"{'✓' if right else '✗'} {tool or 'no tool'}"


def _key(question: Question) -> str:
    return question.state.key("scored")


def _chosen(question: Question, sets: Sequence[str]) -> str:
    """Returns the chosen task set, at first the first one, "" if there is none."""
    key = _key(question)
    if sets and st.session_state.get(key) not in sets:
        st.session_state[key] = sets[0]
    return str(st.session_state[key]) if sets else ""


def _score(app: App, asked: Asked, chosen: str, values: Values) -> Score:
    parameters = asked.parameters.replaced(values)
    return app.scoreboard.score(chosen, catalog=asked.catalog, router=asked.router, parameters=parameters)


def _html(score: Score, asked: Asked) -> str:
    """Returns the figures now, and beside each the one at the defaults if they differ. `data-slow` has the browser wait until a knob is released."""
    slow = "" if isinstance(asked.parameters, EhrrParameters) else " data-slow"
    figures = "".join(
        f"<div><dt>{noted(label, about)}</dt><dd>{as_html(shown(score.now[name]))}{_beside(score.before[name], score.now[name], shown, sign)}</dd></div>"
        for name, label, shown, sign, about in FIGURES
    )
    return (
        f'<dl class="wayfare-metrics wayfare-score"{slow}>{figures}<div><dt>{noted("answers", PROJECTED)}</dt>'
        f"<dd>{len(score.changed):,} of {score.tasks:,} change</dd></div></dl>"
    )


def _beside(before: float, now: float, shown: Callable[[float], str], sign: int) -> str:
    """Returns the figure at the defaults with an arrow for better or worse, "" if the shown figures are the same."""
    if shown(before) == shown(now):
        return ""
    better = (now - before) * sign > 0
    return f' <small class="{"wayfare-better" if better else "wayfare-worse"}">{"▲" if better else "▼"} from {as_html(shown(before))}</small>'
