"""What a page needs of the process and of its visitor: the one Console, and who looks at it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from core.errors import WayfareError

if TYPE_CHECKING:
    from core.console import Console

_opening = threading.Lock()
_console: Console | None = None


def console() -> Console:
    """The Console of this process, opened at first use."""
    global _console  # noqa: PLW0603 - one process, one store, one Console
    with _opening:
        if _console is None:
            from core.console import Console

            _console = Console.open()
        return _console


def warm_up() -> None:
    """Open the Console, the first catalog and the pages in the background, so that the first visitor does not wait."""
    threading.Thread(target=_warm_up, name="wayfare-warm", daemon=True).start()


def _warm_up() -> None:
    with suppress(WayfareError):  # the first visitor reads the sentence
        console().warm(first_catalog())


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
