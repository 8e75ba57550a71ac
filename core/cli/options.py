"""Options that several commands share, and how results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from core.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., Any])

db_option = click.option(
    "--db",
    type=click.Path(path_type=Path),
    envvar="WAYFARE_DB",
    help="The store's file (default: the user's data directory).",
)
catalog_option = click.option(
    "--catalog", default="sample", show_default=True, help="A catalog by name, or a catalog file."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
set_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated."
)


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
    """Text from strangers fit for a terminal: one line, no control characters, not endless.

    >>> printable("a\\x1b[31mred\\nline")
    'a[31mred line'
    """
    line = "".join(ch for ch in " ".join(text.split()) if ch.isprintable())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
