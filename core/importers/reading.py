"""Reading one document: all faults are collected, and the document is accepted only if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.catalog import Server
from core.domain.imports import Imported, Note, Prompt
from core.shared.errors import CatalogError


class BrokenDocumentError(CatalogError):
    """A document that was refused; `problems` is one sentence for each fault.

    >>> print(BrokenDocumentError(["a.json: x is bad; mend it.", "a.json: y is bad; mend it."]))
    a.json: x is bad; mend it (and 1 more problem).
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        rest = f" (and {more:,} more problem{'s' if more > 1 else ''})." if more else "."
        super().__init__(self.problems[0].removesuffix(".") + rest)


@dataclass
class Reading:
    """What has been read of one document so far. A fault is recorded and reading goes on, so that all are reported at once."""

    source: str
    problems: list[str] = field(default_factory=list[str])
    notes: list[Note] = field(default_factory=list[Note])
    servers: list[Server] = field(default_factory=list[Server])
    secrets: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    prompts: dict[str, Prompt] = field(default_factory=dict[str, Prompt])
    _places: dict[str, str] = field(default_factory=dict[str, str])

    def problem(self, where: str, text: str) -> None:
        """Record a fault; `text` says what is wrong and what to do, without a full stop."""
        self.problems.append(f"{self.source}: {where + ': ' if where else ''}{text}.")

    def note(self, where: str, text: str) -> None:
        """Record a remark on something that was accepted."""
        self.notes.append(Note(f"{self.source}: {where}" if where else self.source, text))

    def prompt(self, prompt: Prompt) -> None:
        """Record a value that the user has to enter; the first one of an id wins."""
        self.prompts.setdefault(prompt.id, prompt)

    def add(self, where: str, server: Server) -> None:
        """Take a server; a second one of the same name is a fault."""
        first = self._places.setdefault(server.name, where) if server.name else where
        if first != where:
            self.problem(where, f"name is the same as that of {first.split(' ')[0]}; rename one of them")
        self.servers.append(server)

    def finish(self, format_name: str) -> Imported:
        """The result. Raises BrokenDocumentError where anything was wrong or there is no server."""
        if not self.problems and not self.servers:
            self.problem("", "it lists no server that can be taken; give at least one")
        if self.problems:
            raise BrokenDocumentError(self.problems)
        return Imported(
            format=format_name,
            servers=tuple(self.servers),
            notes=tuple(self.notes),
            secrets=dict(self.secrets),
            prompts=tuple(self.prompts.values()),
            needs_discovery=tuple(s.name for s in self.servers if s.connection is not None and not s.tools),
        )
