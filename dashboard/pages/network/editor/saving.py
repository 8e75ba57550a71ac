"""The foot of the dialog that edits a network: its name, saving, files, and deleting."""

from __future__ import annotations

import streamlit as st

from core.network.draft import Draft
from core.network.profiles import MOST_BYTES, read_profile, tidy_name
from core.shared.errors import WayfareError
from dashboard.pages.network.editor.state import Editing, leave_editor
from dashboard.session import current_app
from dashboard.ui.text import escaped

LONGEST_ABOUT = 300


def saving_row(editing: Editing, draft: Draft | None, usual: str) -> None:
    """Name, description and buttons; without a draft nothing can be saved."""
    for key, start in (("name", editing.name), ("about", " ".join(editing.about.split())[:LONGEST_ABOUT])):
        st.session_state.setdefault(editing.key(key), start)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        typed = st.text_input(
            "Save as", key=editing.key("name"), max_chars=60, width=220,
            help="Letters a to z, digits, - and _. Its file lies beside the store, in the folder networks.",
        )  # fmt: skip
        about = st.text_input(
            "What it is", key=editing.key("about"), max_chars=LONGEST_ABOUT, placeholder="One sentence."
        )
    name = tidy_name(typed)
    agreed = _agreed(editing, name)
    with st.container(horizontal=True, gap="small"):
        save = st.button(
            "Save",
            type="primary",
            icon=":material/check:",
            key=editing.key("save"),
            disabled=draft is None or not agreed,
        )
        st.download_button(
            "Export", "" if draft is None else draft.profile(name or "network", about).text(), f"{name or 'network'}.json",
            "application/json", key=editing.key("export"), icon=":material/download:", disabled=draft is None,
            on_click="ignore",
        )  # fmt: skip
        with st.popover("Import", icon=":material/upload_file:"):
            _import(editing)
        if editing.origin in current_app().networks.saved():
            with st.popover("Delete", icon=":material/delete:"):
                _delete(editing, usual)
    if save and draft is not None:
        _save(editing, draft, name, about)
    if editing.problem:
        st.error(escaped(editing.problem), icon=":material/error:")


def _agreed(editing: Editing, name: str) -> bool:
    """Whether a saved network of this name may be replaced; the edited one may."""
    if name == editing.origin or name not in current_app().networks.saved():
        return True
    return st.checkbox(f"Replace the saved network {escaped(name)}", key=editing.key("replace"))


def _save(editing: Editing, draft: Draft, name: str, about: str) -> None:
    try:
        current_app().networks.save(draft.profile(name, about.strip()))
    except WayfareError as error:
        editing.problem = str(error)
        return
    leave_editor(name, f"Saved as {name}.")


def _import(editing: Editing) -> None:
    st.caption("Begin anew with a JSON file of a network.")
    file = st.file_uploader(
        "File", type="json", key=editing.key("file"), max_upload_size=1, label_visibility="collapsed"
    )
    if file is None:
        return
    try:
        profile = read_profile(file.read(MOST_BYTES + 1), file.name)
        draft = Draft.of(profile)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    editing.begin(draft, tidy_name(profile.name)[:60], profile.about)
    st.rerun()


def _delete(editing: Editing, usual: str) -> None:
    st.caption(f"The file of {escaped(editing.origin)} is removed.")
    if not st.button("Delete it for good", key=editing.key("delete"), icon=":material/delete:"):
        return
    try:
        current_app().networks.remove(editing.origin)
    except WayfareError as error:
        editing.problem = str(error)
        return
    leave_editor(usual, f"{editing.origin} is deleted.")
