"""Calls on a page: their mode, the approval of a person, and the difference of two definitions."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

import streamlit as st

import dashboard
from core.app import App
from core.domain.catalog import Server, Tool
from core.domain.governance_events import made_by
from core.domain.outcome import CallMode
from core.domain.people import person
from core.domain.untrusted_text import visible
from core.governance.definitions import HeldDefinition, PartDifference, Piece
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Outlook
from dashboard.page_host import DeltaGenerator
from dashboard.session import origin
from dashboard.ui.rights import only
from dashboard.ui.text import escaped


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
    """Shows each part that changed and each finding of Lint."""
    st.html(CSS)
    for part in held.differences:
        st.html(difference_html(part))
    for finding in held.findings:
        again = "Finding of Lint, as before" if held.known_since is not None else "Finding of Lint"
        said = "New finding of Lint" if held.known_since is not None and finding in held.new_findings else again
        show = st.error if finding.severity == "error" and finding in held.new_findings else st.warning
        show(f"{said}: {escaped(finding.reason, 400)}", icon=":material/policy:")
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
    """Says what stops a call. Shows a changed definition with a button to accept it. Draws nothing if the call may go."""
    refusal = outlook.refusal
    if outlook.reasons:
        whose = "An approver's" if person().refusal("approve") else "Your"
        st.info(
            f"**This call needs a person's approval**: {escaped('; '.join(outlook.reasons), 400)}. {whose} approval is recorded for exactly these "
            "arguments and this definition, and counts once.",
            icon=":material/how_to_reg:",
        )
    elif refusal is not None and refusal.error in {DEFINITION_CHANGED, DEFINITION_WAITS}:
        _changed(app, catalog, tool)
    elif refusal is not None:
        st.warning(escaped(f"{refusal.why} {refusal.advice}", 600), icon=":material/block:")


def _changed(app: App, catalog: str, tool: Tool) -> None:
    held = app.governance.definitions.held_of(catalog, tool)
    if held is None:
        return
    with st.container(border=True, key="leave-held"):
        denied = f"and {escaped(made_by(held.denied_by), 100)}, denied it"
        state = denied if held.denied_by else "and it has not been accepted yet"
        st.markdown(
            f":orange[:material/difference:] **This tool is held back.** {held_words(held)}, {state}. Read it before you call it."
        )
        what_changed(held)
        st.button("Accept this definition", key=ACCEPT, **only("approve"), icon=":material/check:", on_click=_accept, args=(app, catalog, tool.id))  # fmt: skip


def _accept(app: App, catalog: str, tool_id: str) -> None:
    app.governance.definitions.decide(catalog, tool_id, approve=True, origin=origin())
