"""Values that servers need before they can start: entered as passwords, stored in this process's memory only."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.app import App
from core.domain.catalog import Imported, Server, ServerId
from dashboard.pages.catalog.connections.words import reference_name
from dashboard.pages.catalog.imports.documents import counted
from dashboard.ui.text import escaped

PREFIX = "catalog.import.value."
KEPT = " Left empty, the value that was entered stays."
OWN_PREFIX = "catalog.detail.value."


class Wanted(NamedTuple):
    """A value that can be entered: the name that references use, what it is, which servers use it, and which of them lack it."""

    name: str
    what: str
    servers: tuple[str, ...]
    lacking: tuple[str, ...]


def wanted_values(app: App, catalog: str, imported: Imported) -> tuple[Wanted, ...]:
    """Every reference of the servers of a catalog to be that has no value, or one that was entered for this catalog."""
    descriptions = {prompt.id: prompt.description for prompt in imported.prompts}
    users: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    for server in imported.servers:
        key = ServerId(catalog, server.name)
        missing = [reference_name(reference) for reference in app.vault.missing(key, server.connection)]
        known = [reference_name(reference) for reference in app.vault.replaceable(key, server.connection)]
        for name in dict.fromkeys((*missing, *known)):
            if name not in imported.secrets:
                users.setdefault(name, []).append(server.name)
                lacking.setdefault(name, []).extend([server.name] if name in missing else [])
    return tuple(
        Wanted(name, descriptions.get(name, ""), tuple(servers), tuple(lacking[name]))
        for name, servers in users.items()
    )


def value_fields(wanted: tuple[Wanted, ...], prefix: str = PREFIX) -> None:
    """One password field for each value; `prefix` begins their keys."""
    if not wanted:
        return
    lacking = sum(bool(one.lacking) for one in wanted)
    head = (
        f"{counted(lacking, 'value')} to enter." if lacking else "All values are entered; a new one replaces the old."
    )
    st.markdown(f"**{head}** Kept in memory for this catalog alone until Wayfare stops, never written down.")
    for position, (left, right) in enumerate(zip(wanted[::2], (*wanted[1::2], None), strict=False)):
        columns = st.columns(2)
        for place, item in enumerate(one for one in (left, right) if one is not None):
            with columns[place]:
                _field(item, f"{prefix}{2 * position + place}")


def values_given(wanted: tuple[Wanted, ...], prefix: str = PREFIX) -> dict[str, str]:
    """What was typed so far, by name."""
    typed = ((item.name, st.session_state.get(f"{prefix}{place}", "")) for place, item in enumerate(wanted))
    return {name: value for name, value in typed if value}


def own_values(app: App, catalog: str, server: Server) -> None:
    """A form for the values that one server of a catalog uses; nothing where it uses none that can be entered."""
    wanted = wanted_values(app, catalog, Imported("catalog", (server,)))
    if not wanted:
        return
    prefix = f"{OWN_PREFIX}{catalog}::{server.name}."
    with st.form(f"{prefix}form", clear_on_submit=True):
        value_fields(wanted, prefix)
        st.form_submit_button(
            "Keep them",
            key=f"{prefix}keep",
            icon=":material/key:",
            on_click=_keep,
            args=(app, catalog, server, wanted, prefix),
        )
    st.caption("The next call uses a new value: a session that was opened with the old one is closed.")


def _keep(app: App, catalog: str, server: Server, wanted: tuple[Wanted, ...], prefix: str) -> None:
    app.catalog_editor.keep_secrets(catalog, [server], values_given(wanted, prefix))


def _field(item: Wanted, key: str) -> None:
    servers = ", ".join(item.servers[:4]) + ("…" if len(item.servers) > 4 else "")
    st.text_input(
        escaped(item.name, 80),
        type="password",
        key=key,
        help=escaped(f"{item.what} Needed by {servers}.{'' if item.lacking else KEPT}".strip(), 300),
        placeholder=(item.what[:60] or None) if item.lacking else "entered",
        autocomplete="off",
    )
