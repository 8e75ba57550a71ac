"""Options that several commands share, and how results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from core.routers.presets import DEFAULT_PRESET, PRESETS
from core.shared.errors import CatalogError, ParameterError, WayfareError
from core.shared.untrusted_text import one_line

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
set_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated."
)

preset_option = click.option(
    "--preset", default=DEFAULT_PRESET, show_default=True, metavar="NAME",
    help=f"Named parameters: {', '.join(PRESETS)}. --set wins over it.",
)  # fmt: skip
preset_or_file_option = click.option(
    "--preset", default=DEFAULT_PRESET, show_default=True, metavar="NAME|FILE.toml",
    help=f"Named parameters: {', '.join(PRESETS)}, or those of a file that the console exported. --set wins over it.",
)  # fmt: skip


ray_option = click.option(
    "--ray", default="", metavar="auto|ADDRESS",
    help="Spread the work over a Ray cluster; needs `pip install wayfare[ray]`. Same results, in the same order.",
)  # fmt: skip


def common(command: Command) -> Command:
    """`--db` and `--json`."""
    return db_option(json_option(command))


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping. Raises ParameterError for a text without a name or an equals sign.

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
    """One JSON document on standard output, escaped where its encoding lacks a character.

    A number that is not finite is a defect and fails loudly.
    """
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2, allow_nan=False)
    click.echo(text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; the last one is not padded."""
    cells = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def printable(text: str, limit: int = 100) -> str:
    """A stranger's text for a table or a sentence in the terminal: one line, nothing unseen, not endless.

    >>> printable("a\\x1b[31mred\\nline")
    'a⟨U+001B⟩[31mred line'
    """
    return one_line(text, limit)


def print_outcome(document: dict[str, Any], sentence: str, as_json: bool) -> None:
    """What a command did: as one JSON document, or in one sentence."""
    if as_json:
        print_json(document)
    else:
        click.echo(sentence)


def one_of(given: dict[str, object], *, least: int = 1) -> None:
    """Raises WayfareError where more than one of these options is given, or fewer than `least`."""
    named = [name for name, value in given.items() if value]
    if len(named) > 1 or len(named) < least:
        raise WayfareError(f"Give one of {', '.join(given)}, not {' and '.join(named) or 'none'}.")


def read_file(path: Path) -> bytes:
    """A file's bytes. Raises CatalogError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CatalogError(f"{path}: it cannot be read ({error.strerror}); give a file that can.") from None


def write_file(path: Path, text: str) -> None:
    """Write a text as UTF-8. Raises CatalogError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CatalogError(f"{path}: it cannot be written ({error.strerror}); name another file.") from None
