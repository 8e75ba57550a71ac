"""The client that made a call, as its server may reach it while the call runs: log messages, and questions before it can go on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

NOBODY = frozenset[str]()
"""What a client can be asked that can be asked nothing."""


@dataclass
class Waiting:
    """For the answers of a client: how long in all, s, and how many of them are awaited now."""

    total_s: float = 0.0
    now: int = 0


@dataclass(frozen=True)
class ClientSide:
    """`client` is its name, `abilities` are what it declared: sampling, elicitation, roots. `log` and `ask` may be used from any thread and do
    not wait. A client that is `asked_between` rounds gets the questions in place of a result, kept in `questions`, and makes its
    request again with `answers`, the fields input_responses and request_state. `log_level` is "" where it wants no messages.
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


CLIENT_SIDE: ContextVar[ClientSide | None] = ContextVar("CLIENT_SIDE", default=None)
"""Set while a request of a mirror's client is answered; threads that work for it have it, too."""
