"""What a page needs of the process and of its visitor: the one Console, and who looks at it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from core.errors import WayfareError
from core.paths import default_db
from core.store import Store

if TYPE_CHECKING:
    from core.console import Console

_opening = threading.Lock()
_store: Store | None = None
_console: Console | None = None


def open_store() -> None:
    """Take the store before anybody is told that the console can serve."""
    global _store  # noqa: PLW0603 - one process, one store, one Console
    with _opening:
        if _store is None and _console is None:
            _store = Store(default_db())


def console() -> Console:
    """The Console of this process, opened at first use."""
    global _console  # noqa: PLW0603
    with _opening:
        if _console is None:
            from core.console import Console

            _console = Console.open() if _store is None else Console.over(_store)
        return _console


def warm_up() -> None:
    """Open the Console and the first catalog in the background, so that the first visitor does not wait."""
    threading.Thread(target=_warm_up, name="wayfare-warm", daemon=True).start()


def _warm_up() -> None:
    with suppress(WayfareError):  # the first visitor reads the sentence
        console().warm(first_catalog())


def close_console() -> None:
    """Commit and release everything; called when the server stops."""
    global _console, _store  # noqa: PLW0603
    with _opening:
        for opened in (_console, _store):
            if opened is not None:
                opened.close()
        _console = _store = None


def first_catalog() -> str:
    """The catalog that is shown first."""
    return os.environ.get("WAYFARE_CATALOG", "sample")
