"""Labelled tasks: what retrieval and routing are measured against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a plan; `needs` are the positions of the steps whose results it uses, `equal` what would do as well."""

    tool: str
    needs: tuple[int, ...] = ()
    equal: tuple[str, ...] = ()
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One sub-task with the tools (`server::tool`) that can do it.

    An empty `relevant` means that nothing in the catalog can do it: the right answer is to refuse, and `gap` says what
    is missing. `question` is what a person wrote, `subtask` what a model asks a router for. `provenance` says how a generated task
    was made; one that a person labelled has none.
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


# Equal function sets (ETOM): tools that do the same, joined from pairs that somebody judged.

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
    """Two tools that may do the same: near neighbours of each other, with the cosine of their texts.

    `says` is the judgment of a person or a model, "" without one. `follows` is true if other pairs imply that they are equal.
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
    """A pair in alphabetical order."""
    return (one, other) if one <= other else (other, one)


def joined(pairs: Iterable[tuple[str, str]]) -> Sets:
    """The sets that pairs of equal tools make, by union-find: each of two tools or more, all in alphabetical order.

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

    for one, other in pairs:
        parent[root(one)] = root(other)
    grouped: dict[str, list[str]] = {}
    for tool in sorted(parent):
        grouped.setdefault(root(tool), []).append(tool)
    return tuple(sorted(tuple(tools) for tools in grouped.values() if len(tools) > 1))


def contradictions(judged: Sequence[EqualJudgment], sets: Sets) -> tuple[tuple[str, str], ...]:
    """Pairs that were judged different but are in one set through other pairs."""
    of = {tool: number for number, tools in enumerate(sets) for tool in tools}
    return tuple(
        each.pair for each in judged if each.says == "different" and of.get(each.one, -1) == of.get(each.other, -2)
    )
