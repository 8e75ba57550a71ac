"""The state of the editor of a network profile, and the row that saves, exports and imports it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.domain.errors import WayfareError
from core.network.draft import Draft
from core.network.profiles import MOST_BYTES, Profile, read_profile, tidy_name
from dashboard.session import current_app
from dashboard.ui.text import errors_shown, escaped

OPEN, NEXT, NOTICE = "network:edit", "network:next", "network:notice"
USUAL = Profile("network")


@dataclass(slots=True)
class Editing:
    """The edited profile: its origin, the first draft of the widgets, and the name to save it under."""

    origin: str
    draft: Draft
    name: str
    about: str
    problem: str = ""
    turn: int = 0

    def key(self, name: str) -> str:
        """The session key of a widget."""
        return f"{OPEN}.{self.turn}.{name}"

    def begin(self, draft: Draft, name: str, about: str) -> None:
        """Restart every widget with this draft."""
        self.draft, self.name, self.about, self.problem = draft, name, about, ""
        self.turn += 1


def open_editor(profile: str) -> None:
    """Open the dialog for a profile in the next run. For `on_click`."""
    close_editor()
    networks = current_app().networks
    own = profile in networks.saved()
    name = profile if own else networks.free_name(profile)
    try:
        found = networks.load(profile)
        st.session_state[OPEN] = Editing(
            profile, Draft.of(found), name, found.about if own else f"{profile.replace('_', ' ')}, edited."
        )
    except WayfareError as error:
        st.session_state[OPEN] = Editing(profile, Draft.of(USUAL), name, "", str(error))


def close_editor() -> None:
    """Close the dialog and drop its changes."""
    for key in [key for key in st.session_state if str(key).startswith(OPEN)]:
        del st.session_state[key]


def leave_editor(profile: str, notice: str) -> None:
    """Close the dialog, choose a profile on the page, and show a notice."""
    close_editor()
    st.session_state[NEXT], st.session_state[NOTICE] = profile, notice
    st.rerun()


def after_editing(key: str) -> None:
    """Choose the profile that the dialog has left. Call it before the select with this key is drawn."""
    if (following := st.session_state.pop(NEXT, None)) is not None:
        st.session_state[key] = following
    if (notice := st.session_state.pop(NOTICE, None)) is not None:
        st.toast(escaped(notice), icon=":material/check:")


LONGEST_ABOUT = 300


def saving_row(editing: Editing, draft: Draft | None, usual: str) -> None:
    """Draw name, description and buttons. Without a draft nothing can be saved."""
    for key, start in (("name", editing.name), ("about", " ".join(editing.about.split())[:LONGEST_ABOUT])):
        st.session_state.setdefault(editing.key(key), start)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        typed = st.text_input(
            "Save as", key=editing.key("name"), max_chars=60, width=220,
            help="Letters a to z, digits, - and _. The file is in the folder networks beside the store.",
        )  # fmt: skip
        about = st.text_input(
            "Description", key=editing.key("about"), max_chars=LONGEST_ABOUT, placeholder="One sentence."
        )
    name = tidy_name(typed)
    agreed = _agreed(editing, name)
    with st.container(horizontal=True, gap="small"):
        save = st.button(
            "Save", type="primary", icon=":material/check:", key=editing.key("save"),
            disabled=draft is None or not agreed,
        )  # fmt: skip
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
    """Tells whether a saved network of this name may be replaced. The edited one always may."""
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
    st.caption("Start from a JSON file of a network.")
    file = st.file_uploader(
        "File", type="json", key=editing.key("file"), max_upload_size=1, label_visibility="collapsed"
    )
    if file is None:
        return
    with errors_shown():
        profile = read_profile(file.read(MOST_BYTES + 1), file.name)
        draft = Draft.of(profile)
        editing.begin(draft, tidy_name(profile.name)[:60], profile.about)
        st.rerun()


def _delete(editing: Editing, usual: str) -> None:
    st.caption(f"The file of {escaped(editing.origin)} is removed.")
    if not st.button("Delete permanently", key=editing.key("delete"), icon=":material/delete:"):
        return
    try:
        current_app().networks.remove(editing.origin)
    except WayfareError as error:
        editing.problem = str(error)
        return
    leave_editor(usual, f"{editing.origin} is deleted.")
