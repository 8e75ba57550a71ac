"""The Catalog page: servers and tools with their figures and sources, what lint finds, imports, and connections."""

from __future__ import annotations

import streamlit as st

from core.console import Console
from core.domain.catalog import Catalog
from core.domain.statistics import Statistics
from core.errors import WayfareError
from dashboard.session import console, first_catalog
from dashboard.widgets import catalog_header as header
from dashboard.widgets import catalog_state as state
from dashboard.widgets.catalog_body import servers_body, tools_body
from dashboard.widgets.catalog_frames import counts
from dashboard.widgets.connection_dialog import connection_dialog
from dashboard.widgets.connection_job import job_panel
from dashboard.widgets.connection_table import connections_panel
from dashboard.widgets.import_dialog import import_dialog
from dashboard.widgets.lint_body import complete, lint_body
from dashboard.widgets.multiply_dialog import multiply_dialog
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState

Texts = dict[str, str]


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    opened, url = console(), UrlState("catalog")
    kept = state.after_move(url.begin())
    header.notice()
    job_panel(opened)
    shown = _page(opened, kept)
    url.end(shown)
    if state.dialog_open("import"):
        import_dialog(opened)
    elif state.dialog_open("connect"):
        connection_dialog(opened)
    elif state.dialog_open("multiply"):
        multiply_dialog(opened)
    if shown.get("view") == state.LINT.lower():
        complete(opened, shown["catalog"])


def _page(opened: Console, kept: Texts) -> Texts:
    wanted = kept.get("catalog") or first_catalog()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = header.catalog_choice(opened, wanted, first_catalog())
        try:
            catalog, statistics = opened.library.catalog(name), opened.statistics(name)
        except WayfareError as error:
            header.actions(opened, name, 0)
            st.error(escaped(str(error)), icon=":material/error:")
            return {"catalog": name}
        header.counts_row(counts(catalog, statistics))
        st.space("stretch")
        header.actions(opened, name, len(catalog.servers))
    if wanted != name and not header.known_catalog(opened, wanted):
        st.warning(f"There is no catalog {escaped(wanted)}; {escaped(name)} is shown. Import it, or choose another.")
    return {"catalog": name, **_body(opened, catalog, statistics, kept)}


def _body(opened: Console, catalog: Catalog, statistics: Statistics, kept: Texts) -> Texts:
    query, server, tool = (kept.get(name, "") for name in ("q", "server", "tool"))
    if server and server not in catalog.server_row and kept.get("catalog") == catalog.name:
        st.info(f"There is no server {escaped(server)} in this catalog.", icon=":material/search_off:")
    with st.container(horizontal=True, vertical_alignment="center"):
        view = header.view_choice(kept.get("view", state.TOOLS if tool else state.SERVERS).capitalize())
        if view != state.CONNECTIONS:
            query = header.search_box(query)
        if view == state.TOOLS:  # a link to a tool shows it among the tools of its server
            server = header.server_filter(catalog, server or tool.partition("::")[0])
    if view == state.LINT:
        return {"view": "lint", "q": query, **lint_body(opened, catalog, query, kept)}
    if view == state.CONNECTIONS:
        connections_panel(opened)
    elif view == state.TOOLS:
        tool = tools_body(opened, catalog, statistics, query, server=server, chosen=tool)
    else:
        server, tool = servers_body(opened, catalog, statistics, query, server), ""
    return {"view": "" if view == state.SERVERS else view.lower(), "server": server, "tool": tool, "q": query}
