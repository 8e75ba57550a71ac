"""The Catalog page's session state besides its URL: the open dialog, a notice, and the catalog to show next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal, NamedTuple

import streamlit as st

from core.app import App
from core.catalogs.catalog_editor import OWN
from core.domain.catalog import Catalog, Imported
from core.domain.errors import WayfareError
from dashboard.ui.text import error_toasted

DIALOG, ABOUT, NOTICE, NEXT = "catalog:dialog", "catalog:dialog.about", "catalog:notice", "catalog:next"
CATALOG, SERVER, VIEW, QUERY = "catalog.catalog", "catalog.server", "catalog.view", "catalog.q"
SERVERS, TOOLS, LINT, CALIBRATION, CONNECTIONS = "Servers", "Tools", "Lint", "Calibration", "Connections"
EQUAL, FINDABLE = "Equal", "Findable"
ALL_SERVERS = "All servers"
VIEWS = (SERVERS, TOOLS, FINDABLE, LINT, CALIBRATION, EQUAL, CONNECTIONS)
NONE_ON = "No server of this catalog is switched on."
Draw = Callable[[App, str], None]


class Notice(NamedTuple):
    """The result of an action: a sentence, remarks in a fold, and whether lint has findings."""

    sentence: str
    remarks: tuple[str, ...] = ()
    done: bool = True
    findings: bool = False


@dataclass(frozen=True)
class Connecting:
    """Servers to connect, the name of their catalog, and their source. `whole`: they are the whole catalog, not some of its servers."""

    imported: Imported = field(repr=False)
    name: str
    source: str = ""
    whole: bool = True


def dialog(name: str, title: str, icon: str, width: Literal["medium", "large"] = "large") -> Callable[[Draw], Draw]:
    """A dialog of the page over an app and the catalog that is shown. It closes when `close_dialog` was called."""

    def made(draw: Draw) -> Draw:
        @wraps(draw)
        def shown(app: App, catalog: str) -> None:
            if st.session_state.get(DIALOG) != name:
                st.rerun()
            draw(app, catalog)

        return st.dialog(title, width=width, icon=f":material/{icon}:", on_dismiss=close_dialog)(shown)

    return made


def open_dialog(name: str, about: Connecting | tuple[str, str] | None = None) -> None:
    """Open a dialog in the next run, about known servers or about one server of a catalog. For `on_click`."""
    if about is not None:
        close_dialog()
    st.session_state[DIALOG], st.session_state[ABOUT] = name, about


def close_dialog() -> None:
    """Close the open dialog and forget its input."""
    st.session_state.pop(DIALOG, None)
    prefixes = ("catalog.import.", "catalog:import.", "catalog.multiply.", "catalog:multiply.", "catalog.testbed.")
    for key in [key for key in st.session_state if str(key).startswith(prefixes)]:
        del st.session_state[key]


def say(sentence: str, remarks: tuple[str, ...] = (), *, done: bool = True, findings: bool = False) -> None:
    """Show a sentence at the top of the page until it is dismissed, with a button to the lint view if `findings`."""
    st.session_state[NOTICE] = Notice(sentence, remarks, done, findings)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show a WayfareError of the block at the top of the page, and go on after the block."""
    try:
        yield
    except WayfareError as error:
        say(str(error), done=False)


def acted(work: Callable[[], object]) -> None:
    """Do something, and show its error at the top of the page. For `on_click`."""
    with errors_shown():
        work()


def toasted(work: Callable[[], object]) -> None:
    """Do something, and show its error as a toast. For `on_click`."""
    with error_toasted():
        work()


def go_to(catalog: str) -> None:
    st.session_state[NEXT] = catalog


def after_move(linked: dict[str, str]) -> dict[str, str]:
    """Returns the texts of the page, or the texts of the next catalog after `go_to`."""
    following: str | None = st.session_state.pop(NEXT, None)
    if following is None:
        return linked
    for key in (SERVER, QUERY):
        st.session_state.pop(key, None)
    st.session_state[CATALOG] = following
    st.session_state[VIEW] = SERVERS
    return {"catalog": following}


def show_tools(server: str) -> None:
    st.session_state[VIEW], st.session_state[SERVER], st.session_state[QUERY] = TOOLS, server, ""


def show_findings() -> None:
    st.session_state[VIEW], st.session_state[QUERY] = LINT, ""
    st.session_state.pop(NOTICE, None)


def clear_search() -> None:
    st.session_state[QUERY], st.session_state[SERVER] = "", ALL_SERVERS


def no_tools(catalog: Catalog) -> None:
    """Say that a catalog lists no tool, with a button that asks its servers, if one is switched on."""
    if not catalog.servers:
        st.info(NONE_ON)
        return
    st.info("No server of this catalog lists a tool. Connected servers list their tools.")
    st.button(
        "Connect its servers…", key="catalog.tools.connect", icon=":material/cable:", on_click=open_dialog,
        args=("connect", Connecting(Imported(OWN, catalog.servers, off=catalog.off), catalog.name, f"servers of {catalog.name}")),
    )  # fmt: skip
