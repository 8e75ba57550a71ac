"""Opening the app for a command: over the store that it names, with the progress of a first start on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

from core.app import App, Settings, open_app
from core.cli.progress import TerminalProgress
from core.shared.progress import silent


def opened(db: Path | None) -> App:
    """The app over a store (None: the one that the environment names). Raises StoreError, StoreBusyError."""
    return open_app(Settings.from_environment(db=db), report=TerminalProgress() if sys.stderr.isatty() else silent)
