"""The name that an import is stored under, and the consent to replace what has it."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.shared.errors import WayfareError
from dashboard.pages.catalog.imports.documents import counted
from dashboard.ui.text import escaped

NAME, REPLACE = "catalog.import.name", "catalog.import.replace"


def name_field(app: App, suggestion: str) -> tuple[str, bool]:
    """The name, and whether it may be used: a catalog that has it is replaced only with a tick."""
    typed = st.text_input(
        "Save as",
        key=NAME,
        placeholder=suggestion,
        help=f"The catalog's name. Empty: {escaped(suggestion)}.",
        width=320,
    )
    name = typed.strip() or suggestion
    there = next((info for info in app.catalogs.infos() if info.name == name), None)
    if there is None or name in SHIPPED_CATALOGS:
        return name, True
    agreed = st.checkbox(
        f"Replace the catalog {escaped(name)} ({counted(there.servers, 'server')}, {counted(there.tools, 'tool')}); "
        "its calls and edited prices stay",
        key=REPLACE,
    )
    return name, agreed


def chosen_name(app: App, suggestion: str) -> str:
    """The name at the time when a button is pressed: it may have been typed after the page was drawn.

    Raises WayfareError where there is a catalog of that name and the box to replace it is not ticked.
    """
    name = st.session_state.get(NAME, "").strip() or suggestion
    others = [info.name for info in app.catalogs.infos() if info.name not in SHIPPED_CATALOGS]
    if name in others and not st.session_state.get(REPLACE, False):
        raise WayfareError(f"There is a catalog {name} already; tick that it may be replaced, or choose another name.")
    return name
