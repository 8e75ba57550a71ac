"""A popover that grades a tool for a sub-task. Its set and judge stay chosen across pages.

Owns the keys `judging:*`.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.feedback import (
    FIRST_SET,
    GRADE_WORDS,
    GRADES,
    MOST_NAME_CHARACTERS,
    MOST_NOTE_CHARACTERS,
    AskedQuery,
    Judgment,
)
from core.domain.untrusted_text import one_line
from dashboard.page_host import DeltaGenerator
from dashboard.ui.labels import labeller
from dashboard.ui.rights import only
from dashboard.ui.text import escaped

SET, JUDGE, NOTICE = "judging:set", "judging:judge", "judging:notice"
OPERATOR = "operator"
SET_HELP = "Judgments are kept in named sets of the catalog. Choose one, or type a new name."
JUDGE_HELP = "Your name as a judge. Several judges may grade the same tool; the median counts."


def chosen_set(app: App, catalog: str) -> str:
    """Returns the set for new judgments: the last choice, else the set of the last judgment."""
    return st.session_state.get(SET) or next(iter(app.judgments.sets(catalog)), FIRST_SET)


def chosen_judge() -> str:
    """Returns the judge: the last name entered, else the address of another machine, else the operator."""
    return st.session_state.get(JUDGE) or labeller().visitor or OPERATOR


def set_and_judge(where: DeltaGenerator, app: App, catalog: str, place: str) -> tuple[str, str]:
    """Draw the fields for set and judge, and return their values."""
    set_name, judge = chosen_set(app, catalog), chosen_judge()
    options = list(dict.fromkeys([set_name, *app.judgments.sets(catalog), FIRST_SET]))
    where.selectbox(
        "Judgment set", options, key=f"judging:{place}:set", accept_new_options=True, width=220, help=SET_HELP,
        format_func=lambda name: one_line(name, MOST_NAME_CHARACTERS),
    )  # fmt: skip
    where.text_input(
        "Judge", value=judge, key=f"judging:{place}:judge", max_chars=MOST_NAME_CHARACTERS, width=160, help=JUDGE_HELP
    )
    st.session_state[SET], st.session_state[JUDGE] = names = _names(place)
    return names


def _names(place: str) -> tuple[str, str]:
    """Returns the set and the judge in the fields of this place."""
    set_name, judge = (st.session_state[f"judging:{place}:{field}"] or "" for field in ("set", "judge"))
    return " ".join(set_name.split()) or FIRST_SET, " ".join(judge.split()) or OPERATOR


def judge_popover(
    app: App, query: AskedQuery, tools: Sequence[str], place: str, *, catalog: str, decision_id: str | None = None
) -> None:
    """A button that opens a form with set, judge, grade and note for one of `tools`."""
    key = f"judging:{place}:open"
    said = app.judgments.graded(catalog=catalog, set_name=chosen_set(app, catalog), judge=chosen_judge())
    known = said.get((query, tools[0])) if len(tools) == 1 else None
    with st.popover(
        "grade…" if known is None else f"**grade {known.grade}**",
        type="tertiary", key=key, on_change="rerun", icon=":material/grading:",
        help="Grade how well the tool does the sub-task, 0 to 3, for a judgment set. Judgments measure routers in the Lab and change no "
        "decision.",
    ) as popover:  # fmt: skip
        if popover.open:
            _form(app, query, tools, place, catalog=catalog, decision_id=decision_id)
    notice: tuple[str, AskedQuery, bool, str] | None = st.session_state.get(NOTICE)
    if notice is not None and notice[:2] == (place, query):
        colour, icon = ("green", "check_circle") if notice[2] else ("red", "error")
        st.markdown(f":small[:{colour}[:material/{icon}: {notice[3]}]]", width="content")


def _form(
    app: App, query: AskedQuery, tools: Sequence[str], place: str, *, catalog: str, decision_id: str | None
) -> None:
    tool = tools[0]
    if len(tools) > 1:
        tool = st.selectbox(
            "Tool", tools, key=f"judging:{place}:tool", format_func=lambda name: one_line(name, 120), width=400
        )
    set_name, judge = set_and_judge(st.container(horizontal=True, gap="small"), app, catalog, place)
    known = app.judgments.graded(catalog=catalog, set_name=set_name, judge=judge).get((query, tool))
    own = f"judging:{place}:{query.id}:{set_name}:{judge}:{tool}"
    grade = grade_field(f"{own}:grade", None if known is None else known.grade)
    st.text_area(
        "Why (optional)", value="" if known is None else known.note, key=f"{own}:note", max_chars=MOST_NOTE_CHARACTERS,
        height=70, width=400,
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Store", key=f"judging:{place}:store", type="primary", **only("tune", disabled=grade is None, help="Choose a grade first." if grade is None else None), on_click=_store,
            args=(app, query, tool, own, place, catalog, decision_id),
        )  # fmt: skip
        if known is not None:
            st.button("Take back", key=f"judging:{place}:back", **only("tune"), on_click=_take_back, args=(app, known, place))  # fmt: skip


def grade_field(key: str, known: int | None) -> int | None:
    """Draw the grades 0 to 3 with their meaning. Returns the chosen grade, or None."""
    return st.radio(
        "How well does it do the sub-task?", GRADES, index=known, key=key, format_func=lambda one: f"{one} · {GRADE_WORDS[one]}",
    )  # fmt: skip


def _store(app: App, query: AskedQuery, tool: str, own: str, place: str, catalog: str, decision_id: str | None) -> None:
    """Store what the session has now: text typed just before the click is newer than the drawn page."""
    (set_name, judge), grade = _names(place), int(st.session_state[f"{own}:grade"])
    note = str(st.session_state[f"{own}:note"])
    try:
        app.judgments.judge(
            query.subtask, tool, grade, judge=judge, set_name=set_name, catalog=catalog, server_hint=query.server_hint,
            note=note, decision_id=decision_id,
        )  # fmt: skip
        said = f"{escaped(tool, 60)} has grade **{grade}** in {escaped(set_name, 40)}, by {escaped(judge, 40)}."
        _close(place, query, True, said)
    except WayfareError as error:
        _close(place, query, False, escaped(str(error), 300))


def _take_back(app: App, known: Judgment, place: str) -> None:
    app.judgments.take_back(known)
    _close(
        place, known.query, True, f"Taken back: {escaped(known.tool, 60)} has no grade of {escaped(known.judge, 40)}."
    )


def _close(place: str, query: AskedQuery, done: bool, sentence: str) -> None:
    st.session_state[f"judging:{place}:open"] = False
    st.session_state[NOTICE] = (place, query, done, sentence)
