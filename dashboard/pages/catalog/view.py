"""The Catalog page: servers and tools with their statistics and sources, what lint finds, calibration, imports, connections."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.domain.statistics import Statistics
from core.shared.errors import WayfareError
from dashboard.pages.catalog import header, state
from dashboard.pages.catalog.body import servers_body, tools_body
from dashboard.pages.catalog.calibration.body import calibration_body
from dashboard.pages.catalog.connections.dialog import connection_dialog
from dashboard.pages.catalog.connections.job import job_panel
from dashboard.pages.catalog.connections.table import connections_panel
from dashboard.pages.catalog.equal_sets.body import equal_sets_body
from dashboard.pages.catalog.imports.dialog import import_dialog
from dashboard.pages.catalog.lint.body import complete, lint_body
from dashboard.pages.catalog.multiply import multiply_dialog
from dashboard.pages.catalog.testbed import testbed_dialog
from dashboard.session import current_app, first_catalog
from dashboard.ui.catalog_frames import counts
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

Texts = dict[str, str]


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, url = current_app(), UrlState("catalog")
    linked = state.after_move(url.begin())
    header.notice()
    header.encoder_notes(app)
    job_panel(app)
    shown = _page(app, linked)
    url.end(shown)
    if state.dialog_open("import"):
        import_dialog(app)
    elif state.dialog_open("connect"):
        connection_dialog(app)
    elif state.dialog_open("multiply"):
        multiply_dialog(app)
    elif state.dialog_open("testbed"):
        testbed_dialog(app, shown["catalog"])
    if shown.get("view") == state.LINT.lower():
        complete(app, shown["catalog"])


def _page(app: App, linked: Texts) -> Texts:
    wanted = linked.get("catalog") or first_catalog()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = header.catalog_choice(app, wanted, first_catalog())
        try:
            catalog, statistics = app.catalogs.catalog(name), app.catalogs.statistics(name)
        except WayfareError as error:
            header.actions(app, name, 0)
            st.error(escaped(str(error)), icon=":material/error:")
            return {"catalog": name}
        header.counts_row(counts(catalog, statistics))
        st.space("stretch")
        header.actions(app, name, len(catalog.servers))
    if wanted != name and not header.known_catalog(app, wanted):
        st.warning(f"There is no catalog {escaped(wanted)}; {escaped(name)} is shown. Import it, or choose another.")
    return {"catalog": name, **_body(app, catalog, statistics, linked)}


def _body(app: App, catalog: Catalog, statistics: Statistics, linked: Texts) -> Texts:
    query, server, tool = (linked.get(name, "") for name in ("q", "server", "tool"))
    if server and server not in catalog.server_row and linked.get("catalog") == catalog.name:
        st.info(f"There is no server {escaped(server)} in this catalog.", icon=":material/search_off:")
    with st.container(horizontal=True, vertical_alignment="center"):
        view = header.view_choice(linked.get("view", state.TOOLS if tool else state.SERVERS).capitalize())
        if view != state.CONNECTIONS:
            query = header.search_box(query)
        if view == state.TOOLS:  # a link to a tool shows it among the tools of its server
            server = header.server_filter(catalog, server or tool.partition("::")[0])
        st.space("stretch")
        header.testbed_button()
    if view == state.LINT:
        return {"view": "lint", "q": query, **lint_body(app, catalog, query, linked)}
    if view == state.CONNECTIONS:
        connections_panel(app)
    elif view == state.CALIBRATION:
        calibration_body(app, catalog, query)
        return {"view": "calibration", "q": query}
    elif view == state.EQUAL:
        equal_sets_body(app, catalog, query)
        return {"view": "equal", "q": query}
    elif view == state.TOOLS:
        tool = tools_body(app, catalog, statistics, query, server=server, chosen=tool)
    else:
        server, tool = servers_body(app, catalog, statistics, query, server), ""
    return {"view": "" if view == state.SERVERS else view.lower(), "server": server, "tool": tool, "q": query}
