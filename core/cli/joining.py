"""A command beside a console runs in the console, and prints the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from core.cli import apps
from core.domain.console import Owner, OwnerLeftError, asked, owner_of
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
        result = run_in(owner, [name, *words])
    except OwnerLeftError:
        return None
    sys.stdout.write(result["out"])
    sys.stdout.flush()
    sys.stderr.write(result["err"])
    return int(result["code"])


def run_in(owner: Owner, words: Sequence[str]) -> dict[str, Any]:
    """Runs a command in the console, which finds its files from the folder of this process. Returns the result."""
    try:
        folder = str(Path.cwd())
    except OSError:  # it was deleted, so no file is found from it
        folder = os.devnull
    return asked(owner, "POST", {"arguments": words, "folder": folder})


def _context(command: click.Command, name: str, words: Sequence[str]) -> click.Context:
    """Returns the parsed words of a command, or of the command of a group that they name."""
    if isinstance(command, click.Group) and words and words[0] in command.commands:
        return _context(command.commands[words[0]], words[0], words[1:])
    return command.make_context(name, list(words), resilient_parsing=True)
