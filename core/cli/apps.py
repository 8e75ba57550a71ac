"""The app of a command, over its store, with the progress of a first start on standard error."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from core.app import App, Settings, build_app, open_app
from core.cli.main import ServedError
from core.cli.output import TerminalProgress
from core.domain.console import owner_of
from core.domain.errors import StoreBusyError, StoreError, WayfareError
from core.domain.progress import Report, Step, reported, silent

if TYPE_CHECKING:
    from core.catalogs.background_jobs import Job
    from core.lab.cluster import RaySpread

_held: ContextVar[App | None] = ContextVar("held", default=None)
folder: ContextVar[str] = ContextVar("folder", default="")
"""The folder of the process for which a console runs the command, else empty."""


@contextmanager
def working_on(app: App, *, within: str = "") -> Generator[None]:
    """Makes commands of this thread use an open app, and files from a folder, until the end of the block."""
    token, place = _held.set(app), folder.set(within)
    try:
        yield
    finally:
        _held.reset(token)
        folder.reset(place)


def terminal_progress() -> Report:
    """Returns a report on standard error if that is a terminal, else a silent report."""
    return TerminalProgress() if sys.stderr.isatty() else silent


def settings() -> Settings:
    """Returns the settings of the environment, with the store of --db. Raises WayfareError."""
    found = Settings.from_environment(db=click.get_current_context().meta["db"])
    expanded(Path(found.db))
    return found


def expanded(path: Path) -> Path:
    """Returns the path, with a user's home folder for ~. Raises WayfareError for an unknown user."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise WayfareError(f"{path}: this machine has no such user; name another place.") from None


@contextmanager
def opened(*, alone: bool = False, existing: bool = False) -> Generator[App]:
    """Yields the app over the store of the command, which has to exist if `existing`. Raises StoreError, and
    ServedError if a console serves the store, which then runs the command. A command that runs `alone` shares the store with the console."""
    if (current := _held.get()) is not None:
        yield current
        return
    from core.store.connection import COMMAND

    db = settings().db
    if existing and not Path(db).exists():
        raise StoreError(f"There is no store {db}; name one with --db.")
    if not alone and (owner := owner_of(db)) is not None:
        raise ServedError(db, owner)
    try:
        with open_app(settings(), report=terminal_progress(), sharing=COMMAND) as app:
            yield app
    except StoreBusyError:
        if alone or (owner := owner_of(db)) is None:
            raise
        raise ServedError(db, owner) from None  # it came meanwhile


@contextmanager
def opened_catalog(catalog: str) -> Generator[tuple[App, str]]:
    """Yields the app, and the name of a catalog that is given by its name or as a file."""
    with opened() as app:
        yield app, app.catalogs.open(catalog).name


@contextmanager
def opened_even_if_busy() -> Generator[App]:
    """Yields the app. If a process other than a console has locked the store, reports that and yields an app that stores no
    runs."""
    with ExitStack() as stack:
        try:
            app = stack.enter_context(opened())
        except ServedError:
            raise
        except StoreBusyError as error:
            from core.store import Store

            click.echo(f"The runs are not stored. {error}", err=True)
            app = stack.enter_context(build_app(Store(), settings()))
        yield app


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A long command among the runs of the console. It is called with its finished steps and their number."""

    app: App
    job: Job
    what: str
    tell: Report

    def __call__(self, done: int, of: int) -> None:
        """Takes over the progress. Raises Stopped if a person stopped the run."""
        self.tell(Step(self.what, done, of))
        self.job.report(done, of)

    def shows(self, view: str, /, **texts: str) -> None:
        """Names the view of the console that shows the result. There is none for a catalog that was read from a file."""
        if "catalog" not in texts or texts["catalog"] in {info.name for info in self.app.catalogs.infos()}:
            self.job.link = f"/{view}?{urlencode({name: text for name, text in texts.items() if text})}"


@contextmanager
def listed_run(app: App, what: str) -> Generator[ListedRun]:
    """Lists the command among the runs of the console, with its progress, until the block ends, and stores the result. `what` names
    the progress on standard error."""
    from core.catalogs.background_jobs import Stopped

    title = shlex.join(["wayfare", *click.get_current_context().obj])
    try:
        with reported(tell := terminal_progress(), Step(what)), app.background.command(title) as job:
            yield ListedRun(app, job, what, tell)
    except Stopped:
        click.echo("The command was stopped in the console.", err=True)
        raise click.Abort from None


@contextmanager
def spread_over(address: str, app: App) -> Generator[RaySpread | None]:
    """Yields the Ray cluster of `--ray`, with a copy of the app's store, or None without the option. Prints the number
    of workers on standard error. Raises WayfareError."""
    if not address:
        yield None
        return
    from core.lab.cluster import RaySpread

    with RaySpread(address, app.store.tables(), opened=build_app) as spread:
        yield spread
        click.echo(f"{spread.hired} workers of the cluster took part, {spread.lost} of them were lost.", err=True)
