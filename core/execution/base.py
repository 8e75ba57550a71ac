"""The interface through which tools are called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.domain.catalog import Connection, Tool
from core.domain.outcome import Outcome, OutcomeKind, ToolCall

Settle = Callable[[OutcomeKind | None], None]
"""Told how a call ended, None where that says nothing of its server."""
Leave = Callable[[ToolCall, str], Settle | None]
"""Whether a call that comes from somewhere may be made: then how it is settled."""


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
    """Leave for every call, where nobody governs them."""
    return lambda _kind: None
