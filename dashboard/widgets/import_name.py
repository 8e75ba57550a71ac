"""The name that an import is kept under, and the consent to replace what has it."""

from __future__ import annotations

import streamlit as st

from core.console import Console
from core.errors import WayfareError
from core.shipped import SHIPPED
from dashboard.widgets.import_documents import counted
from dashboard.widgets.text import escaped

NAME, REPLACE = "catalog.import.name", "catalog.import.replace"


def name_field(console: Console, suggestion: str) -> tuple[str, bool]:
    """The name, and whether it may be used: a catalog that has it is replaced only with a tick."""
    typed = st.text_input(
        "Keep it as",
        key=NAME,
        placeholder=suggestion,
        help=f"The catalog's name. Empty: {escaped(suggestion)}.",
        width=320,
    )
    name = typed.strip() or suggestion
    there = next((info for info in console.catalogs() if info.name == name), None)
    if there is None or name in SHIPPED:
        return name, True
    agreed = st.checkbox(
        f"Replace the catalog {escaped(name)} ({counted(there.servers, 'server')}, {counted(there.tools, 'tool')}); "
        "its calls and edited prices stay",
        key=REPLACE,
    )
    return name, agreed


def chosen_name(console: Console, suggestion: str) -> str:
    """The name as it stands when a button is pressed: it may have been typed a moment ago, after the page was drawn.

    Raises WayfareError where a catalog of that name is there and nobody said that it may be replaced.
    """
    name = st.session_state.get(NAME, "").strip() or suggestion
    others = [info.name for info in console.catalogs() if info.name not in SHIPPED]
    if name in others and not st.session_state.get(REPLACE, False):
        raise WayfareError(f"There is a catalog {name} already; tick that it may be replaced, or choose another name.")
    return name
