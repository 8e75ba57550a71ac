"""Values that servers need before they can start: entered as passwords, stored in this process's memory only."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.app import App
from core.domain.imports import Imported
from dashboard.pages.catalog.connections.words import reference_name
from dashboard.pages.catalog.imports.documents import counted
from dashboard.ui.text import escaped

PREFIX = "catalog.import.value."


class Wanted(NamedTuple):
    """A value that is still missing: the name that references use, what it is, and which servers need it."""

    name: str
    what: str
    servers: tuple[str, ...]


def wanted_values(app: App, imported: Imported) -> tuple[Wanted, ...]:
    """Every reference of an import that has no value, in order of first use."""
    descriptions = {prompt.id: prompt.description for prompt in imported.prompts}
    users: dict[str, list[str]] = {}
    for server in imported.servers:
        for name in dict.fromkeys(reference_name(reference) for reference in app.vault.missing(server.connection)):
            if name not in imported.secrets:
                users.setdefault(name, []).append(server.name)
    return tuple(Wanted(name, descriptions.get(name, ""), tuple(servers)) for name, servers in users.items())


def value_fields(wanted: tuple[Wanted, ...]) -> None:
    """One password field for each value."""
    if not wanted:
        return
    st.markdown(
        f"**{counted(len(wanted), 'value')} to enter.** Kept in memory until Wayfare stops, never written down."
    )
    for position, (left, right) in enumerate(zip(wanted[::2], (*wanted[1::2], None), strict=False)):
        columns = st.columns(2)
        for place, item in enumerate(one for one in (left, right) if one is not None):
            with columns[place]:
                _field(item, 2 * position + place)


def values_given(wanted: tuple[Wanted, ...]) -> dict[str, str]:
    """What was typed so far, by name."""
    typed = ((item.name, st.session_state.get(f"{PREFIX}{place}", "")) for place, item in enumerate(wanted))
    return {name: value for name, value in typed if value}


def _field(item: Wanted, place: int) -> None:
    servers = ", ".join(item.servers[:4]) + ("…" if len(item.servers) > 4 else "")
    st.text_input(
        escaped(item.name, 80),
        type="password",
        key=f"{PREFIX}{place}",
        help=escaped(f"{item.what} Needed by {servers}.".strip(), 300),
        placeholder=item.what[:60] or None,
        autocomplete="off",
    )
