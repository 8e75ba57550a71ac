"""What a call that a person is about to make would meet: an approval that it needs, a changed definition, or a refusal."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import Tool
from core.domain.governance_events import made_by
from core.governance.calls import Outlook
from core.governance.refusals import DEFINITION_CHANGED
from dashboard.session import origin
from dashboard.ui.definition_difference import what_changed
from dashboard.ui.text import escaped

ACCEPT = "leave:accept"


def leave_note(app: App, catalog: str, tool: Tool, outlook: Outlook) -> None:
    """One sentence, and where a definition changed what changed and the button that accepts it; nothing where the call just goes."""
    refusal = outlook.refusal
    if outlook.reasons:
        st.info(
            f"**This call needs a person's approval**: {escaped('; '.join(outlook.reasons), 400)}. Yours is recorded, for exactly these "
            "arguments and this definition, and counts once.",
            icon=":material/how_to_reg:",
        )
    elif refusal is not None and refusal.error == DEFINITION_CHANGED:
        _changed(app, catalog, tool)
    elif refusal is not None:
        st.warning(escaped(f"{refusal.why} {refusal.advice}", 600), icon=":material/block:")


def _changed(app: App, catalog: str, tool: Tool) -> None:
    held = app.governance.definitions.held_of(catalog, tool)
    if held is None:
        return
    with st.container(border=True, key="leave-held"):
        denied = f"and {escaped(made_by(held.denied_by), 100)}, denied it"
        state = denied if held.denied_by else "and nobody has accepted it yet"
        st.markdown(
            f":orange[:material/difference:] **The definition of this tool changed** since {held.known_since:%Y-%m-%d %H:%M} UTC, "
            f"{state}. Read what changed before you call it."
        )
        what_changed(held)
        st.button(
            "Accept this definition",
            key=ACCEPT,
            icon=":material/check:",
            on_click=_accept,
            args=(app, catalog, tool.id),
        )


def _accept(app: App, catalog: str, tool_id: str) -> None:
    app.governance.definitions.decide(catalog, tool_id, approve=True, origin=origin())
