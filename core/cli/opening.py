"""Opening the app for a command: over the store that it names, with the progress of a first start on standard error."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path

import click

from core.app import App, Settings, build_app, open_app
from core.cli.progress import TerminalProgress
from core.endpoint.door import owner_of
from core.services.spread import Spread
from core.shared.errors import StoreBusyError
from core.shared.progress import silent
from core.store import Store

_held: ContextVar[App | None] = ContextVar("held", default=None)


@contextmanager
def working_on(app: App) -> Generator[None]:
    """Have commands that run meanwhile, in this thread, use an app that is open already."""
    token = _held.set(app)
    try:
        yield
    finally:
        _held.reset(token)


def opened(db: Path | None) -> AbstractContextManager[App]:
    """The app over a store (None: the one that the environment names). Raises StoreError, StoreBusyError."""
    held = _held.get()
    if held is not None:
        return nullcontext(held)
    return open_app(Settings.from_environment(db=db), report=TerminalProgress() if sys.stderr.isatty() else silent)


def opened_even_if_busy(db: Path | None) -> AbstractContextManager[App]:
    """The app; where another process has the store that no command can join, one whose runs are not stored, which is said."""
    try:
        return opened(db)
    except StoreBusyError as error:
        owner = owner_of(Settings.from_environment(db=db).db)
        if owner is not None and owner.key:
            raise
        click.echo(f"The runs are not stored. {error}", err=True)
        return build_app(Store(), Settings.from_environment(db=db))


@contextmanager
def spread_over(address: str, app: App) -> Generator[Spread | None]:
    """The Ray cluster of an option `--ray`, with a copy of the app's store; None where the option is not given. How many workers
    took part is said on standard error. Raises WayfareError."""
    if not address:
        yield None
        return
    from core.cluster.ray_spread import RaySpread

    with RaySpread(address, app.store.tables()) as spread:
        yield spread
        click.echo(f"{spread.hired} workers of the cluster took part, {spread.lost} of them were lost.", err=True)
