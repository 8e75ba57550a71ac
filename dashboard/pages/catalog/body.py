"""The tables of servers and tools of a catalog."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.column_config import NumberColumn, TextColumn

from core.app import App
from core.domain.catalog import Catalog, Imported
from core.domain.statistics import Statistics
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.detail import server_detail, tool_detail
from dashboard.pages.catalog.imports import counted
from dashboard.ui.catalog_frames import matching, server_frame, server_text, tool_frame, tool_text
from dashboard.ui.choice_table import choice_table, filtered, table_key
from dashboard.ui.query_form import show_preparing

M_DOLLAR = r"1 m\$ is a thousandth of a US dollar."
SOURCES = (
    "The source of the value. Declared: by the catalog. Prior: an assumption without a declared value. "
    "Edited: set here by hand. Measured: from real calls."
)


def _source() -> Any:
    return TextColumn("from", help=SOURCES, width=78)


def _price(label: str, text: str) -> Any:
    return NumberColumn(label, help=f"{text} {M_DOLLAR}", format="%.4g m$", width=84)


def _time(label: str, text: str) -> Any:
    return NumberColumn(label, help=text, format="%.3g s", width=72)


def _share(label: str, text: str) -> Any:
    return NumberColumn(label, help=text, format="%.4g %%", width=74)


def _calls(text: str) -> Any:
    return NumberColumn("calls", help=text, format="localized", width=62)


SERVER_COLUMNS: dict[str, Any] = {
    "server": TextColumn("server", pinned=True, width=140),
    "category": TextColumn("category", width=92),
    "tools": NumberColumn("tools", help="Tools that the server offers.", format="localized", width=50),
    "ask_musd": _price(
        "ask", "The ask price of one call. Empty: none is declared, and no tool of the server has a price."
    ),
    "ask_source": TextColumn("from", help=SOURCES + " Without a declared ask, it is the median price of the tools.", width=100),
    "connect_s": _time("connect", "Seconds to open a session with the server."),
    "connect_source": _source(),
    "call_s": _time("call", "Seconds that one call takes, over all tools of the server."),
    "call_source": _source(),
    "success_percent": _share("success", "Share of the calls that succeed, in percent."),
    "success_source": _source(),
    "variance": NumberColumn(
        "variance", help="Variance of the success rate. A high value means an erratic server.", format="%.3g", width=70
    ),
    "failure_percent": _share(
        "fails late", "Post-accept failure: share of accepted calls without an answer, in percent."
    ),
    "failure_source": _source(),
    "calls": _calls("Real calls in the statistics."),
    "reached_by": TextColumn(
        "reached by",
        help="stdio: a command on this machine. http, sse: an address. Virtual: real MCP, simulated results. "
        "No command: it can be ranked; its calls are virtual or simulated.",
        width=88,
    ),
}

TOOL_COLUMNS: dict[str, Any] = {
    "server": TextColumn("server", width=140),
    "tool": TextColumn("tool", pinned=True, width=190),
    "description": TextColumn("description", help="The beginning of the description. Select a row for all of it.", width=270),
    "price_musd": _price("price", "Price of one call. Empty: no declared price; the call may still cost money."),
    "price_source": _source(),
    "tier": TextColumn("tier", help="Price tier in the catalog.", width=80),
    "latency_s": _time("latency", "Seconds that one call of the tool takes."),
    "latency_source": _source(),
    "success_percent": _share("success", "Share of the tool's calls that succeed, in percent."),
    "success_source": _source(),
    "calls": _calls("Real calls of this tool in the statistics."),
    "hints": TextColumn("hints", help="The server's hints about the tool, unchecked.", width=150),
    "tokens": NumberColumn(
        "tokens",
        help="cl100k_base tokens of the tool's definition. Empty until the catalog is indexed.",
        format="localized",
        width=68,
    ),
}


def servers_body(app: App, catalog: Catalog, statistics: Statistics, query: str, chosen: str) -> str:
    """Draw the servers that match the query. Returns the name of the chosen server, or ""."""
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
    """Draw the tools that match the query, of one server or of all. Returns the id of the chosen tool, or ""."""
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
    """Show the number of matches. Tells whether there are any."""
    if not shown:
        _nothing(f"None of {counted(total, thing)} matches the search.")
        return False
    words = counted(total, thing) if shown == total else f"{shown:,} of {counted(total, thing)}"
    st.caption(f"{words}. Choose a row for its details and its price; click a heading to sort.")
    return True


def _no_tools(catalog: Catalog) -> None:
    st.info("No server of this catalog lists a tool. Connected servers list their tools.")
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
        st.caption("Token counts come with the index. The first decision on this catalog makes it.")
        if st.button("Index it now", key="catalog.index", icon=":material/database:"):
            _index(app, catalog.name)


def _index(app: App, name: str) -> None:
    try:
        show_preparing(app, name)
    except WayfareError as error:
        state.say(str(error), done=False)
    st.rerun()
