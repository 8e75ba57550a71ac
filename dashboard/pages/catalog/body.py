"""The two tables of the Catalog page with their filters, and the chosen row in full."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.app import App
from core.domain.catalog import Catalog, Imported
from core.domain.statistics import Statistics
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.columns import SERVER_COLUMNS, TOOL_COLUMNS
from dashboard.pages.catalog.detail import server_detail, tool_detail
from dashboard.pages.catalog.imports.documents import counted
from dashboard.ui.catalog_frames import matching, server_frame, server_text, tool_frame, tool_text
from dashboard.ui.choice_table import choice_table, filtered, table_key
from dashboard.ui.index_progress import show_preparing


def servers_body(app: App, catalog: Catalog, statistics: Statistics, query: str, chosen: str) -> str:
    """The servers that match the query; returns the chosen one's name, or nothing."""
    frame = filtered(server_frame(catalog, statistics), matching(map(server_text, catalog.servers), query))
    if not _found(len(frame), len(catalog.servers), "server"):
        return ""
    row = choice_table(
        frame,
        SERVER_COLUMNS,
        labels=frame.index.tolist(),
        key=table_key("servers", catalog.name, query),
        chosen=catalog.server_row.get(chosen),
        about=f"Servers of {catalog.name}",
    )
    if row is None:
        return ""
    server_detail(app, catalog, statistics, row)
    return catalog.servers[row].name


def tools_body(app: App, catalog: Catalog, statistics: Statistics, query: str, *, server: str, chosen: str) -> str:
    """The tools that match the query, of one server or of all; returns the chosen one as `server::tool`, or nothing."""
    if not catalog.tools:
        _no_tools(catalog)
        return ""
    tokens = _tokens(app, catalog)
    whole = tool_frame(catalog, statistics, tokens)
    mask = np.array(matching(map(tool_text, catalog.tools), query), dtype=bool)
    if server:
        mask &= (whole["server"] == server).to_numpy()
    frame = filtered(whole, mask.tolist())
    if not _found(len(frame), len(catalog.tools), "tool"):
        return ""
    row = choice_table(
        frame,
        TOOL_COLUMNS,
        labels=frame.index.tolist(),
        key=table_key("tools", catalog.name, query, server),
        chosen=catalog.tool_row.get(chosen),
        about=f"Tools of {catalog.name}",
    )
    if tokens is None:
        _offer_index(app, catalog)
    if row is None:
        return ""
    tool_detail(app, catalog, statistics, row)
    return catalog.tools[row].id


def _found(shown: int, total: int, thing: str) -> bool:
    """Say how many there are, and whether there are any."""
    if not shown:
        _nothing(f"None of {counted(total, thing)} matches the search.")
        return False
    words = counted(total, thing) if shown == total else f"{shown:,} of {counted(total, thing)}"
    st.caption(f"{words}. Choose a row to read all of it and to set its price; click a heading to sort.")
    return True


def _no_tools(catalog: Catalog) -> None:
    st.info("No server of this catalog lists a tool: the servers say themselves what they offer, once connected.")
    st.button(
        "Connect its servers…",
        key="catalog.tools.connect",
        icon=":material/cable:",
        on_click=state.open_connect,
        args=(Imported("catalog", catalog.servers), catalog.name, f"servers of {catalog.name}"),
    )


def _nothing(sentence: str) -> None:
    st.info(sentence, icon=":material/search_off:")
    st.button("Clear the search", key="catalog.clear", icon=":material/backspace:", on_click=state.clear_search)


def _tokens(app: App, catalog: Catalog) -> NDArray[np.int64] | None:
    prepared = app.catalogs.is_prepared(catalog.name)
    return app.catalogs.context(catalog.name).tool_tokens if prepared else None


def _offer_index(app: App, catalog: Catalog) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Token counts come with the index, which is made at the first decision on this catalog, or now.")
        if st.button("Index it now", key="catalog.index", icon=":material/database:"):
            _index(app, catalog.name)


def _index(app: App, name: str) -> None:
    try:
        show_preparing(app, name)
    except WayfareError as error:
        state.say(str(error), done=False)
    st.rerun()
