"""What a page needs of the process and of its visitor: the one Console, and typed page state."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import streamlit as st

from core.console import Console

SCRIPT_DIR = Path(__file__).parent

_opening = threading.Lock()
_console: Console | None = None


def console() -> Console:
    """The Console of this process, opened at first use; it starts to prepare the first catalog in the background."""
    global _console  # noqa: PLW0603 - one process, one store, one Console
    with _opening:
        if _console is None:
            _console = Console.open()
            threading.Thread(target=_warm, args=(_console, first_catalog()), name="wayfare-warm", daemon=True).start()
        return _console


def close_console() -> None:
    """Commit and release everything; called when the server stops."""
    global _console  # noqa: PLW0603
    with _opening:
        if _console is not None:
            _console.close()
            _console = None


def first_catalog() -> str:
    """The catalog that is shown first."""
    return os.environ.get("WAYFARE_CATALOG", "sample")


def is_dark() -> bool:
    """Whether this visitor sees the dark theme."""
    return st.context.theme.type == "dark"


def _warm(opened: Console, catalog: str) -> None:
    opened.warm(catalog)
