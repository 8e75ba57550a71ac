"""Example requests of one tool: what they are and where from, with everything that an operator can do about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog, Tool
from core.domain.requests import MOST_CHARACTERS, MOST_REQUESTS, Request
from core.shared.errors import WayfareError
from dashboard.ui.labels import labeller
from dashboard.ui.text import escaped

SAID = "catalog:requests.said"
SOURCE_WORDS = {
    "shipped": "comes with Wayfare", "catalog": "from the catalog's file", "model": "a model wrote it",
    "client": "a connected agent wrote it", "operator": "by hand",
}  # fmt: skip
HELP = (
    "What somebody says who needs exactly this tool, one a line. Decisions compare a question with them. "
    f"A tool has at most {MOST_REQUESTS} of at most {MOST_CHARACTERS} characters."
)


def requests_fold(app: App, catalog: Catalog, tool: Tool) -> None:
    """Draw the requests of a tool in a fold, which is open after a change."""
    known = app.requests.of_catalog(catalog.name).get(tool.id, ())
    offered = [text for text in tool.offered if text not in {one.text for one in known}]
    key = f"catalog.requests.{catalog.name}.{tool.id}"
    about, sentence, done = st.session_state.get(SAID, ("", "", True))
    label = f"Example requests: {len(known)}{f', {len(offered)} offered by the server' if offered else ''}"
    with st.expander(label, icon=":material/forum:", key=f"{key}.fold", expanded=about == key):
        if about == key:
            (st.success if done else st.error)(escaped(sentence, 600))
        if known:
            _listed(app, catalog.name, tool.id, known, key)
        else:
            st.caption("No example requests. The tool is found by its own texts alone.")
        if offered:
            _offered(app, catalog.name, tool.id, offered, key)
        with st.form(f"{key}.form", border=False):
            st.text_area("Add requests, one a line", key=f"{key}.new", height=80, help=HELP)
            with st.container(horizontal=True):
                st.form_submit_button(
                    "Add", icon=":material/add:", key=f"{key}.add", on_click=_add, args=(app, catalog.name, tool.id, key),
                )  # fmt: skip
                st.form_submit_button(
                    "Undo the newest change", icon=":material/undo:", key=f"{key}.undo", on_click=_undo,
                    args=(app, catalog.name, key), help="The newest change of requests of this catalog, of any tool.",
                )  # fmt: skip


def _listed(app: App, catalog: str, tool: str, known: Sequence[Request], key: str) -> None:
    for number, one in enumerate(known):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            stale = " · :orange[stale: the tool has changed since]" if one.stale else ""
            st.markdown(f"{escaped(one.text)}  \n:small[:gray[{SOURCE_WORDS[one.source]}]{stale}]", width="stretch")
            st.button(
                "", key=f"{key}.remove.{number}", icon=":material/delete:", type="tertiary", help="Remove this request",
                on_click=_acted, args=(key, "Removed.", partial(app.requests.remove, catalog, tool, [one.text], labeller())),
            )  # fmt: skip


def _offered(app: App, catalog: str, tool: str, offered: Sequence[str], key: str) -> None:
    """Draw what the server says about its own tool, which counts for nothing until it is accepted."""
    st.markdown(f"**The server offers {len(offered)}**, which do not count until you accept them:")
    st.markdown("\n".join(f"- {escaped(text)}" for text in offered))
    st.button(
        "Accept them", key=f"{key}.accept", icon=":material/check:",
        on_click=_acted, args=(key, "Accepted.", partial(app.requests.accept_offered, catalog, tool, labeller())),
    )  # fmt: skip


def _add(app: App, catalog: str, tool: str, key: str) -> None:
    texts = [line for line in st.session_state[f"{key}.new"].splitlines() if line.strip()]

    def add() -> str:
        taken = app.requests.add_by_hand(catalog, tool, texts, labeller())
        st.session_state[f"{key}.new"] = ""
        left_out = "".join(f" Left out: {one.why}." for one in taken.skipped)
        return f"Added {taken.requests}.{left_out}"

    _acted(key, "", add)


def _undo(app: App, catalog: str, key: str) -> None:
    def undo() -> str:
        undone = app.requests.undo(catalog, labeller())
        return f"The change of {undone.at:%Y-%m-%d %H:%M} UTC is taken back. Requests: {undone.requests}, tools: {undone.tools}."

    _acted(key, "", undo)


def _acted(key: str, sentence: str, act: Callable[[], object]) -> None:
    """Act, and keep the sentence, what `act` said, or its error for the fold."""
    try:
        said = act()
    except WayfareError as error:
        st.session_state[SAID] = (key, str(error), False)
        return
    st.session_state[SAID] = (key, sentence or str(said), True)
