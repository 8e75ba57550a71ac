"""The row at the top of Route, Compare and Map: the sub-task, a server hint, the catalog and the router."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.importers.shipped_catalogs import starting_subtasks
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, url_may_be_behind

DEFAULT_ROUTER = "ehrr"


@dataclass(frozen=True, slots=True)
class QueryForm:
    """What the row was filled with."""

    subtask: str
    hint: str
    catalog: str
    router: str

    def texts(self, first_catalog: str) -> dict[str, str]:
        """What the URL carries; empty where it is the default."""
        return {
            "q": self.subtask,
            "hint": self.hint,
            "catalog": "" if self.catalog == first_catalog else self.catalog,
            "router": "" if self.router == DEFAULT_ROUTER else self.router,
        }


def query_row(
    app: App, state: UrlState, linked: Mapping[str, str], first_catalog: str, *, choose_router: bool = True
) -> QueryForm:
    """Draw the row and return its values; without a choice of the router where the page compares several."""
    grid = st.grid(2, min_column_width=400, gap="small", vertical_alignment="bottom")
    for name in ("q", "hint"):
        st.session_state.setdefault(state.key(name), linked.get(name, ""))
    subtask = grid.text_input(
        "What is needed?", key=state.key("q"), placeholder="Say it in a few words, such as: convert 300 miles to kilometres",
        icon=":material/search:", max_chars=20_000, on_change=url_may_be_behind,
    )  # fmt: skip
    row = grid.container(horizontal=True, vertical_alignment="bottom", gap="small")
    server_hint = row.text_input(
        "Server hint (optional)", key=state.key("hint"), placeholder="what kind of server",
        help="What kind of server is wanted; it is compared with the servers' texts only.", on_change=url_may_be_behind,
    )  # fmt: skip
    catalogs = [info.name for info in app.catalogs.infos()]
    _start(state.key("catalog"), catalogs, linked.get("catalog", first_catalog))
    catalog = row.selectbox("Catalog", catalogs, key=state.key("catalog"), width=150, on_change=url_may_be_behind)
    _warn_if_missing("catalog", catalog, catalogs, linked)
    router = DEFAULT_ROUTER
    if choose_router:
        routers = {router.id: router.title for router in app.routing.routers()}
        _start(state.key("router"), list(routers), linked.get("router", DEFAULT_ROUTER))
        router = row.selectbox(
            "Router", list(routers), key=state.key("router"), format_func=routers.__getitem__, width=140,
            on_change=url_may_be_behind,
        )  # fmt: skip
        _warn_if_missing("router", router, list(routers), linked)
    return QueryForm(subtask.strip(), server_hint.strip(), catalog, router)


def example_subtasks(state: UrlState, catalog: str, *, count: int = 6) -> None:
    """Buttons with sub-tasks of a catalog to start from; a press fills the field."""
    grid = st.grid(2, min_column_width=320, gap="xsmall")
    for number, subtask in enumerate(starting_subtasks(catalog, count)):
        grid.button(
            escaped(subtask, 120),
            key=f"{state.key('example')}:{number}",
            icon=":material/north_east:",
            on_click=fill,
            args=({state.key("q"): subtask},),
        )


def fill(values: Mapping[str, str]) -> None:
    """Set fields by their session keys; for `on_click`."""
    st.session_state.update(values)
    url_may_be_behind()


def _start(key: str, options: Sequence[str], value: str) -> None:
    """Where the widget has no usable value yet, begin with `value`."""
    if st.session_state.get(key) not in options:
        st.session_state[key] = value if value in options else options[0]


def _warn_if_missing(kind: str, shown: str, options: Sequence[str], linked: Mapping[str, str]) -> None:
    """Say it where a link names what is not there."""
    if (wanted := linked.get(kind, shown)) not in options:
        st.warning(
            f"There is no {kind} {escaped(wanted, 80)}; this is {escaped(shown, 80)}.", icon=":material/link_off:"
        )
