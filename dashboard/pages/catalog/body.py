"""The tables of servers and tools of a catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.app import App
from core.catalogs.catalog_editor import OWN
from core.domain.catalog import Catalog, Imported
from core.domain.statistics import Statistics
from dashboard.pages.catalog import state
from dashboard.pages.catalog.detail import server_detail, tool_detail
from dashboard.pages.catalog.servers import off_panel, waiting_sign_ins
from dashboard.ui.catalog_frames import matching, matching_rows, server_frame, server_text, tool_frame
from dashboard.ui.long_work import show_preparing
from dashboard.ui.table import Column, choice_table, page_of, part, table_key
from dashboard.ui.text import counted

M_DOLLAR = r"1 m\$ is a thousandth of a US dollar."
SOURCES = (
    "The source of the value. Declared: by the catalog. Prior: an assumption without a declared value. "
    "Edited: set here by hand. Measured: from real calls."
)


def _source(name: str) -> Column:
    return Column(name, "from", help=SOURCES)  # as wide as its longest word


def _price(name: str, label: str, text: str) -> Column:
    return Column(name, label, help=f"{text} {M_DOLLAR}", format="%.4g", unit="m$", width=84)


def _time(name: str, label: str, text: str) -> Column:
    return Column(name, label, help=text, format="%.3g", unit="s", width=72)


def _share(name: str, label: str, text: str) -> Column:
    return Column(name, label, help=text, format="%.4g", unit="%", width=74)


def _calls(name: str, text: str) -> Column:
    return Column(name, help=text, format="localized", width=62)


SERVER_COLUMNS = (
    Column("server", width=140, pinned=True),
    Column("category", width=92),
    Column("tools", width=50, help="Tools that the server offers.", format="localized"),
    _price(
        "ask_musd", "ask", "The ask price of one call. Empty: none is declared, and no tool of the server has a price."
    ),
    Column(
        "ask_source", "from", width=100, help=SOURCES + " Without a declared ask, it is the median price of the tools."
    ),
    _time("connect_s", "connect", "Seconds to open a session with the server."),
    _source("connect_source"),
    _time("call_s", "call", "Seconds that one call takes, over all tools of the server."),
    _source("call_source"),
    _share("success_percent", "success", "Share of the calls that succeed, in percent."),
    _source("success_source"),
    Column(
        "variance", width=70, help="Variance of the success rate. A high value means an erratic server.", format="%.3g"
    ),
    _share(
        "failure_percent", "fails late", "Post-accept failure: share of accepted calls without an answer, in percent."
    ),
    _source("failure_source"),
    _calls("calls", "Real calls in the statistics."),
    Column(
        "reached_by",
        "reached by",
        width=88,
        help="stdio: a command on this machine. http, sse: an address. Virtual: real MCP, simulated results. "
        "No command: it can be ranked; its calls are virtual or simulated.",
    ),
)

TOOL_COLUMNS = (
    Column("server", width=140),
    Column("tool", width=190, pinned=True),
    Column("description", width=270, help="The beginning of the description. Select a row for all of it."),
    _price("price_musd", "price", "Price of one call. Empty: no declared price; the call may still cost money."),
    _source("price_source"),
    Column("tier", width=80, help="Price tier in the catalog."),
    _time("latency_s", "latency", "Seconds that one call of the tool takes."),
    _source("latency_source"),
    _share("success_percent", "success", "Share of the tool's calls that succeed, in percent."),
    _source("success_source"),
    _calls("calls", "Real calls of this tool in the statistics."),
    Column("hints", width=150, help="The server's hints about the tool, unchecked."),
    Column(
        "tokens",
        width=68,
        help="cl100k_base tokens of the tool's definition. Empty until the catalog is indexed.",
        format="localized",
    ),
)


NONE_ON = "No server of this catalog is switched on."


def servers_body(app: App, catalog: Catalog, statistics: Statistics, query: str, chosen: str) -> str:
    """Draw the servers that match the query. Returns the name of the chosen server, or ""."""
    off_panel(app, catalog)
    waiting_sign_ins(app, catalog.name)
    if not catalog.servers:
        st.info(NONE_ON)
        return ""
    found = np.arange(len(catalog.servers))
    if query.strip():
        found = found[matching(map(server_text, catalog.servers), query)]
    if not _found(len(found), len(catalog.servers), "server"):
        return ""
    place = catalog.server_row.get(chosen)
    shown = page_of(found, f"catalog.servers.{catalog.name}", _server_orders(catalog, statistics), chosen=place)
    frame = server_frame(catalog, statistics, shown)
    row = choice_table(
        frame, SERVER_COLUMNS, labels=frame.index.tolist(), key=table_key("servers", catalog.name, query, part(found, shown)),
        chosen=place, about=f"Servers of {catalog.name}",
    )  # fmt: skip
    if row is None:
        return ""
    server_detail(app, catalog, statistics, row)
    return catalog.servers[row].name


def tools_body(app: App, catalog: Catalog, statistics: Statistics, query: str, *, server: str, chosen: str) -> str:
    """Draw the tools that match the query, of one server or of all. Returns the id of the chosen tool, or ""."""
    if not catalog.tools:
        no_tools(catalog)
        return ""
    tokens = _tokens(app, catalog)
    found = matching_rows(catalog, query, server)
    if not _found(len(found), len(catalog.tools), "tool"):
        return ""
    place = catalog.tool_row.get(chosen)
    shown = page_of(found, f"catalog.tools.{catalog.name}", _tool_orders(catalog, statistics), chosen=place)
    frame = tool_frame(catalog, statistics, tokens, shown)
    row = choice_table(
        frame, TOOL_COLUMNS, labels=frame.index.tolist(), key=table_key("tools", catalog.name, query, server, part(found, shown)),
        chosen=place, about=f"Tools of {catalog.name}",
    )  # fmt: skip
    if tokens is None:
        _offer_index(app, catalog)
    if row is None:
        return ""
    tool_detail(app, catalog, statistics, row)
    return catalog.tools[row].id


def _server_orders(catalog: Catalog, statistics: Statistics) -> dict[str, Callable[[], Any]]:
    known = statistics.servers
    return {
        "server, A to Z": lambda: [server.name.lower() for server in catalog.servers],
        "tools, most first": lambda: [-len(server.tools) for server in catalog.servers],
        "ask, lowest first": lambda: known.ask_usd,
        "call, fastest first": lambda: known.call_s,
        "success, highest first": lambda: -known.success,
        "calls, most first": lambda: -known.calls,
    }


def _tool_orders(catalog: Catalog, statistics: Statistics) -> dict[str, Callable[[], Any]]:
    known = statistics.tools
    return {
        "tool, A to Z": lambda: [tool.name.lower() for tool in catalog.tools],
        "price, lowest first": lambda: known.price_usd,
        "price, highest first": lambda: -known.price_usd,
        "latency, fastest first": lambda: known.latency_s,
        "success, highest first": lambda: -known.success,
        "calls, most first": lambda: -known.calls,
    }


def _found(shown: int, total: int, thing: str) -> bool:
    """Show the number of matches. Tells whether there are any."""
    if not shown:
        _nothing(f"None of {counted(total, thing)} matches the search.")
        return False
    words = counted(total, thing) if shown == total else f"{shown:,} of {counted(total, thing)}"
    st.caption(f"{words}. Choose a row for its details and its price; click a heading to sort.")
    return True


def no_tools(catalog: Catalog) -> None:
    """Say that a catalog lists no tool, with a button that asks its servers, if one is switched on."""
    if not catalog.servers:
        st.info(NONE_ON)
        return
    st.info("No server of this catalog lists a tool. Connected servers list their tools.")
    st.button(
        "Connect its servers…", key="catalog.tools.connect", icon=":material/cable:", on_click=state.open_connect,
        args=(Imported(OWN, catalog.servers, off=catalog.off), catalog.name, f"servers of {catalog.name}"),
    )  # fmt: skip


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
    with state.errors_shown():
        show_preparing(app, name)
    st.rerun()
