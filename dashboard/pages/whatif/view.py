"""The What if page: the query and knobs of Route in the URL, and one of five views of what would be otherwise."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.app import App
from core.routers.ehrr import EhrrParameters
from core.routers.tool_attention import STATE
from core.services.decide.whatif import Asked
from core.shared.errors import WayfareError
from dashboard.pages.whatif.auction import auction_view
from dashboard.pages.whatif.curves import curves_view
from dashboard.pages.whatif.plane import plane_view
from dashboard.pages.whatif.tasks import tasks_view
from dashboard.pages.whatif.winners import winners_view
from dashboard.session import current_app, first_catalog
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.knobs import knob_panel, read_knobs, reset_and_history, start_knobs
from dashboard.ui.navigation import open_page
from dashboard.ui.preset_choice import preset_choice
from dashboard.ui.query_form import QueryForm, example_subtasks, query_row
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState
from dashboard.ui.whatif_layer import supposed

View = Callable[[App, UrlState, Asked, str], None]
VIEWS: dict[str, View] = {
    "Winners": winners_view,
    "Two knobs": plane_view,
    "Cost curves": curves_view,
    "Auction": auction_view,
    "Over tasks": tasks_view,
}
OF_EHRR = ("Auction", "Over tasks")
KEPT = ("x", "y", "tool", "server", "tasks", "bar")  # what views keep in the URL


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("whatif", asks=True, of_answer=("tool", "server"))
    linked = state.begin()
    query = query_row(app, state, linked, first_catalog())
    defaults, prefix = app.routing.parameters(query.router), f"whatif.knob.{query.router}"
    for problem in start_knobs(defaults, linked, prefix):
        st.warning(f"The link was not taken whole: {escaped(problem)}", icon=":material/link_off:")
    for name in KEPT:
        st.session_state.setdefault(state.key(name), linked.get(name, ""))
    with st.sidebar:
        reset_and_history(defaults, prefix)
        preset_choice(defaults, prefix)
        knob_panel(defaults, prefix, (), elsewhere={STATE})
    parameters = read_knobs(defaults, prefix)
    link = {**query.texts(first_catalog()), **{name: str(value) for name, value in parameters.changed().items()}}
    view = _choice(state, linked, {name: text for name, text in link.items() if text})
    state.end(
        {
            **link,
            "view": "" if view == "Winners" else view,
            **{name: st.session_state[state.key(name)] for name in KEPT},
        },
        question=link,
    )
    if not query.subtask:
        _empty_page(state, query)
        return
    try:
        show_preparing(app, query.catalog, decides=True)
        if view in OF_EHRR and not isinstance(parameters, EhrrParameters):
            st.info("This view is of EHRR, the router with an auction; choose it above.", icon=":material/alt_route:")
            return
        asked = Asked(query.subtask, parameters, query.catalog, query.router, query.hint, supposed(query.catalog))
        VIEWS[view](app, state, asked, prefix)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _choice(state: UrlState, linked: dict[str, str], link: dict[str, str]) -> str:
    """Which view, and the way back to Route with the same knobs."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        key = state.key("view")
        if st.session_state.get(key) not in VIEWS:
            st.session_state[key] = linked["view"] if linked.get("view") in VIEWS else "Winners"
        view = st.segmented_control("View", list(VIEWS), key=key, label_visibility="collapsed")
        if st.button("Route with these knobs", icon=":material/alt_route:", key="whatif:route"):
            open_page("route", **link)
    return view or "Winners"


def _empty_page(state: UrlState, query: QueryForm) -> None:
    st.markdown("#### What would have to be different?")
    st.markdown(
        "Type what is needed. You see at which value of each knob another tool wins, what would make a tool of your choice win, "
        "and who wins over two knobs at once: computed, not sampled."
    )
    example_subtasks(state, query.catalog)
