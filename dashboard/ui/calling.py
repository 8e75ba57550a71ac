"""A tool in a person's hands: the mode and the approval of a call, the difference of two definitions, and a popover that grades a tool for a sub-task.

The set and the judge of grades stay chosen across pages, under the keys `judging:*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import streamlit as st

import dashboard
from core.app import App
from core.domain.catalog import Server, Tool, definition_text
from core.domain.documents import digest
from core.domain.errors import WayfareError
from core.domain.events import made_by
from core.domain.feedback import (
    FIRST_SET,
    GRADE_WORDS,
    GRADES,
    MOST_NAME_CHARACTERS,
    MOST_NOTE_CHARACTERS,
    AskedQuery,
    Judgment,
)
from core.domain.outcome import CallMode
from core.domain.people import person
from core.domain.untrusted_text import one_line, visible
from core.governance.definitions import HeldDefinition, PartDifference, Piece
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Outlook
from dashboard.page_host import DeltaGenerator
from dashboard.session import only, origin
from dashboard.ui.labels import labeller
from dashboard.ui.text import error_toasted, escaped


class Words(NamedTuple):
    """The label of a mode in the choice and on the button, its icon, and its help."""

    choice: str
    button: str
    icon: str
    help: str


MODES = {
    CallMode.REAL: Words("Real call", "Call", ":material/play_arrow:", "**Real call**: the server itself is called."),
    CallMode.VIRTUAL: Words(
        "Virtual server",
        "Call virtually",
        ":material/theater_comedy:",
        "**Virtual server**: a server of this name is started that answers over real MCP with simulated results, after "
        "the declared time and with the declared failures.",
    ),
    CallMode.DRAWN: Words(
        "Simulate",
        "Simulate",
        ":material/casino:",
        "**Simulate**: nothing is called, an outcome is drawn from the known success rate and call time.",
    ),
}


def mode_choice(line: DeltaGenerator, server: Server) -> CallMode:
    """Returns the chosen way to call a server. A virtual server without a connection has no real calls."""
    modes = modes_of(server)
    key = f"call.run.mode.{len(modes)}"
    st.session_state.setdefault(key, modes[0])
    chosen = line.segmented_control(
        "How", modes, key=key, required=True, persist_state="session", format_func=lambda mode: MODES[mode].choice,
        help=" ".join(MODES[mode].help for mode in modes) + " Nothing is learnt from simulated results.",
    )  # fmt: skip
    return chosen or modes[0]


def modes_of(server: Server) -> tuple[CallMode, ...]:
    """Returns the ways in which a server can be called, the default first.

    >>> [mode.value for mode in modes_of(Server("a", virtual=True))]
    ['virtual', 'drawn']
    """
    modes = tuple(MODES)
    return modes[1:] if server.virtual and server.connection is None else modes


CSS = Path(dashboard.__file__).parent / "assets" / "definition.css"
TAGS = {"same": "span", "removed": "del", "added": "ins"}
PARTS = {"title": "Title", "description": "Description", "inputSchema": "Input schema", "outputSchema": "Output schema", "annotations": "Annotations"}  # fmt: skip
CONTEXT_CHARS = 240


def held_words(held: HeldDefinition) -> str:
    """Returns why a definition is held back, as the beginning of a sentence."""
    if held.known_since is None:
        return f"It is new, and Lint finds an error: {escaped(held.error, 200)}"
    return f"Its definition changed since {held.known_since:%Y-%m-%d %H:%M} UTC"


def what_changed(held: HeldDefinition) -> None:
    st.html(CSS)
    for difference in held.differences:
        st.html(difference_html(difference))
    for finding in held.findings:
        again = "Finding of Lint, as before" if held.known_since is not None else "Finding of Lint"
        heading = "New finding of Lint" if held.known_since is not None and finding in held.new_findings else again
        show = st.error if finding.severity == "error" and finding in held.new_findings else st.warning
        show(f"{heading}: {escaped(finding.reason, 400)}", icon=":material/policy:")
    if not held.findings and held.known_since is not None:
        st.caption("Lint has no findings.")


def difference_html(part: PartDifference) -> str:
    """Returns one part of a definition with removed and added words marked. Long unchanged stretches are cut."""
    pieces = "".join(f"<{TAGS[piece.change]}>{escape(_text(piece))}</{TAGS[piece.change]}>" for piece in part.pieces)
    return f'<div class="definition-difference"><b>{PARTS[part.part]}</b><p>{pieces}</p></div>'


def _text(piece: Piece) -> str:
    text = visible(piece.text)
    if piece.change != "same" or len(text) <= 2 * CONTEXT_CHARS:
        return text
    return f"{text[:CONTEXT_CHARS]} … {text[-CONTEXT_CHARS:]}"


ACCEPT = "leave:accept"


def leave_note(app: App, catalog: str, tool: Tool, outlook: Outlook) -> None:
    """Says why a call is stopped. Shows a changed definition with a button to accept it. Draws nothing if the call may go."""
    refusal = outlook.refusal
    if outlook.reasons:
        owner = "An approver's" if person().refusal("approve") else "Your"
        st.info(
            f"**This call needs a person's approval**: {escaped('; '.join(outlook.reasons), 400)}. {owner} approval is recorded for exactly these "
            "arguments and this definition, and counts once.",
            icon=":material/how_to_reg:",
        )
    elif refusal is not None and refusal.error in {DEFINITION_CHANGED, DEFINITION_WAITS}:
        _changed(app, catalog, tool)
    elif refusal is not None:
        st.warning(escaped(f"{refusal.why} {refusal.advice}", 600), icon=":material/block:")


def _changed(app: App, catalog: str, tool: Tool) -> None:
    definition = app.governance.definitions.held_of(catalog, tool)
    if definition is None:
        return
    with st.container(border=True, key="leave-held"):
        denied = f"and {escaped(made_by(definition.denied_by), 100)}, denied it"
        state = denied if definition.denied_by else "and it has not been accepted yet"
        st.markdown(
            f":orange[:material/difference:] **This tool is held back.** {held_words(definition)}, {state}. Read it before you call it."
        )
        what_changed(definition)
        key = f"{ACCEPT}.{digest(f'{catalog} {tool.id} {definition_text(tool)}')[:12]}"  # no press is about a later definition
        st.button("Accept this definition", key=key, **only("approve"), icon=":material/check:", on_click=_accept, args=(app, catalog, tool))  # fmt: skip


def _accept(app: App, catalog: str, tool: Tool) -> None:
    with error_toasted():
        app.governance.definitions.decide(catalog, tool.id, approve=True, origin=origin(), shown=tool)


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
    set_name, judge = (st.session_state[f"judging:{place}:{field}"] or "" for field in ("set", "judge"))
    return " ".join(set_name.split()) or FIRST_SET, " ".join(judge.split()) or OPERATOR


def judge_popover(
    app: App, query: AskedQuery, tools: Sequence[str], place: str, *, catalog: str, decision_id: str | None = None
) -> None:
    """A button that opens a form with set, judge, grade and note for one of `tools`."""
    key = f"judging:{place}:open"
    judgments = app.judgments.graded(catalog=catalog, set_name=chosen_set(app, catalog), judge=chosen_judge())
    judgment = judgments.get((query, tools[0])) if len(tools) == 1 else None
    with st.popover(
        "grade…" if judgment is None else f"**grade {judgment.grade}**",
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
    judgment = app.judgments.graded(catalog=catalog, set_name=set_name, judge=judge).get((query, tool))
    prefix = f"judging:{place}:{query.id}:{set_name}:{judge}:{tool}"
    grade = grade_field(f"{prefix}:grade", None if judgment is None else judgment.grade)
    st.text_area(
        "Why (optional)", value="" if judgment is None else judgment.note, key=f"{prefix}:note", max_chars=MOST_NOTE_CHARACTERS,
        height=70, width=400,
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Store", key=f"judging:{place}:store", type="primary", **only("tune", disabled=grade is None, help="Choose a grade first." if grade is None else None), on_click=_store,
            args=(app, query, tool, prefix, place, catalog, decision_id),
        )  # fmt: skip
        if judgment is not None:
            st.button("Take back", key=f"judging:{place}:back", **only("tune"), on_click=_take_back, args=(app, judgment, place))  # fmt: skip


def grade_field(key: str, known: int | None) -> int | None:
    """Draw the grades 0 to 3 with their meaning. Returns the chosen grade, or None."""
    return st.radio(
        "How well does it do the sub-task?", GRADES, index=known, key=key, format_func=lambda grade: f"{grade} · {GRADE_WORDS[grade]}",
    )  # fmt: skip


def _store(
    app: App, query: AskedQuery, tool: str, prefix: str, place: str, catalog: str, decision_id: str | None
) -> None:
    """Store the session's values. Text typed just before the click is newer than the drawn page."""
    (set_name, judge), grade = _names(place), int(st.session_state[f"{prefix}:grade"])
    note = str(st.session_state[f"{prefix}:note"])
    try:
        app.judgments.judge(
            query.text, tool, grade, judge=judge, set_name=set_name, catalog=catalog, server_hint=query.server_hint,
            note=note, decision_id=decision_id,
        )  # fmt: skip
        sentence = f"{escaped(tool, 60)} has grade **{grade}** in {escaped(set_name, 40)}, by {escaped(judge, 40)}."
        _close(place, query, True, sentence)
    except WayfareError as error:
        _close(place, query, False, escaped(str(error), 300))


def _take_back(app: App, mark: Judgment, place: str) -> None:
    app.judgments.take_back(mark)
    _close(place, mark.asked, True, f"Taken back: {escaped(mark.tool, 60)} has no grade of {escaped(mark.judge, 40)}.")


def _close(place: str, query: AskedQuery, done: bool, sentence: str) -> None:
    st.session_state[f"judging:{place}:open"] = False
    st.session_state[NOTICE] = (place, query, done, sentence)
