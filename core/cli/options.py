"""Options that several commands share, and the output of results."""

from __future__ import annotations

import json
import shlex
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import click

from core.app import App, Settings, build_app, open_app
from core.domain.catalog import FOLLOW
from core.domain.errors import CatalogError, ParameterError, StoreBusyError, StoreError, WayfareError
from core.domain.params import MEASURED, NetworkMoment
from core.domain.progress import Report, Step, reported, silent
from core.domain.untrusted_text import one_line
from core.routers.presets import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    from core.catalogs.background_jobs import Job
    from core.lab.cluster import RaySpread

Command = TypeVar("Command", bound=Callable[..., Any])

db_option = click.option(
    "--db",
    type=click.Path(path_type=Path),
    help="The store's file (default: WAYFARE_DB, or the user's data directory).",
)
catalog_option = click.option(
    "--catalog", default="sample", show_default=True, help="A catalog by name, or a catalog file."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
follow_option = click.option(
    "--follow",
    type=click.Choice(FOLLOW),
    help="Changes of the file: show them until a person takes them (default), take them at once, or do not look (off).",
)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated."
)

network_option = click.option(
    "--network", default=MEASURED, show_default=True, metavar="NAME|FILE.json",
    help="Decide under a simulated network: its delays and outages count, and nothing is recorded.",
)  # fmt: skip
at_option = click.option("--at", default=0.0, show_default=True, metavar="T", help="With --network: the moment in s.")


def moment(network: str, at_s: float) -> NetworkMoment:
    """Returns the network at the moment. Raises WayfareError."""
    if at_s and network == MEASURED:
        raise WayfareError("--at is a moment of a simulated network; give --network NAME with it.")
    return NetworkMoment(network, at_s)


preset_option = click.option(
    "--preset", default=DEFAULT_PRESET, show_default=True, metavar="NAME",
    help=f"Named parameters: {', '.join(PRESETS)}. --set wins over it.",
)  # fmt: skip
preset_or_file_option = click.option(
    "--preset", default=DEFAULT_PRESET, show_default=True, metavar="NAME|FILE.toml",
    help=f"Named parameters: {', '.join(PRESETS)}, or those of an exported file. --set wins over it.",
)  # fmt: skip


ray_option = click.option(
    "--ray", default="", metavar="auto|ADDRESS",
    help="Spread the work over a Ray cluster; needs `pip install wayfare[ray]`. Same results, in the same order.",
)  # fmt: skip


def common(command: Command) -> Command:
    return db_option(json_option(command))


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Returns `NAME=VALUE` texts as a mapping. Raises ParameterError for a text without a name or an equals sign.

    >>> settings_of(["alpha_s=0.2", "k=3"])
    {'alpha_s': '0.2', 'k': '3'}
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"--set {pair!r} is not NAME=VALUE; write for example --set alpha_s=0.2.")
        settings[name.strip()] = value.strip()
    return settings


