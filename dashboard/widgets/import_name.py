"""The name that an import is kept under, and the consent to replace what has it."""

from __future__ import annotations

import streamlit as st

from core.console import Console
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
    if there is None or name == console.catalogs()[0].name:
        return name, True
    agreed = st.checkbox(
        f"Replace the catalog {escaped(name)} ({counted(there.servers, 'server')}, {counted(there.tools, 'tool')}); "
        "its calls and edited prices stay",
        key=REPLACE,
    )
    return name, agreed
