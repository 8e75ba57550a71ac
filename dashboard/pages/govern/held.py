"""Definitions that are held back: what changed word by word, and what Lint says of it."""

from __future__ import annotations

from html import escape

import streamlit as st

from core.app import App
from core.governance.definitions import PartDifference, Piece
from core.services.definitions import HeldDefinition
from core.shared.untrusted_text import visible
from dashboard.pages.govern.said import do
from dashboard.ui.text import escaped

TAGS = {"same": "span", "removed": "del", "added": "ins"}
PARTS = {"title": "Title", "description": "Description", "inputSchema": "Input schema", "outputSchema": "Output schema", "annotations": "Annotations"}  # fmt: skip
CONTEXT_CHARS = 240


def held_definitions(app: App) -> int:
    """A card for each; gives how many there are."""
    found = app.governance.definitions.held()
    for one in found:
        with st.container(border=True):
            _card(app, one)
    return len(found)


def _card(app: App, held: HeldDefinition) -> None:
    tool, key = held.tool, f"{held.catalog}-{held.tool.id}"
    about, buttons = st.columns([3, 1.2], vertical_alignment="top")
    with about:
        state = "was denied by a person" if held.denied else "changed"
        st.markdown(
            f"**{escaped(tool.id, 120)}** {state}  \n"
            f"Its definition is not the one of {held.known_since:%Y-%m-%d %H:%M} UTC, so no agent may call it."
        )
        st.caption(f"catalog {escaped(held.catalog, 60)}")
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="small"):
        st.button("Approve", key=f"govern:definition-approve-{key}", type="primary", icon=":material/check:",
            on_click=_decide, args=(app, held, True))  # fmt: skip
        st.button("Deny", key=f"govern:definition-deny-{key}", icon=":material/close:", disabled=held.denied,
            on_click=_decide, args=(app, held, False))  # fmt: skip
    for part in held.differences:
        st.html(difference_html(part))
    for finding in held.findings:
        said = "Lint finds in it now" if finding in held.new_findings else "Lint found in it before, too"
        show = st.error if finding.severity == "error" and finding in held.new_findings else st.warning
        show(f"{said}: {escaped(finding.reason, 400)}", icon=":material/policy:")
    if not held.findings:
        st.caption("Lint finds nothing wrong with it.")


def difference_html(part: PartDifference) -> str:
    """One part of a definition with its removed and added words marked; long stretches without a change are cut."""
    pieces = "".join(f"<{TAGS[piece.change]}>{escape(_text(piece))}</{TAGS[piece.change]}>" for piece in part.pieces)
    return f'<div class="govern-difference"><b>{PARTS[part.part]}</b><p>{pieces}</p></div>'


def _text(piece: Piece) -> str:
    text = visible(piece.text)
    if piece.change != "same" or len(text) <= 2 * CONTEXT_CHARS:
        return text
    return f"{text[:CONTEXT_CHARS]} … {text[-CONTEXT_CHARS:]}"


def _decide(app: App, held: HeldDefinition, approve: bool) -> None:
    decided = "approved: agents may call it as it is now" if approve else "denied: it stays held back"
    do(
        lambda: app.governance.definitions.decide(held.catalog, held.tool.id, approve=approve, origin="console"),
        f"The definition of {held.tool.id} is {decided}.",
    )
