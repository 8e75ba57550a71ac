"""A caller for tests: it keeps its requests, and a subclass answers."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from core.domain.catalog import Connection, Tool
from core.domain.execution import Progress
from core.domain.outcome import Outcome, ToolCall


class RecordingCaller(ABC):
    """A `ToolCaller` whose calls and connections can be read afterwards."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.connections: list[Connection | None] = []

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """See ToolCaller."""
        self.calls.append(call)
        self.connections.append(connection)
        return self.answer(call, on_progress or (lambda _: None), cancel or threading.Event())

    @abstractmethod
    def answer(self, call: ToolCall, report: Callable[[Progress], None], cancel: threading.Event) -> Outcome:
        """The outcome of a call; progress may be reported, and `cancel` be set meanwhile."""
