"""The dialog that imports catalogs: hand over, see what would be imported, import all of it or nothing."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Imported
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports.documents import counted, name_for, source_of, store_import
from dashboard.pages.catalog.imports.name import chosen_name, name_field
from dashboard.pages.catalog.imports.source import Read, problems, source_widgets
from dashboard.ui.catalog_frames import reached_by
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

PROBLEM = "catalog:import.problem"
SERVERS_SHOWN = 5
EXAMPLE = '{"servers": [{"name": "weather", "description": "Forecasts.", "tools": [{"name": "get_forecast", …}]}]}'


@st.dialog("Import a catalog", width="large", icon=":material/upload_file:", on_dismiss=state.close_dialog)
def import_dialog(app: App) -> None:
    """Draw it; it closes itself once something was imported."""
    if not state.dialog_open("import"):
        st.rerun()
    st.caption(
        "Takes a catalog of servers and tools, a dump of tools/list, a server.json of the MCP Registry, or the "
        "configuration of a client, as JSON or TOML of at most 64 MB. Several files become one catalog. "
        "A document is taken as a whole or not at all."
    )
    read = source_widgets(app, EXAMPLE)
    if read is None:
        return
    if read.reading.imported is None:
        problems(read.reading)
        return
    _preview(read.reading.imported)
    _buttons(app, read, connectable=bool(read.reading.imported.needs_discovery))
    if sentence := st.session_state.get(PROBLEM, ""):
        st.error(escaped(sentence), icon=":material/error:")


def _buttons(app: App, read: Read, *, connectable: bool) -> None:
    suggestion = name_for(read.documents, app)
    _, agreed = name_field(app, suggestion)
    with st.container(horizontal=True):
        st.button(
            "Import",
            type="primary",
            icon=":material/check:",
            key="catalog.import.go",
            disabled=not agreed,
            on_click=_import,
            args=(app, read, suggestion),
        )
        if connectable:
            st.button(
                "Connect and discover instead…",
                icon=":material/cable:",
                key="catalog.import.connect",
                on_click=state.open_dialog,
                args=("connect",),
            )


def summary(imported: Imported) -> str:
    """One sentence on what is in an import.

    >>> summary(Imported("plain", ()))
    'Format plain: 0 servers, 0 tools.'
    """
    tools = [tool for server in imported.servers for tool in server.tools]
    unpriced = sum(tool.price_usd is None for tool in tools)
    parts = [counted(len(imported.servers), "server"), counted(len(tools), "tool")]
    if unpriced:
        parts.append(f"{unpriced:,} without a price")
    return f"Format {imported.format}: {', '.join(parts)}."


def remarks(imported: Imported) -> tuple[str, ...]:
    """The notes of an import, one line each."""
    return tuple(f"{note.where}: {note.text}" for note in imported.notes)


def _preview(imported: Imported) -> None:
    st.markdown(f":green[:material/check_circle:] **{escaped(summary(imported))}**")
    if waiting := len(imported.needs_discovery):
        st.caption(
            f"{counted(waiting, 'server')} without tools here: only the server itself knows them. "
            "Connect and discover asks for them."
        )
    frame = pd.DataFrame(
        {
            "server": [server.name for server in imported.servers],
            "tools": [len(server.tools) for server in imported.servers],
            "reached by": [reached_by(server) for server in imported.servers],
        }
    )
    st.dataframe(frame, hide_index=True, height=table_height(min(len(frame), SERVERS_SHOWN)))
    if imported.notes:
        with st.expander(counted(len(imported.notes), "remark")):
            st.text("\n".join(remarks(imported)[:500]))


def _import(app: App, read: Read, suggestion: str) -> None:
    imported = read.reading.imported
    if imported is None:
        return
    try:
        name = chosen_name(app, suggestion)
        report = store_import(app, imported, name, source_of(read.documents))
    except WayfareError as error:
        st.session_state[PROBLEM] = str(error)
        return
    state.close_dialog()
    state.go_to(name)
    found = counted(report.lint_errors, "error") if report.lint_errors else "no errors"
    sentence = f"Imported as {name}. {summary(imported)} Lint found {found}."
    state.say(sentence, remarks(imported), findings=report.lint_errors > 0)
