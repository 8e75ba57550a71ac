"""Questions with known right tools: labelled tasks, equal function sets, and example requests of tools.

Stored entries never change. The entries of a batch give or take away example requests. An entry that names a batch undoes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal, cast

from core.domain.catalog import Tool, definition_text
from core.domain.untrusted_text import one_line


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a plan. `needs` are the positions of the steps whose results it uses. `equal` are tools that do it as well."""

    tool: str
    needs: tuple[int, ...] = ()
    equal: tuple[str, ...] = ()
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A sub-task with the tools (`server::tool`) that can do it.

    An empty `relevant` means that no tool of the catalog can do it. Then the right answer is to refuse, and `gap` names
    the missing ability. `question` is the person's text, `subtask` the model's request to a router. `provenance` says how a
    generated task was made. It is empty for a task that a person labelled.
    """

    id: str
    subtask: str
    server_hint: str = ""
    relevant: tuple[str, ...] = ()
    grades: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    level: str = ""
    category: str = ""
    plan: tuple[Step, ...] = ()
    question: str = ""
    gap: str = ""
    provenance: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def gain(self, tool: str) -> float:
        """The worth of a tool: its grade, else 1 if it is relevant, else 0.

        >>> task = Task("t1", "read a file", relevant=("files::read", "files::list"), grades={"files::read": 2.0})
        >>> [task.gain(tool) for tool in ("files::read", "files::list", "mail::send")]
        [2.0, 1.0, 0.0]
        """
        return self.grades.get(tool, 1.0 if tool in self.relevant else 0.0)


# Equal function sets (ETOM): tools with one function, joined from judged pairs.

Says = Literal["equal", "different", "unsure"]
Sets = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class EqualJudgment:
    """A judgment of two tools (`server::tool`, in alphabetical order)."""

    catalog: str
    one: str
    other: str
    says: Says
    at: datetime

    @property
    def pair(self) -> tuple[str, str]:
        return self.one, self.other


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two tools that may be equal: near neighbours, with the cosine of their texts.

    `says` is the judgment of a person or a model, or "". `follows` is true if other pairs imply that they are equal.
    """

    one: str
    other: str
    cosine: float
    says: Says | Literal[""] = ""
    follows: bool = False

    @property
    def open(self) -> bool:
        return not self.says and not self.follows


def ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def joined(pairs: Iterable[tuple[str, str]]) -> Sets:
    """The sets of two or more tools that pairs of equal tools make, by union-find, in alphabetical order.

    >>> joined([("a", "b"), ("d", "e"), ("b", "c")])
    (('a', 'b', 'c'), ('d', 'e'))
    """
    parent: dict[str, str] = {}

    def root(tool: str) -> str:
        parent.setdefault(tool, tool)
        while parent[tool] != tool:
            parent[tool] = parent[parent[tool]]
            tool = parent[tool]
        return tool

    for first, second in pairs:
        parent[root(first)] = root(second)
    grouped: dict[str, list[str]] = {}
    for tool in sorted(parent):
        grouped.setdefault(root(tool), []).append(tool)
    return tuple(sorted(tuple(tools) for tools in grouped.values() if len(tools) > 1))


def contradictions(judged: Sequence[EqualJudgment], sets: Sets) -> tuple[tuple[str, str], ...]:
    """Pairs that were judged different, but other pairs put them into one set."""
    group = {tool: number for number, tools in enumerate(sets) for tool in tools}
    return tuple(
        judgment.pair
        for judgment in judged
        if judgment.says == "different" and group.get(judgment.one, -1) == group.get(judgment.other, -2)
    )


MOST_REQUESTS = 24  # of a tool
MOST_CHARACTERS = 300
SOURCES = ("shipped", "catalog", "model", "client", "operator")


@dataclass(frozen=True, slots=True)
class RequestChange:
    """An entry that gives requests to a tool (`server::tool`), or takes them away if `removed`.

    `requests_json` is their list. `source` is their author. `definition` is the fingerprint of the definition that they were written
    for. `undoes` is the batch that this entry undoes. Then the entry has no tool.
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
    """A request in force. `stale` means that the definition of its tool has changed since it was written."""

    text: str
    source: str
    at: datetime | None = None
    stale: bool = False


def in_force(
    changes: Iterable[RequestChange], tools: Mapping[str, Tool], *, source: str
) -> dict[str, tuple[Request, ...]]:
    """The requests of each tool that has any, at most 24 of a tool. The catalog's own requests come first, stale ones last.

    `source` is the source of the catalog's own requests. Unknown tools are left out.

    >>> tool = Tool("files", "read", "Reads a file.", requests=("show me notes.txt",))
    >>> in_force([], {tool.id: tool}, source="catalog")["files::read"][0].text
    'show me notes.txt'
    """
    requests = {id_: {text: Request(text, source) for text in tool.requests} for id_, tool in tools.items()}
    definitions: dict[str, str] = {}
    for change in standing(changes):
        if change.tool not in tools:
            continue
        for text in change.texts:
            if change.removed:
                requests[change.tool].pop(text, None)
                continue
            if change.tool not in definitions:
                definitions[change.tool] = definition_fingerprint(tools[change.tool])
            stale = change.definition != definitions[change.tool]
            requests[change.tool][text] = Request(text, change.source, change.at, stale)
    return {
        id_: tuple(sorted(by_text.values(), key=lambda request: request.stale)[:MOST_REQUESTS])
        for id_, by_text in requests.items()
        if by_text
    }


def standing(changes: Iterable[RequestChange]) -> list[RequestChange]:
    """The entries of the batches that were not undone, in order."""
    entries = list(changes)
    undone = {change.undoes for change in entries if change.undoes}
    return [change for change in entries if not change.undoes and change.batch not in undone]


def definition_fingerprint(tool: Tool) -> str:
    """A fingerprint of a tool's name, description and schema, 16 hexadecimal digits."""
    return hashlib.sha256(definition_text(tool).encode("utf-8", "replace")).hexdigest()[:16]


def cleaned(text: object) -> str:
    r"""A request as stored: one line, without invisible characters. Raises ValueError with the fault.

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
    """The valid example requests in the `_meta` that a server sends with a tool.

    >>> offered_requests({"wayfare/requests": ["show me notes.txt", 7]}), offered_requests(None)
    (('show me notes.txt',), ())
    """
    items = cast("dict[str, object]", meta).get(OFFERED) if isinstance(meta, Mapping) else None
    requests: dict[str, None] = {}
    for text in cast("list[object]", items) if isinstance(items, list) else ():
        with suppress(ValueError):
            requests[cleaned(text)] = None
        if len(requests) == MOST_REQUESTS:
            break
    return tuple(requests)
