"""The Catalog page: a header with actions, and one view below it."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.statistics import Statistics
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS
from dashboard.pages.catalog import state
from dashboard.pages.catalog.body import servers_body, tools_body
from dashboard.pages.catalog.calibration import calibration_body
from dashboard.pages.catalog.connection_job import job_panel
from dashboard.pages.catalog.connections import connection_dialog, connections_panel
from dashboard.pages.catalog.equal_sets import equal_sets_body
from dashboard.pages.catalog.findable import findable_body
from dashboard.pages.catalog.imports import import_dialog
from dashboard.pages.catalog.lint import complete, lint_body
from dashboard.pages.catalog.servers import add_button, file_panel, server_dialog
from dashboard.pages.catalog.testbed import multiply_dialog, testbed_dialog
from dashboard.session import current_app, first_catalog, only
from dashboard.ui.catalog_frames import Counts, counts
from dashboard.ui.first_look import first_look
from dashboard.ui.table import pick
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import UrlState


def catalog_choice(app: App, wanted: str, first: str) -> str:
    """Draw the choice of a catalog: the wanted one, or the first if it does not exist."""
    names = [info.name for info in app.catalogs.infos()]
    names += [name for name in dict.fromkeys((first, wanted)) if name not in names and known_catalog(app, name)]
    if st.session_state.get(state.CATALOG) not in names:
        st.session_state[state.CATALOG] = next(name for name in (wanted, first, *names) if name in names)
    return st.selectbox("Catalog", names, key=state.CATALOG, width=250)


def known_catalog(app: App, name: str) -> bool:
    """Tells whether a catalog of this name exists."""
    try:
        return bool(name) and app.catalogs.catalog(name).name == name
    except WayfareError:
        return False


def view_choice(view: str) -> str:
    """Draw the choice of a view, and return it."""
    if st.session_state.get(state.VIEW) not in state.VIEWS:
        st.session_state[state.VIEW] = view if view in state.VIEWS else state.SERVERS
    return (
        st.segmented_control("Show", state.VIEWS, key=state.VIEW, required=True, label_visibility="collapsed") or view
    )


def search_box(query: str) -> str:
    """Draw the search box, and return its text."""
    st.session_state.setdefault(state.QUERY, query)
    return st.text_input(
        "Search", key=state.QUERY, placeholder="Search names and descriptions", icon=":material/search:",
        label_visibility="collapsed", width=240,
    )  # fmt: skip


def server_filter(catalog: Catalog, chosen: str) -> str:
    """Draw the choice of a server, and return its name, or "" for all."""
    known = st.session_state.get(state.SERVER, "")
    if known is None:  # cleared, or words are searched for
        st.session_state[state.SERVER] = state.ALL_SERVERS
    elif known != state.ALL_SERVERS and known not in catalog.server_row:
        st.session_state[state.SERVER] = chosen if chosen in catalog.server_row else state.ALL_SERVERS
    picked = pick(
        "Server", catalog.server_row.keys(), key=state.SERVER, first=[state.ALL_SERVERS], label_visibility="collapsed",
        width=210,
    )  # fmt: skip
    return "" if picked in {None, state.ALL_SERVERS} else picked or ""


def counts_row(counts: Counts) -> None:
    """Draw four counts of the catalog."""
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
    """Draw the buttons: import, connect, remove."""
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


def testbed_button() -> None:
    """The button that opens the dialog for a testbed."""
    st.button(
        "Testbed…", icon=":material/playlist_add_check:", on_click=state.open_dialog, args=("testbed",),
        **only("administer", help="Draw a catalog of servers by words, with tasks."),
    )  # fmt: skip


def notice() -> None:
    """Show the result of the last action until it is dismissed."""
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


def encoder_notes(app: App) -> None:
    """Warn about shipped parts that could not be used."""
    for note in app.notes:
        st.warning(escaped(note, 600), icon=":material/build:")


def _remove(app: App, name: str) -> None:
    with state.errors_shown():
        app.catalog_editor.remove(name)
        state.go_to(SAMPLE)
        state.say(f"The catalog {name} was removed.")


Texts = dict[str, str]


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, url = current_app(), UrlState("catalog")
    linked = state.after_move(url.begin())
    notice()
    encoder_notes(app)
    job_panel(app)
    shown = _page(app, linked)
    url.end(shown)
    if state.dialog_open("import"):
        import_dialog(app)
    elif state.dialog_open("connect"):
        connection_dialog(app)
    elif state.dialog_open("multiply"):
        multiply_dialog(app)
    elif state.dialog_open("server"):
        server_dialog(app, shown["catalog"])
    elif state.dialog_open("testbed"):
        testbed_dialog(app, shown["catalog"])
    if shown.get("view") == state.LINT.lower():
        complete(app, shown["catalog"])


def _page(app: App, linked: Texts) -> Texts:
    wanted = linked.get("catalog") or first_catalog()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = catalog_choice(app, wanted, first_catalog())
        try:
            catalog, statistics = app.catalogs.catalog(name), app.catalogs.statistics(name)
        except WayfareError as error:
            actions(app, name, 0)
            st.error(escaped(str(error)), icon=":material/error:")
            return {"catalog": name}
        counts_row(counts(catalog, statistics))
        st.space("stretch")
        actions(app, name, len(catalog.servers))
    if wanted != name and not known_catalog(app, wanted):
        st.warning(f"There is no catalog {escaped(wanted)}; {escaped(name)} is shown. Import it, or choose another.")
    file_panel(app, name)
    if st.session_state.get(state.VIEW, linked.get("view", "").capitalize()) != state.FINDABLE:
        first_look(app, name, "catalog")
    return {"catalog": name, **_body(app, catalog, statistics, linked)}


def _body(app: App, catalog: Catalog, statistics: Statistics, linked: Texts) -> Texts:
    query, server, tool = (linked.get(name, "") for name in ("q", "server", "tool"))
    if server and server not in catalog.server_row and linked.get("catalog") == catalog.name:
        st.info(f"There is no server {escaped(server)} in this catalog.", icon=":material/search_off:")
    with st.container(horizontal=True, vertical_alignment="center"):
        view = view_choice(linked.get("view", state.TOOLS if tool else state.SERVERS).capitalize())
        if view != state.CONNECTIONS:
            query = search_box(query)
        if view == state.TOOLS:  # a link to a tool shows it among the tools of its server
            server = server_filter(catalog, server or tool.partition("::")[0])
        st.space("stretch")
        add_button(catalog.name)
        testbed_button()
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
    elif view == state.FINDABLE:
        findable_body(app, catalog, query)
        return {"view": "findable", "q": query}
    elif view == state.TOOLS:
        tool = tools_body(app, catalog, statistics, query, server=server, chosen=tool)
    else:
        server, tool = servers_body(app, catalog, statistics, query, server), ""
    return {"view": "" if view == state.SERVERS else view.lower(), "server": server, "tool": tool, "q": query}
