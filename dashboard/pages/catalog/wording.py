"""The description of a tool or a server: the server's own words, and the operator's in their place."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.catalogs.wordings import LONGEST
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import WayfareError
from dashboard.ui.text import escaped

PROBLEM = "catalog:wording_problem"
LONGEST_SHOWN = 20_000
HELP = (
    "Decisions and clients get this text in place of the server's, which stays below. The server itself is not touched. "
    "If the server changes its words, they count until you look at both."
)


def description_panel(app: App, catalog: Catalog, one: Server | Tool, otherwise: str) -> None:
    """Draw the description that counts, the server's own if it is another, and a field to word it anew. `otherwise` is
    said if there is no description."""
    _text(one.description, otherwise)
    place = one.id if isinstance(one, Tool) else one.name
    if one.original is not None:
        st.badge("your own description", icon=":material/edit:", color="violet")
        with st.expander("The server's own words", icon=":material/dns:"):
            _text(one.original, "The server says nothing.")
    key = f"catalog.wording.{catalog.name}.{place}"
    with (
        st.expander("Describe it in your own words", icon=":material/edit_note:", key=f"{key}.fold"),
        st.form(f"{key}.form", border=False),
    ):
        st.text_area("Your description", one.description, key=key, max_chars=LONGEST, height=120, help=HELP)
        with st.container(horizontal=True):
            st.form_submit_button("Save", icon=":material/check:", on_click=_put, args=(app, catalog.name, place, key))
            tried = "::" in place and st.form_submit_button(
                "Try", icon=":material/science:", help="Ask the example requests of this tool and of those nearest to it, without saving."
            )  # fmt: skip
            st.form_submit_button(
                "Take the server's words back", icon=":material/undo:", on_click=_remove, args=(app, catalog.name, place, key),
                disabled=one.original is None, help="There is no description of yours." if one.original is None else None,
            )  # fmt: skip
        if tried:
            _tried(app, catalog.name, place, st.session_state[key])
    about, sentence = st.session_state.get(PROBLEM, ("", ""))
    if about == key:
        st.error(escaped(sentence), icon=":material/error:")


def _tried(app: App, catalog: str, place: str, text: str) -> None:
    """Show what the text would change."""
    try:
        with st.spinner("Asking the example requests…"):
            found = app.findable.preview(catalog, place, text)
    except WayfareError as error:
        st.info(escaped(str(error), 400), icon=":material/info:")
        return
    now, then = found.now, found.then
    st.markdown(
        f"First for **{now.first} → {then.first}** of its {now.of} requests, among three for **{now.found} → {then.found}**."
    )
    if found.others:
        lines = [
            f"- {escaped(old.tool, 120)}: first {old.first} → {new.first}, among three {old.found} → {new.found} of {old.of}"
            for old, new in found.others
        ]
        st.markdown("Tools nearby that it changes:\n" + "\n".join(lines))
    else:
        st.caption("No tool nearby is found more or less often.")


def _put(app: App, catalog: str, place: str, key: str) -> None:
    try:
        app.wordings.put(catalog, place, st.session_state[key])
    except WayfareError as error:
        st.session_state[PROBLEM] = (key, str(error))
        return
    st.session_state.pop(PROBLEM, None)


def _remove(app: App, catalog: str, place: str, key: str) -> None:
    try:
        app.wordings.remove(catalog, place)
    except WayfareError as error:
        st.session_state[PROBLEM] = (key, str(error))
        return
    st.session_state.pop(PROBLEM, None)
    st.session_state.pop(key, None)


def _text(text: str, otherwise: str) -> None:
    if not text.strip():
        st.caption(otherwise)
        return
    with st.container(height=220 if len(text) > 900 else "content", border=False):
        st.text(text[:LONGEST_SHOWN])
        if len(text) > LONGEST_SHOWN:
            st.caption(f"The first {LONGEST_SHOWN:,} of {len(text):,} characters.")
