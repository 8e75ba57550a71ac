"""A command beside a console runs in the console, and prints the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

import click

from core.cli import apps
from core.domain.console import OwnerLeftError, asked, owner_of
from core.domain.errors import StoreBusyError

ALONE = {"up", "status", "stop", "mcp", "virtual", "train-encoder", "restore"}
"""Commands that serve or train, and commands about the console, always run in their own process."""


def joined(command: click.Command, name: str, words: Sequence[str], error: StoreBusyError) -> int | None:
    """Runs the command in the console of its store. Returns its exit code, or None if the console ended before it took the
    command. Raises the error if no console takes the command."""
    if name in ALONE:
        raise error
    context = _context(command, name, words)
    owner = owner_of(apps.settings(context).db)
    if owner is None or not owner.key:
        raise error
    try:
        result = asked(owner, "POST", {"arguments": [name, *_from_anywhere(command, name, words)]})
    except OwnerLeftError:
        return None
    sys.stdout.write(result["out"])
    sys.stdout.flush()
    sys.stderr.write(result["err"])
    return int(result["code"])


def _from_anywhere(command: click.Command, name: str, words: Sequence[str]) -> list[str]:
    """Returns the words with absolute paths, because the other process has another working directory."""
    context = _context(command, name, words)
    paths = {str(context.meta["db"])} if context.meta["db"] else set[str]()
    for parameter in context.command.params:
        values = list(_values(context.params.get(parameter.name or "")))
        if isinstance(parameter.type, click.Path):
            paths.update(map(str, filter(None, values)))
        elif parameter.name in {"catalog", "preset", "network"}:
            paths.update(str(value) for value in values if _names_file(str(value)))

    def absolute(word: str) -> str:
        option, sign, value = word.partition("=")
        if word in paths:
            return str(Path(word).expanduser().absolute())
        if sign and option.startswith("--") and option != "--name" and value in paths:
            return f"{option}={Path(value).expanduser().absolute()}"
        return word

    return [word if option == "--name" else absolute(word) for option, word in pairwise((name, *words))]


def _context(command: click.Command, name: str, words: Sequence[str]) -> click.Context:
    """Returns the parsed words of a command, or of the command of a group that they name."""
    if isinstance(command, click.Group) and words and words[0] in command.commands:
        return _context(command.commands[words[0]], words[0], words[1:])
    return command.make_context(name, list(words), resilient_parsing=True)


def _values(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


def _names_file(text: str) -> bool:
    """Whether a word is a file's name. A bare word is the name of a catalog, preset or network, also beside a file of that name."""
    try:
        return bool(Path(text).suffix or os.sep in text) and Path(text).is_file()
    except (OSError, ValueError):
        return False
