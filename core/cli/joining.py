"""A command that finds the store taken hands itself over to the process that has it, and prints what that one gives back."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import click

from core.endpoint.door import Owner, owner_of
from core.shared.errors import StoreBusyError
from core.shared.settings import Settings

ALONE = {"up", "mcp", "virtual", "train-encoder"}
"""Commands that serve or train: they stay in a process of their own."""


def joined(command: click.Command, name: str, words: Sequence[str], error: StoreBusyError) -> int:
    """Run the command where the store is; gives its exit code. Raises the error where nobody takes it over."""
    owner = None
    if name not in ALONE:
        context = command.make_context(name, list(words), resilient_parsing=True)
        owner = owner_of(Settings.from_environment(db=context.params.get("db")).db)
    if owner is None or not owner.key:
        raise error
    done = _handed_over(owner, [name, *_from_anywhere(command, name, words)], error)
    sys.stdout.write(done["out"])
    sys.stdout.flush()
    sys.stderr.write(done["err"])
    return int(done["code"])


def _handed_over(owner: Owner, arguments: list[str], error: StoreBusyError) -> dict[str, Any]:
    if not owner.url.startswith("http://"):
        raise error
    request = urllib.request.Request(  # noqa: S310 - http, checked above
        f"{owner.url}/door",
        json.dumps({"arguments": arguments}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {owner.key}"},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        raise error from None


def _from_anywhere(command: click.Command, name: str, words: Sequence[str]) -> list[str]:
    """The words with the paths of files made absolute: the other process has another working directory."""
    context = command.make_context(name, list(words), resilient_parsing=True)
    paths: set[str] = set()
    for parameter in command.params:
        values = list(_values(context.params.get(parameter.name or "")))
        if isinstance(parameter.type, click.Path):
            paths.update(map(str, values))
        elif parameter.name in {"catalog", "preset"}:
            paths.update(str(value) for value in values if _is_file(str(value)))

    def absolute(word: str) -> str:
        option, sign, value = word.partition("=")
        if word in paths:
            return str(Path(word).expanduser().absolute())
        if sign and option.startswith("--") and value in paths:
            return f"{option}={Path(value).expanduser().absolute()}"
        return word

    return [absolute(word) for word in words]


def _values(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
