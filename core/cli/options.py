"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from core.cli import apps
from core.domain.catalog import FOLLOW
from core.domain.errors import CatalogError, ParameterError, WayfareError
from core.domain.params import ALIASES, MEASURED, NetworkMoment
from core.routers.presets import DEFAULT_PRESET, PRESETS

Command = TypeVar("Command", bound=Callable[..., Any])
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
"""Each process has its own files there."""


def _found(path: str) -> str:
    """Returns the path, in a console from the command's folder. Raises WayfareError if the console would open a stream of its own."""
    if not (folder := apps.folder.get()):
        return path
    whole = str(Path(folder, path))
    if whole.startswith(STREAMS):
        raise WayfareError(f"A console runs this command and cannot open {path}; give a file.")
    return whole


class File(click.Path):
    """A file or folder that a command finds in a console, too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value and _found(str(value)), param, ctx)


def name_or_file(text: str) -> str:
    """Returns a name as it is, and a file as `File` does. A bare word is a name, also beside a file of that name."""
    path = _found(text) if os.sep in text or Path(text).suffix else ""
    return path if os.path.isfile(path) else text  # noqa: PTH113 - also for a text that can be no path


PATH = File(path_type=Path)
SEED = click.IntRange(0, 2**63 - 1)  # what the store can keep


class Finite(click.FloatRange):
    """A range without nan, and without inf if it has no upper bound: click accepts both."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


def kept(context: click.Context, option: click.Parameter, value: object) -> None:
    """Stores --db and --json for `apps.settings` and `output.wants_json`, so that no command has to pass them on."""
    context.meta[str(option.name)] = value


class _Option(click.Option):
    """An option whose default is in `--help`, unless it is empty."""

    def __init__(self, *words: Any, **attributes: Any) -> None:
        attributes.setdefault("show_default", attributes.get("default") != "")
        super().__init__(*words, **attributes)


option = partial(click.option, cls=_Option)


def _as(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Returns the callback of an option whose command gets the result of `read`."""
    return lambda _context, _option, value: read(value)


db = option(
    "--db", type=PATH, expose_value=False, callback=kept,
    help="The store's file (default: WAYFARE_DB, or the user's data directory).",
)  # fmt: skip
as_json = option(
    "--json", "as_json", is_flag=True, expose_value=False, callback=kept,
    help="Print one JSON document and nothing else.",
)  # fmt: skip


def common(command: Command) -> Command:
    return db(as_json(command))


def of_catalog(command: Command) -> Command:
    return catalog(common(command))


catalog = option("--catalog", type=name_or_file, default="sample", help="A catalog by name, or a catalog file.")
follow = option(
    "--follow",
    type=click.Choice(FOLLOW),
    help="Changes of the file: show them until a person takes them (default), take them at once, or do not look (off).",
)
hints = option("--hints/--no-hints", default=True, help="Give the tasks' server hints to the router.")
ray = option(
    "--ray", default="", metavar="auto|ADDRESS",
    help="Spread the work over a Ray cluster; needs `pip install wayfare[ray]`. Same results, in the same order.",
)  # fmt: skip


def router(about: str) -> Callable[[Command], Command]:
    return option("--router", default="ehrr", help=about)


def planner(about: str) -> Callable[[Command], Command]:
    return option(
        "--planner", type=click.Choice(["rules", "model", *ALIASES]), default="rules", metavar="rules|model",
        callback=_as(lambda word: ALIASES.get(word, word)),
        help=f"{about}: rules, or the model in WAYFARE_LLM_MODEL.",
    )  # fmt: skip


def network(command: Command) -> Command:
    """Adds --network and --at, for `moment`."""
    named = option(
        "--network", type=name_or_file, default=MEASURED, metavar="NAME|FILE.json",
        help="Decide under a simulated network: its delays and outages count, and nothing is recorded.",
    )  # fmt: skip
    return named(option("--at", default=0.0, metavar="T", help="With --network: the moment in s.")(command))


def moment(network: str, at_s: float) -> NetworkMoment:
    """Returns the network at the moment. Raises WayfareError."""
    if at_s and network == MEASURED:
        raise WayfareError("--at is a moment of a simulated network; give --network NAME with it.")
    return NetworkMoment(network, at_s)


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


settings = option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated.",
    callback=_as(settings_of),
)  # fmt: skip
preset_or_file = option(
    "--preset", type=name_or_file, default=DEFAULT_PRESET, metavar="NAME|FILE.toml",
    help=f"Named parameters: {', '.join(PRESETS)}, or those of an exported file. --set wins over it.",
)  # fmt: skip


def knobs(command: Command) -> Command:
    """Adds --set and --preset."""
    about = f"Named parameters: {', '.join(PRESETS)}. --set wins over it."
    return settings(option("--preset", default=DEFAULT_PRESET, metavar="NAME", help=about)(command))


def one_of(given: dict[str, object], *, least: int = 1) -> None:
    """Raises WayfareError if more than one of these options is given, or fewer than `least`."""
    names = [name for name, value in given.items() if value]
    if len(names) > 1 or len(names) < least:
        raise WayfareError(f"Give one of {', '.join(given)}, not {' and '.join(names) or 'none'}.")


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
