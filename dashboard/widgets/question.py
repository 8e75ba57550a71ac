"""What is asked: the sub-task, a server hint, the catalog and the router."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.console import Console
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState


@dataclass(frozen=True, slots=True)
class Question:
    """The texts of one question."""

    subtask: str
    hint: str
    catalog: str
    router: str

    def texts(self, first_catalog: str) -> dict[str, str]:
        """What the URL carries; defaults say nothing."""
        return {
            "q": self.subtask,
            "hint": self.hint,
            "catalog": "" if self.catalog == first_catalog else self.catalog,
            "router": "" if self.router == "ehrr" else self.router,
        }


def question(
    console: Console, state: UrlState, kept: Mapping[str, str], first_catalog: str, *, choose_router: bool = True
) -> Question:
    """The row at the top of the page; without a choice of the router where the page compares several."""
    grid = st.grid(2, min_column_width=400, gap="small", vertical_alignment="bottom")
    for name in ("q", "hint"):
        st.session_state.setdefault(state.key(name), kept.get(name, ""))
    subtask = grid.text_input(
        "What is needed?", key=state.key("q"), placeholder="Say it in a few words, such as: convert 300 miles to kilometres",
        icon=":material/search:", max_chars=20_000,
    )  # fmt: skip
    row = grid.container(horizontal=True, vertical_alignment="bottom", gap="small")
    server_hint = row.text_input(
        "Server hint (optional)", key=state.key("hint"), placeholder="what kind of server",
        help="What kind of server is wanted; it is compared with the servers' texts only.",
    )  # fmt: skip
    catalogs = [info.name for info in console.catalogs()]
    _remember(state.key("catalog"), catalogs, kept.get("catalog", first_catalog))
    catalog = row.selectbox("Catalog", catalogs, key=state.key("catalog"), width=150)
    _missing("catalog", catalog, catalogs, kept)
    router = "ehrr"
    if choose_router:
        routers = {router.id: router.title for router in console.routers()}
        _remember(state.key("router"), list(routers), kept.get("router", "ehrr"))
        router = row.selectbox(
            "Router", list(routers), key=state.key("router"), format_func=routers.__getitem__, width=140
        )
        _missing("router", router, list(routers), kept)
    return Question(subtask.strip(), server_hint.strip(), catalog, router)


def _missing(kind: str, shown: str, there: Sequence[str], kept: Mapping[str, str]) -> None:
    """Say it where a link asks for what is not there."""
    if (wanted := kept.get(kind, shown)) not in there:
        st.warning(
            f"There is no {kind} {escaped(wanted, 80)}; this is {escaped(shown, 80)}.", icon=":material/link_off:"
        )


def examples(console: Console, state: UrlState, catalog: str) -> None:
    """The empty page: what can be done here, and sub-tasks to start from."""
    st.markdown("#### Which tool should a sub-task go to?")
    st.markdown(
        "Type what is needed. Wayfare ranks the servers, holds the posted-price auction, weighs each tool's similarity "
        "against time, reliability and price, and shows every number. Then turn the knobs, or make the call."
    )
    shown = console.example_subtasks(catalog)
    info = next(info for info in console.catalogs() if info.name == catalog)
    st.caption(
        f"The catalog {escaped(catalog)} has {info.servers} servers with {info.tools} tools.{' For example:' if shown else ''}"
    )
    grid = st.grid(2, min_column_width=320, gap="xsmall")
    for number, text in enumerate(shown):
        grid.button(
            escaped(text, 120),
            key=f"route:example:{number}",
            icon=":material/north_east:",
            on_click=_ask,
            args=(state.key("q"), text),
        )


def _ask(key: str, text: str) -> None:
    st.session_state[key] = text


def _remember(key: str, options: Sequence[str], start: str) -> None:
    """Where the widget has no usable value yet, begin with `start`."""
    if st.session_state.get(key) not in options:
        st.session_state[key] = start if start in options else options[0]
