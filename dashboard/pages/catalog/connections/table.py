"""The sessions of this process, with the last lines that a chosen server wrote to its error output."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import ConnectionState
from dashboard import theme
from dashboard.pages.catalog import state
from dashboard.ui.choice_table import choice_table, table_key
from dashboard.ui.text import escaped

WORDS = {"ready": "● ready", "connecting": "◌ connecting", "idle": "○ idle", "failed": "✗ failed"}
COLOURS = {"ready": theme.ACCEPTED, "connecting": theme.TIME, "idle": theme.MUTED, "failed": theme.REJECTED}
COLUMNS = {
    "server": st.column_config.TextColumn("server", pinned=True, width=170),
    "catalog": st.column_config.TextColumn(
        "catalog", width=110, help="Each catalog's servers have sessions and values of their own."
    ),
    "transport": st.column_config.TextColumn(
        "by", width=60, help="stdio: a command on this machine. http, sse: an address."
    ),
    "state": st.column_config.TextColumn(
        "state",
        width=110,
        help="Ready: a session is open. Idle: none is open, the next call opens one. Failed: the last try failed.",
    ),
    "since": st.column_config.DatetimeColumn(
        "since", format="distance", width=120, help="When the state last changed."
    ),
    "connect_s": st.column_config.NumberColumn(
        "connect", format="%.3g s", width=84, help="Seconds that opening the session took."
    ),
    "calls": st.column_config.NumberColumn(
        "calls", format="localized", width=62, help="Requests over its sessions, discovery included."
    ),
    "protocol": st.column_config.TextColumn("protocol", width=96, help="MCP protocol version that was agreed on."),
    "version": st.column_config.TextColumn("version", width=80, help="The server's own version."),
    "last_error": st.column_config.TextColumn(
        "last error", width=420, help="It stays after a recovery: the state says whether it is still true."
    ),
}


def connection_frame(states: Sequence[ConnectionState]) -> pd.DataFrame:
    """One row for each server that was connected to; `connect_s` in s, `since` in UTC."""
    return pd.DataFrame(
        {
            "server": [one.server for one in states],
            "catalog": [one.catalog for one in states],
            "transport": [one.transport for one in states],
            "state": [WORDS[one.state] for one in states],
            "since": pd.to_datetime([one.since for one in states], utc=True),
            "connect_s": pd.array([one.connect_s for one in states], dtype="Float64"),
            "calls": [one.calls for one in states],
            "protocol": [one.protocol_version for one in states],
            "version": [one.server_version for one in states],
            "last_error": [" ".join(one.last_error.split()) for one in states],
        }
    )


@st.fragment(run_every=2)
def connections_panel(app: App) -> None:
    """The table and the chosen server's error output, renewed every two seconds."""
    states = app.pool.states()
    if not states:
        st.info(
            "No server was connected to yet. A session opens with the first call of one of its tools, or here.",
            icon=":material/cable:",
        )
        if st.button("Connect a client configuration…", key="catalog.connect.first", icon=":material/cable:"):
            state.open_dialog("connect")
            st.rerun()
        return
    st.caption(
        "All sessions of this process, over all catalogs; renewed every two seconds. Choose a row for its error output."
    )
    frame = connection_frame(states)
    row = choice_table(
        frame.style.map(_colour, subset=["state"]),
        COLUMNS,
        labels=list(range(len(frame))),
        key=table_key("connections"),
        chosen=None,
        about="Connections",
    )
    if row is not None:
        _error_output(states[row])


def _error_output(chosen: ConnectionState) -> None:
    process = "" if chosen.pid is None else f" · process {chosen.pid}"
    st.markdown(f"**{escaped(chosen.server)}** of {escaped(chosen.catalog)} · {WORDS[chosen.state]}{process}")
    if chosen.last_error:
        st.text(f"Last error: {chosen.last_error[:2000]}")
    if chosen.stderr_lines:
        st.caption("The last lines of its error output; known secrets are masked.")
        st.code("\n".join(chosen.stderr_lines), language=None, wrap_lines=True)
    else:
        st.caption("It wrote nothing to its error output.")


def _colour(word: str) -> str:
    state_name = next(name for name, text in WORDS.items() if text == word)
    return f"color: {COLOURS[state_name]}; font-weight: 600"
