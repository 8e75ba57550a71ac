"""Labelled tasks: what retrieval and routing are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


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
    is missing. `question` is what a person wrote, `subtask` what a model asks a router for.
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

    def gain(self, tool: str) -> float:
        """How much a tool is worth: its grade, else 1 where it is relevant, else 0.

        >>> task = Task("t1", "read a file", relevant=("files::read", "files::list"), grades={"files::read": 2.0})
        >>> [task.gain(tool) for tool in ("files::read", "files::list", "mail::send")]
        [2.0, 1.0, 0.0]
        """
        return self.grades.get(tool, 1.0 if tool in self.relevant else 0.0)
