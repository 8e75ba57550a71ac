"""Opening the app for a command: over the store that it names, with the progress of a first start on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from core.app import App, Settings, build_app, open_app
from core.cli.progress import TerminalProgress
from core.shared.errors import StoreBusyError
from core.shared.progress import silent
from core.store import Store


def opened(db: Path | None) -> App:
    """The app over a store (None: the one that the environment names). Raises StoreError, StoreBusyError."""
    return open_app(Settings.from_environment(db=db), report=TerminalProgress() if sys.stderr.isatty() else silent)


def opened_even_if_busy(db: Path | None) -> App:
    """The app; where another process, such as the console, has the store, one whose runs are not stored, which is said."""
    try:
        return opened(db)
    except StoreBusyError as error:
        click.echo(f"The runs are not stored. {error}", err=True)
        return build_app(Store(), Settings.from_environment(db=db))
