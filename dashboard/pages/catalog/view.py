"""The Catalog page: a header with actions, and one view below it, such as the tables of servers and tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.app import App
from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.statistics import Statistics
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS
from dashboard.pages.catalog import state
from dashboard.pages.catalog.calibration import calibration_body
from dashboard.pages.catalog.connection_job import job_panel
from dashboard.pages.catalog.connections import connection_dialog, connections_panel
from dashboard.pages.catalog.detail import server_detail, tool_detail
from dashboard.pages.catalog.equal_sets import equal_sets_body
from dashboard.pages.catalog.findable import findable_body
from dashboard.pages.catalog.imports import import_dialog
from dashboard.pages.catalog.lint import complete, lint_body
from dashboard.pages.catalog.servers import add_button, file_panel, off_panel, server_dialog, waiting_sign_ins
from dashboard.pages.catalog.testbed import multiply_dialog, testbed_dialog
from dashboard.session import current_app, first_catalog, only
from dashboard.ui.catalog_frames import Counts, counts, matching, matching_rows, server_frame, server_text, tool_frame
from dashboard.ui.first_look import first_look
from dashboard.ui.long_work import show_preparing
from dashboard.ui.table import Column, choice_table, page_of, part, pick, table_key
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import UrlState, segments

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


def servers_body(app: App, catalog: Catalog, statistics: Statistics, query: str, chosen: str) -> str:
    """Draw the servers that match the query. Returns the name of the chosen server, or ""."""
    off_panel(app, catalog)
    waiting_sign_ins(app, catalog.name)
    if not catalog.servers:
        st.info(state.NONE_ON)
        return ""
    rows = np.arange(len(catalog.servers))
    if query.strip():
        rows = rows[matching(map(server_text, catalog.servers), query)]
    if not _found(len(rows), len(catalog.servers), "server"):
        return ""
    place = catalog.server_row.get(chosen)
    page_rows = page_of(rows, f"catalog.servers.{catalog.name}", _server_orders(catalog, statistics), chosen=place)
    frame = server_frame(catalog, statistics, page_rows)
    row = choice_table(
        frame, SERVER_COLUMNS, labels=frame.index.tolist(), key=table_key("servers", catalog.name, query, part(rows, page_rows)),
        chosen=place, about=f"Servers of {catalog.name}",
    )  # fmt: skip
    if row is None:
        return ""
    server_detail(app, catalog, statistics, row)
    return catalog.servers[row].name


def tools_body(app: App, catalog: Catalog, statistics: Statistics, query: str, *, server: str, chosen: str) -> str:
    """Draw the tools that match the query, of one server or of all. Returns the id of the chosen tool, or ""."""
    if not catalog.tools:
        state.no_tools(catalog)
        return ""
    tokens = _tokens(app, catalog)
    rows = matching_rows(catalog, query, server)
    if not _found(len(rows), len(catalog.tools), "tool"):
        return ""
    place = catalog.tool_row.get(chosen)
    page_rows = page_of(rows, f"catalog.tools.{catalog.name}", _tool_orders(catalog, statistics), chosen=place)
    frame = tool_frame(catalog, statistics, tokens, page_rows)
    row = choice_table(
        frame, TOOL_COLUMNS, labels=frame.index.tolist(), key=table_key("tools", catalog.name, query, server, part(rows, page_rows)),
        chosen=place, about=f"Tools of {catalog.name}",
    )  # fmt: skip
    if tokens is None:
        _offer_index(app, catalog)
    if row is None:
        return ""
    tool_detail(app, catalog, statistics, row)
    return catalog.tools[row].id


def _server_orders(catalog: Catalog, statistics: Statistics) -> dict[str, Callable[[], Any]]:
    figures = statistics.servers
    return {
        "server, A to Z": lambda: [server.name.lower() for server in catalog.servers],
        "tools, most first": lambda: [-len(server.tools) for server in catalog.servers],
        "ask, lowest first": lambda: figures.ask_usd,
        "call, fastest first": lambda: figures.call_s,
        "success, highest first": lambda: -figures.success,
        "calls, most first": lambda: -figures.calls,
    }


def _tool_orders(catalog: Catalog, statistics: Statistics) -> dict[str, Callable[[], Any]]:
    figures = statistics.tools
    return {
        "tool, A to Z": lambda: [tool.name.lower() for tool in catalog.tools],
        "price, lowest first": lambda: figures.price_usd,
        "price, highest first": lambda: -figures.price_usd,
        "latency, fastest first": lambda: figures.latency_s,
        "success, highest first": lambda: -figures.success,
        "calls, most first": lambda: -figures.calls,
    }


def _found(count: int, total: int, thing: str) -> bool:
    if not count:
        st.info(f"None of {counted(total, thing)} matches the search.", icon=":material/search_off:")
        st.button("Clear the search", key="catalog.clear", icon=":material/backspace:", on_click=state.clear_search)
        return False
    words = counted(total, thing) if count == total else f"{count:,} of {counted(total, thing)}"
    st.caption(f"{words}. Choose a row for its details and its price; click a heading to sort.")
    return True


def _tokens(app: App, catalog: Catalog) -> NDArray[np.int64] | None:
    prepared = app.catalogs.is_prepared(catalog.name)
    return app.catalogs.context(catalog.name).tool_tokens if prepared else None


def _offer_index(app: App, catalog: Catalog) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Token counts come with the index. The first decision on this catalog makes it.")
        if st.button("Index it now", key="catalog.index", icon=":material/database:"):
            with state.errors_shown():
                show_preparing(app, catalog.name)
            st.rerun()


def catalog_choice(app: App, wanted: str, first: str) -> str:
    """Draw the choice of a catalog. The wanted catalog is chosen, or the first if it does not exist."""
    names = [info.name for info in app.catalogs.infos()]
    names += [name for name in dict.fromkeys((first, wanted)) if name not in names and known_catalog(app, name)]
    if st.session_state.get(state.CATALOG) not in names:
        st.session_state[state.CATALOG] = next(name for name in (wanted, first, *names) if name in names)
    return st.selectbox("Catalog", names, key=state.CATALOG, width=250)


def known_catalog(app: App, name: str) -> bool:
    try:
        return bool(name) and app.catalogs.catalog(name).name == name
    except WayfareError:
        return False


def search_box(query: str) -> str:
    st.session_state.setdefault(state.QUERY, query)
    return st.text_input(
        "Search", key=state.QUERY, placeholder="Search names and descriptions", icon=":material/search:",
        label_visibility="collapsed", width=240,
    )  # fmt: skip


def server_filter(catalog: Catalog, chosen: str) -> str:
    """Draw the choice of a server, and return its name, or "" for all."""
    stored = st.session_state.get(state.SERVER, "")
    if stored is None:  # cleared, or words are searched for
        st.session_state[state.SERVER] = state.ALL_SERVERS
    elif stored != state.ALL_SERVERS and stored not in catalog.server_row:
        st.session_state[state.SERVER] = chosen if chosen in catalog.server_row else state.ALL_SERVERS
    choice = pick(
        "Server", catalog.server_row.keys(), key=state.SERVER, first=[state.ALL_SERVERS], label_visibility="collapsed",
        width=210,
    )  # fmt: skip
    return "" if choice in {None, state.ALL_SERVERS} else choice or ""


def counts_row(counts: Counts) -> None:
    metrics = (
        ("Servers", f"{counts.servers:,}", "Servers in this catalog."),
        ("Tools", f"{counts.tools:,}", "Tools over all its servers."),
        ("Unpriced tools", f"{counts.unpriced:,}", "Tools without a declared price. Their calls may still cost money."),
        (
            "Measured statistics",
            f"{counts.measured:,} of {counts.statistics:,}",
            "Times and success rates of servers and tools that come from real calls, out of all.",
        ),
    )
    for label, value, text in metrics:
        st.metric(label, value, help=text, width="content")


def actions(app: App, name: str, servers: int) -> None:
    st.button("Import…", icon=":material/upload_file:", on_click=state.open_dialog, args=("import",), type="primary", **only("administer"))  # fmt: skip
    st.button("Connect a client configuration…", icon=":material/cable:", on_click=state.open_dialog, args=("connect",), **only("administer"))  # fmt: skip
    shipped = name in SHIPPED_CATALOGS
    with st.popover(
        "Remove",
        icon=":material/delete:",
        disabled=shipped,
        help="This catalog is part of Wayfare and stays." if shipped else None,
    ):
        st.markdown(
            f"Remove **{escaped(name)}** with its {counted(servers, 'server')}? Recorded decisions and calls stay, "
            "and so do prices set by hand. They apply again when a catalog of this name is imported."
        )
        st.button("Yes, remove it", key="catalog.remove", **only("administer"), type="primary", icon=":material/delete:", on_click=_remove, args=(app, name))  # fmt: skip


def notice() -> None:
    message: state.Notice | None = st.session_state.get(state.NOTICE)
    if message is None:
        return
    with st.container(border=True):
        text, close = st.columns([12, 1], vertical_alignment="center")
        sign = ":green[:material/check_circle:]" if message.done else ":red[:material/error:]"
        text.markdown(f"{sign} {escaped(message.sentence, 600)}")
        close.button("OK", key="catalog.notice", on_click=lambda: st.session_state.pop(state.NOTICE, None))
        if message.findings:
            st.button("Show the findings", key="catalog.findings", icon=":material/rule:", on_click=state.show_findings)
        if message.remarks:
            with st.expander(f"{len(message.remarks):,} remark{'s' if len(message.remarks) != 1 else ''}"):
                st.text("\n".join(message.remarks))


def _remove(app: App, name: str) -> None:
    with state.errors_shown():
        app.catalog_editor.remove(name)
        state.go_to(SAMPLE)
        state.say(f"The catalog {name} was removed.")


Texts = dict[str, str]
BODIES = {state.CALIBRATION: calibration_body, state.EQUAL: equal_sets_body, state.FINDABLE: findable_body}
DIALOGS = {
    "import": import_dialog,
    "connect": connection_dialog,
    "multiply": multiply_dialog,
    "server": server_dialog,
    "testbed": testbed_dialog,
}


def page() -> None:
    app, url = current_app(), UrlState("catalog")
    linked = state.after_move(url.begin())
    notice()
    for note in app.notes:  # shipped parts that could not be used
        st.warning(escaped(note, 600), icon=":material/build:")
    job_panel(app)
    texts = _page(app, url, linked)
    url.end(texts)
    if (dialog := st.session_state.get(state.DIALOG)) is not None:
        DIALOGS[dialog](app, texts["catalog"])
    if texts.get("view") == state.LINT.lower():
        complete(app, texts["catalog"])


def _page(app: App, url: UrlState, linked: Texts) -> Texts:
    link_name = linked.get("catalog") or first_catalog()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = catalog_choice(app, link_name, first_catalog())
        try:
            catalog, statistics = app.catalogs.catalog(name), app.catalogs.statistics(name)
        except WayfareError as error:
            actions(app, name, 0)
            st.error(escaped(str(error)), icon=":material/error:")
            return {"catalog": name}
        counts_row(counts(catalog, statistics))
        st.space("stretch")
        actions(app, name, len(catalog.servers))
    if link_name != name and not known_catalog(app, link_name):
        st.warning(f"There is no catalog {escaped(link_name)}; {escaped(name)} is shown. Import it, or choose another.")
    file_panel(app, name)
    if st.session_state.get(state.VIEW, linked.get("view", "").capitalize()) != state.FINDABLE:
        first_look(app, name, "catalog")
    return {"catalog": name, **_body(app, url, catalog, statistics, linked)}


def _body(app: App, url: UrlState, catalog: Catalog, statistics: Statistics, linked: Texts) -> Texts:
    query, server, tool = (linked.get(name, "") for name in ("q", "server", "tool"))
    if server and server not in catalog.server_row and linked.get("catalog") == catalog.name:
        st.info(f"There is no server {escaped(server)} in this catalog.", icon=":material/search_off:")
    with st.container(horizontal=True, vertical_alignment="center"):
        link_view = linked.get("view", state.TOOLS if tool else state.SERVERS).capitalize()
        view = segments(url, {"view": link_view}, "view", "Show", state.VIEWS)
        if view != state.CONNECTIONS:
            query = search_box(query)
        if view == state.TOOLS:  # a link to a tool shows it among the tools of its server
            server = server_filter(catalog, server or tool.partition("::")[0])
        st.space("stretch")
        add_button(catalog.name)
        st.button(
            "Testbed…", icon=":material/playlist_add_check:", on_click=state.open_dialog, args=("testbed",),
            **only("administer", help="Draw a catalog of servers by words, with tasks."),
        )  # fmt: skip
    if view == state.LINT:
        return {"view": "lint", "q": query, **lint_body(app, catalog, query, linked)}
    if view in BODIES:
        BODIES[view](app, catalog, query)
        return {"view": view.lower(), "q": query}
    if view == state.CONNECTIONS:
        connections_panel(app)
    elif view == state.TOOLS:
        tool = tools_body(app, catalog, statistics, query, server=server, chosen=tool)
    else:
        server, tool = servers_body(app, catalog, statistics, query, server), ""
    return {"view": "" if view == state.SERVERS else view.lower(), "server": server, "tool": tool, "q": query}
