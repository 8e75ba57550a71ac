"""The dialog that connects servers: what will be run, the values it needs, and consent before anything starts."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Imported
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.connections.job import running, start
from dashboard.pages.catalog.connections.values import Wanted, value_fields, values_given, wanted_values
from dashboard.pages.catalog.connections.words import command_line, connection_lines
from dashboard.pages.catalog.imports.documents import check_name, counted, name_for, source_of
from dashboard.pages.catalog.imports.name import chosen_name, name_field
from dashboard.pages.catalog.imports.source import problems, source_widgets
from dashboard.ui.catalog_frames import reached_by
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

PROBLEM = "catalog:import.problem"
EXAMPLE = (
    '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}}}'
)


@st.dialog("Connect a client configuration", width="large", icon=":material/cable:", on_dismiss=state.close_dialog)
def connection_dialog(app: App) -> None:
    """Draw it; it closes itself once discovery has begun."""
    if not state.dialog_open("connect"):
        st.rerun()
    st.caption(
        "Takes the configuration of Claude Desktop, Cursor, VS Code, mcpproxy or Codex, connects to its servers and "
        "asks each for its tools. Your file is only read."
    )
    known = state.known_servers() or _from_documents(app)
    if known is not None:
        _plan(app, known)


def _from_documents(app: App) -> state.Known | None:
    read = source_widgets(app, EXAMPLE)
    if read is None:
        return None
    if read.reading.imported is None:
        problems(read.reading)
        return None
    return state.Known(read.reading.imported, name_for(read.documents, app), source_of(read.documents))


def _plan(app: App, known: state.Known) -> None:
    imported = known.imported
    reachable = [server for server in imported.servers if server.connection is not None]
    if not reachable:
        st.warning(
            "None of these servers has a command or an address, so none can be asked.", icon=":material/link_off:"
        )
        st.button("Import it as it is…", on_click=state.open_dialog, args=("import",), icon=":material/upload_file:")
        return
    table = st.container()
    name, agreed = name_field(app, known.name)
    wanted = wanted_values(app, name, imported)
    with table:
        _servers(imported, wanted)
    value_fields(wanted)
    st.warning(_warning(imported), icon=":material/warning:")
    st.button(
        "Connect and discover",
        type="primary",
        icon=":material/cable:",
        key="catalog.import.discover",
        disabled=not agreed,
        on_click=_connect,
        args=(app, imported, known.name, known.source, wanted),
    )
    if sentence := st.session_state.get(PROBLEM, ""):
        st.error(escaped(sentence), icon=":material/error:")


def server_plan(imported: Imported, wanted: tuple[Wanted, ...]) -> pd.DataFrame:
    """What will be started or asked, server by server, and which values it still needs."""
    missing = {
        name: [item.name for item in wanted if name in item.lacking] for name in (s.name for s in imported.servers)
    }
    return pd.DataFrame(
        {
            "server": [server.name for server in imported.servers],
            "by": [reached_by(server) for server in imported.servers],
            "command or address": [command_line(s.connection) if s.connection else "" for s in imported.servers],
            "needs": [", ".join(missing[server.name]) for server in imported.servers],
        }
    )


def _servers(imported: Imported, wanted: tuple[Wanted, ...]) -> None:
    frame = server_plan(imported, wanted)
    st.dataframe(
        frame,
        hide_index=True,
        height=table_height(min(len(frame), 6)),
        column_config={
            "server": st.column_config.TextColumn(width=150),
            "by": st.column_config.TextColumn(width=60),
            "command or address": st.column_config.TextColumn(width=560),
        },
    )
    with st.expander("In full, with folders, variables and headers"):
        whole = (f"{s.name}\n{connection_lines(s.connection)}" for s in imported.servers if s.connection is not None)
        st.code("\n\n".join(whole), language=None, wrap_lines=True)


def _warning(imported: Imported) -> str:
    kinds = [server.connection.transport for server in imported.servers if server.connection is not None]
    local, remote = kinds.count("stdio"), len(kinds) - kinds.count("stdio")
    warnings: list[str] = []
    if local:
        warnings.append(
            f"**{counted(local, 'command')} will be run on this machine** with exactly these arguments and the rights "
            "of the user who started Wayfare. Connect only what you trust."
        )
    if remote:
        warnings.append(f"{remote:,} address{'' if remote == 1 else 'es'} will be asked over the network.")
    return " ".join(warnings)


def _connect(app: App, imported: Imported, suggestion: str, source: str, wanted: tuple[Wanted, ...]) -> None:
    try:
        name = chosen_name(app, suggestion)
        check_name(name)
        if running():
            raise WayfareError("Another discovery is still under way; wait until it has reported.")
        if name in SHIPPED_CATALOGS:
            raise WayfareError(f"The name {name} belongs to a shipped catalog; choose another.")
    except WayfareError as error:
        st.session_state[PROBLEM] = str(error)
        return
    app.catalog_editor.keep_secrets(name, imported.servers, values_given(wanted))
    start(app, imported, name, source)
    state.close_dialog()
