"""The interface through which tools are called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.domain.catalog import Connection, Tool
from core.domain.outcome import Outcome, OutcomeKind, ToolCall

APPROVAL_NEEDED, APPROVAL_DENIED = "approval_needed", "approval_denied"
"""Reasons of refusals that only a person can lift."""
Settle = Callable[[OutcomeKind | None], None]
"""Gets the outcome of a call, or None if it tells nothing about the server."""
Leave = Callable[[ToolCall, str], Settle | None]
"""Returns the function that settles a call, or None if the call may not be made."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running call is. `progress` and `total` are in the server's own unit; total is None if unknown."""

    progress: float
    total: float | None
    message: str


class ToolCaller(Protocol):
    """Calls one tool and says what happened."""

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """Call the tool and wait for its outcome.

        Nothing that the server does is raised: it is in the outcome. `tool` gives the hints and the input schema
        where the catalog has them. `on_progress` runs in the calling thread; what it raises ends the call and is raised.
        Setting `cancel` from another thread ends the call with `OutcomeKind.CANCELLED`.
        """
        ...


def always(_call: ToolCall, _origin: str) -> Settle:
    """Permission for every call, without governance."""
    return lambda _kind: None


# The client that made a call, as its server may reach it while the call runs: log messages, and questions before it can go on.

NOBODY = frozenset[str]()
"""A client without abilities."""


@dataclass
class Waiting:
    """For the answers of a client: how long in all, s, and how many of them are awaited now."""

    total_s: float = 0.0
    now: int = 0


@dataclass(frozen=True)
class ClientSide:
    """`client` is its name, `abilities` are what it declared: sampling, elicitation, roots. `log` and `ask` may be used from any thread and do
    not wait. A client that is `asked_between` rounds gets the questions in place of a result, kept in `questions`, and makes its
    request again with `answers`, the fields input_responses and request_state. `log_level` is "" if it wants no messages.
    `waiting` is no time of the server's."""

    client: str
    abilities: frozenset[str]
    asked_between: bool
    log_level: str
    log: Callable[[Any], None]
    ask: Callable[[Any], Future[Any]]
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    questions: list[Any] = field(default_factory=list[Any])
    waiting: Waiting = field(default_factory=Waiting)

    @property
    def asked_during(self) -> bool:
        """Whether a question reaches it in the midst of a call."""
        return bool(self.abilities) and not self.asked_between


CLIENT_SIDE: ContextVar[ClientSide | None] = ContextVar("CLIENT_SIDE", default=None)
"""Set while a request of a mirror's client is answered; threads that work for it have it, too."""

TURN_ENDS: ContextVar[Callable[[], object]] = ContextVar("TURN_ENDS", default=lambda: None)
"""Called, from any thread, before a wait for a server or a person: the next request may begin."""


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """The client that a session with a server belongs to. `key` tells it from all others, `name` is for people. Without a key it is
    Wayfare itself, whose requests leave no state behind: it lists tools, and uses the sessions that all clients share. The session
    declares the client's `abilities` to the server. A `passing` client may not be known again: only its next request tells."""

    key: str = ""
    name: str = ""
    abilities: frozenset[str] = NOBODY
    passing: bool = field(default=False, compare=False)


WAYFARE = SessionOwner()
SESSION_OWNER: ContextVar[SessionOwner] = ContextVar("SESSION_OWNER", default=WAYFARE)
"""Set while a request of a client is answered; threads that work for it have it, too."""


# What servers list, by the protocol's methods.

TOOLS, RESOURCES, TEMPLATES, PROMPTS = "tools/list", "resources/list", "resources/templates/list", "prompts/list"
ITEMS = {TOOLS: "tools", RESOURCES: "resources", TEMPLATES: "resource_templates", PROMPTS: "prompts"}
"""The methods that list something, and the field of their results that has it."""
