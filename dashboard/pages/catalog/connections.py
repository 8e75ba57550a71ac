"""Connections: the table of servers that can be connected, and the dialog that connects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import ConnectionState, Imported
from core.importers.shipped_catalogs import check_name
from dashboard import theme
from dashboard.pages.catalog import state
from dashboard.pages.catalog.connection_job import (
    Wanted,
    check_idle,
    command_line,
    connection_lines,
    start,
    value_fields,
    values_given,
    wanted_values,
)
from dashboard.pages.catalog.imports import (
    PROBLEM,
    chosen_name,
    name_field,
    name_for,
    problems,
    source_of,
    source_widgets,
)
from dashboard.session import only
from dashboard.ui.catalog_frames import reached_by
from dashboard.ui.table import Column, choice_table, frame_of, table, table_key
from dashboard.ui.text import counted, error_kept, escaped, kept_error

EXAMPLE = (
    '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}}}'
)


@state.dialog("connect", "Connect a client configuration", "cable")
def connection_dialog(app: App, _shown: str) -> None:
    st.caption(
        "Takes the configuration of Claude Desktop, Cursor, VS Code, mcpproxy or Codex, connects to its servers and "
        "asks each for its tools. Your file is only read."
    )
    prefill: state.Connecting | None = st.session_state[state.ABOUT] or _from_documents(app)
    if prefill is not None:
        _plan(app, prefill)


def _from_documents(app: App) -> state.Connecting | None:
    source = source_widgets(app, EXAMPLE)
    if source is None:
        return None
    if source.imported is None:
        problems(source)
        return None
    return state.Connecting(source.imported, name_for(source.documents, app), source_of(source.documents))


def _plan(app: App, prefill: state.Connecting) -> None:
    imported = prefill.imported
    reachable = [server for server in imported.servers if server.connection is not None]
    if not reachable:
        st.warning(
            "None of these servers has a command or an address, so they cannot be connected.",
            icon=":material/link_off:",
        )
        st.button(
            "Import without connecting…", on_click=state.open_dialog, args=("import",), icon=":material/upload_file:"
        )
        return
    table = st.container()
    name, agreed = name_field(app, prefill.name)
    values = wanted_values(app, name, imported)
    with table:
        _servers(imported, values)
    value_fields(app, values)
    st.warning(_warning(imported), icon=":material/warning:")
    st.button(
        "Connect and discover", type="primary", icon=":material/cable:", key="catalog.import.discover",
        **only("administer", disabled=not agreed), on_click=_connect, args=(app, prefill, values),
    )  # fmt: skip
    kept_error(PROBLEM)


def _servers(imported: Imported, wanted: tuple[Wanted, ...]) -> None:
    columns = (
        Column("server", width=150, cell=lambda server: server.name),
        Column("by", width=60, cell=reached_by),
        Column("command or address", width=560, cell=lambda server: command_line(server.connection) if server.connection else ""),
        Column("needs", cell=lambda server: ", ".join(item.name for item in wanted if server.name in item.lacking)),
    )  # fmt: skip
    table(frame_of(imported.servers, columns), columns, most=6)
    with st.expander("Full connections with folders, variables and headers"):
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
        warnings.append(f"{remote:,} address{'' if remote == 1 else 'es'} will be contacted over the network.")
    return " ".join(warnings)


def _connect(app: App, prefill: state.Connecting, values: tuple[Wanted, ...]) -> None:
    with error_kept(PROBLEM):
        name = chosen_name(app, prefill.name)
        check_name(name)
        check_idle()
        app.catalog_editor.keep_secrets(name, prefill.imported.servers, values_given(values))
        start(app, replace(prefill, name=name))
        state.close_dialog()


WORDS = {"ready": "● ready", "connecting": "◌ still starting", "idle": "○ idle", "failed": "✗ failed"}
COLOURS = dict(zip(WORDS.values(), (theme.ACCEPTED, theme.TIME, theme.MUTED, theme.REJECTED), strict=True))
COLUMNS = (
    Column("server", width=170, pinned=True),
    Column("catalog", width=110, help="The servers of each catalog have their own sessions and values."),
    Column(
        "owner", "client", width=120,
        help="The client that the session belongs to. All clients share a session with a server that keeps no state.",
    ),
    Column("transport", "by", width=60, help="stdio: a command on this machine. http, sse: an address."),
    Column(
        "state", width=110, cell=lambda session: WORDS[session.state],
        help="Ready: a session is open. Still starting: a first start may take a minute. Idle: no open session, the next call opens one. Failed: the last attempt failed.",
    ),
    Column("since", width=120, help="The time of the last change of state.", format="distance"),
    Column("connect_s", "connect", width=84, help="Seconds to open the session.", format="%.3g", unit="s"),
    Column("calls", width=62, help="Requests over its sessions, including discovery.", format="localized"),
    Column("protocol", width=96, help="The agreed version of MCP.", cell=lambda session: session.protocol_version),
    Column("version", width=80, help="The server's own version.", cell=lambda session: session.server_version),
    Column(
        "last_error", "last error", width=420, cell=lambda session: " ".join(session.last_error.split()),
        help="The error stays after a recovery. The state tells whether it still holds.",
    ),
)  # fmt: skip


def connection_frame(states: Sequence[ConnectionState]) -> pd.DataFrame:
    """Returns one row for each connected server; `connect_s` in s, `since` in UTC."""
    frame = frame_of(states, COLUMNS)
    return frame.assign(since=pd.to_datetime(frame["since"], utc=True), connect_s=frame["connect_s"].astype("Float64"))


@st.fragment(run_every=2)
def connections_panel(app: App) -> None:
    """Draw the table and the error output of the chosen server, every two seconds."""
    states = app.pool.states()
    if not states:
        st.info(
            "No server is connected yet. The first call of a tool opens a session, or connect here.",
            icon=":material/cable:",
        )
        if st.button("Connect a client configuration…", key="catalog.connect.first", **only("administer"), icon=":material/cable:"):  # fmt: skip
            state.open_dialog("connect")
            st.rerun()
        return
    st.caption(
        "All sessions of this process in all catalogs, updated every two seconds. Choose a row for its error output."
    )
    frame = connection_frame(states)
    row = choice_table(
        frame.style.map(lambda words: f"color: {COLOURS[words]}; font-weight: 600", subset=["state"]), COLUMNS, labels=list(range(len(frame))),
        key=table_key("connections"), chosen=None, about="Connections",
    )  # fmt: skip
    if row is not None:
        _error_output(states[row])


def _error_output(chosen: ConnectionState) -> None:
    process = "" if chosen.pid is None else f" · process {chosen.pid}"
    st.markdown(
        f"**{escaped(chosen.server)}** of {escaped(chosen.catalog)} · {WORDS[chosen.state]}{process} · {escaped(chosen.owner)}"
    )
    if chosen.last_error:
        st.text(f"Last error: {chosen.last_error[:2000]}")
    if chosen.stderr_lines:
        st.caption("The last lines of the error output. Known secrets are masked.")
        st.code("\n".join(chosen.stderr_lines), language=None, wrap_lines=True)
    else:
        st.caption("The error output is empty.")
