"""Definitions that are held back: what changed word by word, and what Lint says of it."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.governance_events import made_by
from core.services.govern.definitions import HeldDefinition
from dashboard.pages.govern.said import do
from dashboard.session import origin
from dashboard.ui.definition_difference import what_changed
from dashboard.ui.text import escaped


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
        state = f"was denied by {escaped(made_by(held.denied_by), 100)}" if held.denied_by else "changed"
        st.markdown(
            f"**{escaped(tool.id, 120)}** {state}  \n"
            f"Its definition is not the one of {held.known_since:%Y-%m-%d %H:%M} UTC, so nobody may call it."
        )
        st.caption(f"catalog {escaped(held.catalog, 60)}")
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="small"):
        worse = any(finding.severity == "error" for finding in held.new_findings)
        st.button("Approve", key=f"govern:definition-approve-{key}", type="secondary" if worse else "primary", icon=":material/check:",
            on_click=_decide, args=(app, held, True))  # fmt: skip
        st.button("Deny", key=f"govern:definition-deny-{key}", type="primary" if worse else "secondary", icon=":material/close:",
            disabled=bool(held.denied_by), on_click=_decide, args=(app, held, False))  # fmt: skip
    what_changed(held)


def _decide(app: App, held: HeldDefinition, approve: bool) -> None:
    decided = "approved: agents may call it as it is now" if approve else "denied: it stays held back"
    do(
        lambda: app.governance.definitions.decide(held.catalog, held.tool.id, approve=approve, origin=origin()),
        f"The definition of {held.tool.id} is {decided}.",
    )