def print_json(document: Any) -> None:
    """Prints one JSON document on standard output. Characters that the output encoding lacks are escaped.

    A number that is not finite is a defect and fails loudly.
    """
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2, allow_nan=False)
    click.echo(text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints aligned columns; the last one is not padded."""
    cells = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def printable(text: str, limit: int = 100) -> str:
    """Returns a foreign text for a table or a sentence in the terminal: one line, no invisible characters, bounded
    length. The end of a longer one stays, because it may be the reason.

    >>> printable("a\\x1b[31mred\\nline"), printable("The name abcdefghijklmnop is too long", 24)
    ('a⟨U+001B⟩[31mred line', 'The name abcdef…too long')
    """
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - limit // 3 - 1]}…{line[-(limit // 3) :]}"


def print_outcome(document: dict[str, Any], sentence: str, as_json: bool) -> None:
    """Prints the result of a command as one JSON document, or as one sentence."""
    if as_json:
        print_json(document)
    else:
        click.echo(sentence)


def print_list(
    document: dict[str, Any], header: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool, *, none: str
) -> None:
    """Prints a list as one JSON document or as a table; `none` is printed for a table without rows."""
    if as_json:
        print_json(document)
    elif rows:
        print_table(header, rows)
    else:
        click.echo(none)


def one_of(given: dict[str, object], *, least: int = 1) -> None:
    """Raises WayfareError if more than one of these options is given, or fewer than `least`."""
    named = [name for name, value in given.items() if value]
    if len(named) > 1 or len(named) < least:
        raise WayfareError(f"Give one of {', '.join(given)}, not {' and '.join(named) or 'none'}.")


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CatalogError(f"{path}: it cannot be read ({error.strerror}); give a readable file.") from None


def write_file(path: Path, text: str) -> None:
    with written(path) as write:
        write(text)


@contextmanager
def written(path: Path | None) -> Generator[Callable[[str], object]]:
    """Yields a function that writes text to a file, as UTF-8, and does nothing without a file. Raises CatalogError."""
    try:
        with nullcontext() if path is None else path.open("w", encoding="utf-8") as file:
            yield (lambda _text: None) if file is None else file.write
    except OSError as error:
        raise CatalogError(f"{path}: it cannot be written ({error.strerror}); name another file.") from None


# Progress of long work on standard error: the step, its share done, and the next step.

PATIENCE_S = 1.0  # a shorter step gets no line
EVERY_S = 3.0  # time between two lines about one step

Cancel = Callable[[], None]


def _later(delay_s: float, work: Callable[[], None]) -> Cancel:
    timer = threading.Timer(delay_s, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


def _print(line: str) -> None:
    click.echo(line, err=True)


@dataclass
class TerminalProgress:
    """A `Report` for people: a line for each step that lasts longer than a second, and another one every few seconds.

    It writes to standard error. `later` and `clock` are the timers; tests give their own.
    """

    print_line: Callable[[str], None] = _print
    later: Callable[[float, Callable[[], None]], Cancel] = _later
    clock: Callable[[], float] = time.monotonic
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _step: Step | None = None
    _printed_s: float | None = None
    _cancel: Cancel | None = None

    def __call__(self, step: Step | None) -> None:
        """Records that a step begins or advances. None ends it."""
        with self._lock:
            fresh = step is None or self._step is None or step.what != self._step.what
            self._step = step
            if fresh:
                self._restart()
            elif self._printed_s is not None and self.clock() - self._printed_s >= EVERY_S:
                self._report()

    def _restart(self) -> None:
        """Starts the timer of a new step, so that a short step is not reported."""
        if self._cancel is not None:
            self._cancel()
        self._printed_s = None
        self._cancel = None if self._step is None else self.later(PATIENCE_S, self._report)

    def _report(self) -> None:
        with self._lock:
            if self._step is not None:
                self._printed_s = self.clock()
                self.print_line(str(self._step))


# The app of a command, over its store, with the progress of a first start on standard error.

_held: ContextVar[App | None] = ContextVar("held", default=None)


@contextmanager
def working_on(app: App) -> Generator[None]:
    """Makes commands of this thread use an open app until the end of the block."""
    token = _held.set(app)
    try:
        yield
    finally:
        _held.reset(token)


def terminal_progress() -> Report:
    """Returns what reports steps on standard error if that is a terminal, else nothing."""
    return TerminalProgress() if sys.stderr.isatty() else silent


def opened(db: Path | None, *, alone: bool = False, existing: bool = False) -> AbstractContextManager[App]:
    """Returns the app over a store (None: the store of the environment), which may have to be an `existing` one. Raises StoreError, and
    StoreBusyError if a console serves the store: the command runs there then. A command that runs `alone` shares the store with the console."""
    held = _held.get()
    if held is not None:
        return nullcontext(held)
    from core.domain.console import owner_of
    from core.store.connection import COMMAND

    settings = Settings.from_environment(db=db)
    if existing and not Path(settings.db).exists():
        raise StoreError(f"There is no store {settings.db}; name one with --db.")
    if not alone and (owner := owner_of(settings.db)) is not None:
        raise StoreBusyError(
            f"The store {settings.db} is in use by the console on {owner.url}; stop it with `wayfare stop`."
        )
    return open_app(settings, report=terminal_progress(), sharing=COMMAND)


@contextmanager
def opened_catalog(db: Path | None, catalog: str) -> Generator[tuple[App, str]]:
    """Yields the app over a store, and the name of a catalog that is given by its name or as a file."""
    with opened(db) as app:
        yield app, app.catalogs.open(catalog).name


def opened_even_if_busy(db: Path | None) -> AbstractContextManager[App]:
    """Returns the app. If a process other than a console has the store for itself, returns an app that stores no runs, and says
    so."""
    try:
        return opened(db)
    except StoreBusyError as error:
        from core.domain.console import owner_of
        from core.store import Store

        settings = Settings.from_environment(db=db)
        if owner_of(settings.db) is not None:
            raise
        click.echo(f"The runs are not stored. {error}", err=True)
        return build_app(Store(), settings)


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
    """Lists the command among the runs of the console, with its progress, until the block ends, and stores how it ended. `what` it
    does is the progress on standard error."""
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
