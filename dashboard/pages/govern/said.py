"""What the last button of this page did, said once."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.shared.errors import WayfareError
from dashboard.ui.text import escaped

SAID = "govern:said"


def do(action: Callable[[], object], sentence: str) -> None:
    """Do something for a button and keep what is to be said of it."""
    try:
        action()
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))
        return
    st.session_state[SAID] = ("success", sentence)


def said() -> None:
    """Say it."""
    kind, sentence = st.session_state.pop(SAID, ("", ""))
    if kind == "error":
        st.error(escaped(sentence, 600), icon=":material/error:")
    elif kind and sentence:
        st.toast(escaped(sentence, 300), icon=":material/check:")
