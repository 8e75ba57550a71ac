"""The session state of the dialog that edits a network: the draft, and where to go when it is closed.

Its keys begin with `network:edit`; those of its widgets contain a number that counts up where everything begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.network.draft import Draft
from core.network.profiles import Profile
from core.shared.errors import WayfareError
from dashboard.session import current_app
from dashboard.ui.text import escaped

OPEN, NEXT, NOTICE = "network:edit", "network:next", "network:notice"
USUAL = Profile("network")


@dataclass(slots=True)
class Editing:
    """What is edited: where it came from, the draft that the widgets began with, and the name that it may get."""

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
        """Have every widget begin with this draft."""
        self.draft, self.name, self.about, self.problem = draft, name, about, ""
        self.turn += 1


def open_editor(profile: str) -> None:
    """Open the dialog for a profile in the next run; for `on_click`."""
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
    """Close it and forget what was changed in it."""
    for key in [key for key in st.session_state if str(key).startswith(OPEN)]:
        del st.session_state[key]


def leave_editor(profile: str, notice: str) -> None:
    """Close it, choose a profile on the page, and say what was done."""
    close_editor()
    st.session_state[NEXT], st.session_state[NOTICE] = profile, notice
    st.rerun()


def after_editing(key: str) -> None:
    """Choose what the dialog left behind, before the select with this key is drawn."""
    if (following := st.session_state.pop(NEXT, None)) is not None:
        st.session_state[key] = following
    if (notice := st.session_state.pop(NOTICE, None)) is not None:
        st.toast(escaped(notice), icon=":material/check:")
