"""What one tool is, and a sequence of tools that are no objects yet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

Json = Mapping[str, Any]


def tool_id(server: str, tool: str) -> str:
    """A tool's identity everywhere: `server::tool`.

    >>> tool_id("files", "read")
    'files::read'
    """
    return f"{server}::{tool}"


@dataclass(frozen=True, slots=True)
class ToolHints:
    """The hints of MCP's tool annotations, None if the server does not give one."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @property
    def retry_safe(self) -> bool:
        """Only a tool that says it is read-only or idempotent may be called again after a lost connection."""
        return self.read_only is True or self.idempotent is True


class Columns:
    """A table of tools: see `core.domain.tool_table.ToolTable`, which needs NumPy. A virtual server starts without it."""

    __slots__ = ()

    @abstractmethod
    def value(self, name: str, row: int) -> Any:
        """The value of one field of one tool."""


class _Row:
    """The place of a tool in a table. A field is read from its column when it is first asked for."""

    __slots__ = ("_place",)
    _place: tuple[Columns, int]

    if not TYPE_CHECKING:  # a misspelt field stays an error of the type checker

        def __getattr__(self, name: str) -> Any:
            """Called for a field that has no value yet: of a tool that is a row of a table."""
            if name.startswith("_"):
                raise AttributeError(name)
            table, row = self._place
            value = table.value(name, row)
            object.__setattr__(self, name, value)
            return value


@dataclass(frozen=True, slots=True)
class Tool(_Row):  # noqa: PLW1641 - `dataclass` makes the hash
    """One tool of one server. Undeclared economic figures are None, which is never zero.

    `preconditions` are what has to hold before it may be called, as `core.domain.preconditions` writes them. `requests` are example
    requests that the catalog gives; `offered` are those that the server itself sent, which count once the operator accepts them.
    """

    server: str
    name: str
    description: str = ""
    title: str = ""
    input_schema: Json | None = None
    output_schema: Json | None = None
    hints: ToolHints = ToolHints()
    price_usd: float | None = None
    latency_s: float | None = None
    success: float | None = None
    tier: str = ""
    tier_reason: str = ""
    preconditions: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    original: str | None = None
    """The server's own description, where `description` is the operator's wording."""
    extras: str = ""
    """The icons and metadata that its server lists, as JSON."""

    def __eq__(self, other: object) -> bool:
        """Whether every field is the same, which two views of one row need not look up."""
        if not isinstance(other, Tool):
            return NotImplemented
        place = getattr(self, "_place", None)
        if self is other or (place is not None and place == getattr(other, "_place", None)):
            return True
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    @property
    def own_description(self) -> str:
        return self.description if self.original is None else self.original

    def wording_for(self, live: Tool) -> Tool:
        """Returns the tool as its server lists it now, in the operator's words if these replace what the server says."""
        if self.original is None or self.original != live.description:
            return live
        return replace(live, description=self.description, original=self.original)

    @property
    def id(self) -> str:
        return tool_id(self.server, self.name)

    def definition(self) -> dict[str, Any]:
        """The tool as tools/list puts it before a model: what its tokens are counted on."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema or {})}


class ToolSequence(Sequence[Tool]):
    """Tools that are rows of a table."""

    __slots__ = ()

    @abstractmethod
    def ids(self) -> tuple[str, ...]:
        """The `server::tool` of each."""

    @abstractmethod
    def may_have(self, name: str) -> bool:
        """Whether a tool may have a field that few have. No tool is looked at for it."""

    @abstractmethod
    def followed_by(self, others: Sequence[Sequence[Tool]]) -> ToolSequence | None:
        """All as one. Returns None if each of the others is not the rows after those before it."""
