"""Example requests of tools: what somebody says who needs exactly that tool, where they came from, and what was changed when.

Nothing is changed or removed: requests are given or taken away by entries of one batch, and a batch is undone by an entry that names it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from core.domain.catalog import Tool, definition_text
from core.domain.untrusted_text import one_line

MOST_REQUESTS = 24  # of a tool
MOST_CHARACTERS = 300
SOURCES = ("shipped", "catalog", "model", "client", "operator")


@dataclass(frozen=True, slots=True)
class RequestChange:
    """One entry: requests that a tool (`server::tool`) gets, or that are taken away where `removed`.

    `requests_json` is their list. `source` says who wrote them, `definition` is the fingerprint of the definition that they were written
    for. `undoes` is the batch that this entry takes back, which has no tool then.
    """

    id: str
    at: datetime
    catalog: str
    batch: str
    tool: str
    requests_json: str
    source: str
    definition: str
    removed: bool
    visitor: str
    origin: str
    undoes: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(json.loads(self.requests_json))


@dataclass(frozen=True, slots=True)
class Request:
    """A request in force. `stale`: its tool has another definition than the one that it was written for."""

    text: str
    source: str
    at: datetime | None = None
    stale: bool = False


def in_force(
    changes: Iterable[RequestChange], tools: Mapping[str, Tool], *, source: str
) -> dict[str, tuple[Request, ...]]:
    """The requests of each tool that has some, those of the catalog itself first, and at most 24 of a tool.

    `source` is that of the catalog's own. Tools that the catalog lacks are left out.

    >>> tool = Tool("files", "read", "Reads a file.", requests=("show me notes.txt",))
    >>> in_force([], {tool.id: tool}, source="catalog")["files::read"][0].text
    'show me notes.txt'
    """
    found = {id_: {text: Request(text, source) for text in tool.requests} for id_, tool in tools.items()}
    definitions: dict[str, str] = {}
    for change in standing(changes):
        if change.tool not in tools:
            continue
        for text in change.texts:
            if change.removed:
                found[change.tool].pop(text, None)
                continue
            if change.tool not in definitions:
                definitions[change.tool] = definition_fingerprint(tools[change.tool])
            stale = change.definition != definitions[change.tool]
            found[change.tool][text] = Request(text, change.source, change.at, stale)
    return {id_: tuple(of.values())[:MOST_REQUESTS] for id_, of in found.items() if of}


def standing(changes: Iterable[RequestChange]) -> list[RequestChange]:
    """The entries of the batches that were not undone, in their order."""
    every = list(changes)
    undone = {change.undoes for change in every if change.undoes}
    return [change for change in every if not change.undoes and change.batch not in undone]


def definition_fingerprint(tool: Tool) -> str:
    """16 hexadecimal digits of what requests are written from: name, description and schema."""
    return hashlib.sha256(definition_text(tool).encode("utf-8", "replace")).hexdigest()[:16]


def cleaned(text: object) -> str:
    r"""A request as it is kept: one line, without anything invisible. Raises ValueError with what is wrong with it.

    >>> cleaned("  chuck out\n old images ")
    'chuck out old images'
    """
    if not isinstance(text, str):
        raise ValueError("is not text")
    line = one_line(text)
    if not any(letter.isalnum() for letter in line):
        raise ValueError("is empty")
    if len(line) > MOST_CHARACTERS:
        raise ValueError(f"has {len(line):,} characters; a request has at most {MOST_CHARACTERS}")
    return line


OFFERED = "wayfare/requests"


def offered_requests(meta: object) -> tuple[str, ...]:
    """The example requests that a server sends in the `_meta` of a tool; what cannot be kept is left out.

    >>> offered_requests({"wayfare/requests": ["show me notes.txt", 7]}), offered_requests(None)
    (('show me notes.txt',), ())
    """
    listed = cast("dict[str, object]", meta).get(OFFERED) if isinstance(meta, Mapping) else None
    found: dict[str, None] = {}
    for text in cast("list[object]", listed) if isinstance(listed, list) else ():
        with suppress(ValueError):
            found[cleaned(text)] = None
        if len(found) == MOST_REQUESTS:
            break
    return tuple(found)
