"""What an import gives: servers, notes, and secrets that must not reach the store; and what a server listed when it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.catalog import Server


@dataclass(frozen=True, slots=True)
class Note:
    """Something taken with a remark ("tool X has no input schema: its arguments are not checked")."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A value that the user has to supply before the server can start (`${input:id}`)."""

    id: str
    description: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of reading one document.

    `secrets` maps a reference name (as in `${secret:NAME}`) to its value: kept in memory, never stored.
    `needs_discovery` lists servers whose tools have to be asked from the server itself.
    """

    format: str
    servers: tuple[Server, ...]
    notes: tuple[Note, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    prompts: tuple[Prompt, ...] = ()
    needs_discovery: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result for one server: itself with its tools, or an error sentence. `connect_s` is None where a session was open."""

    name: str
    server: Server | None
    error: str = ""
    connect_s: float | None = None
