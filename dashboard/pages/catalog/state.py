"""The Catalog page's session state besides its URL: the open dialog, a notice, and the catalog to show next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import streamlit as st

from core.domain.catalog import Imported
from core.domain.errors import WayfareError

Dialog = Literal["import", "connect", "multiply", "testbed", "server"]
KNOWN, ORIGINAL = "catalog:import.known", "catalog:multiply.original"
DIALOG, NOTICE, NEXT, CATALOG, SERVER, VIEW, QUERY = (
    "catalog:dialog", "catalog:notice", "catalog:next", "catalog.catalog", "catalog.server", "catalog.view",
    "catalog.q",
)  # fmt: skip
SERVERS, TOOLS, LINT, CALIBRATION, CONNECTIONS = "Servers", "Tools", "Lint", "Calibration", "Connections"
EQUAL, FINDABLE = "Equal", "Findable"
ALL_SERVERS = "All servers"
VIEWS = (SERVERS, TOOLS, FINDABLE, LINT, CALIBRATION, EQUAL, CONNECTIONS)


class Notice(NamedTuple):
    """The result of an action: a sentence, remarks in a fold, and whether lint has findings."""

    sentence: str
    remarks: tuple[str, ...] = ()
    done: bool = True
    findings: bool = False


class Known(NamedTuple):
    """Servers to connect, the name of their catalog, and their source."""

    imported: Imported
    name: str
    source: str


def open_dialog(dialog: Dialog) -> None:
    """Open a dialog in the next run. For `on_click`."""
    st.session_state[DIALOG] = dialog


def open_connect(imported: Imported, name: str, source: str) -> None:
    """Open the connection dialog for known servers. For `on_click`."""
    close_dialog()
    st.session_state[DIALOG] = "connect"
    st.session_state[KNOWN] = Known(imported, name, source)


def open_multiply(catalog: str, server: str) -> None:
    """Open the dialog that multiplies a server. For `on_click`."""
    close_dialog()
    st.session_state[DIALOG] = "multiply"
    st.session_state[ORIGINAL] = (catalog, server)


def original() -> tuple[str, str]:
    """Returns the catalog and the server that the open dialog multiplies."""
    return st.session_state[ORIGINAL]


def known_servers() -> Known | None:
    """Returns the servers of the open dialog, or None if they come from documents."""
    return st.session_state.get(KNOWN)


def close_dialog() -> None:
    """Close the open dialog and forget its input."""
    st.session_state.pop(DIALOG, None)
    typed = ("catalog.import.", "catalog:import.", "catalog.multiply.", "catalog:multiply.", "catalog.testbed.")
    for key in [key for key in st.session_state if str(key).startswith(typed)]:
        del st.session_state[key]


def dialog_open(dialog: Dialog) -> bool:
    """Tells whether a dialog is open."""
    return st.session_state.get(DIALOG) == dialog


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


def go_to(catalog: str) -> None:
    """Show another catalog in the next run."""
    st.session_state[NEXT] = catalog


def after_move(linked: dict[str, str]) -> dict[str, str]:
    """Returns the texts of the page, or those of the next catalog after `go_to`."""
    following: str | None = st.session_state.pop(NEXT, None)
    if following is None:
        return linked
    for key in (SERVER, QUERY):
        st.session_state.pop(key, None)
    st.session_state[CATALOG] = following
    st.session_state[VIEW] = SERVERS
    return {"catalog": following}


def show_tools(server: str) -> None:
    """Show the tools of one server in the next run. For `on_click`."""
    st.session_state[VIEW], st.session_state[SERVER], st.session_state[QUERY] = TOOLS, server, ""


def show_findings() -> None:
    """Show the lint view in the next run. For `on_click`."""
    st.session_state[VIEW], st.session_state[QUERY] = LINT, ""
    st.session_state.pop(NOTICE, None)


def clear_search() -> None:
    """Clear the search for the next run. For `on_click`."""
    st.session_state[QUERY], st.session_state[SERVER] = "", ALL_SERVERS
