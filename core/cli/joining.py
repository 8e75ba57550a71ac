"""A command beside a console runs in the console, and prints the result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.cli import apps
from core.cli.main import ServedError
from core.domain.console import Owner, OwnerLeftError, asked
from core.domain.errors import WayfareError


def joined(owner: Owner, words: Sequence[str]) -> int | None:
    """Runs a command in the console, and prints the result. Returns its exit code, or None if the console took no command."""
    if not owner.key:
        return None
    try:
        result = run_in(owner, words)
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


def console_said(owner: Owner, words: Sequence[str]) -> Any:
    """Returns the JSON document of a command that the console ran. Raises WayfareError if the command failed, ServedError if the console
    takes no command yet."""
    if not owner.key:
        raise ServedError(apps.settings().db, owner)
    result = run_in(owner, [*words, "--json"])
    if result["code"]:
        raise WayfareError(str(result["err"]).strip())
    return json.loads(result["out"])
