"""What services say to telemetry. This one is off: it keeps nothing and imports nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from core.domain.decision import Decision
from core.domain.outcome import Outcome, ToolCall

Ended = Callable[[Outcome], None]


class Telemetry:
    """Thread-safe."""

    def decided(self, decision: Decision, origin: str) -> None:
        """A decision was made just now."""

    @contextmanager
    def calling(self, call: ToolCall, origin: str) -> Generator[Ended]:  # noqa: ARG002
        """Around a call; what is sent to the server inside has its trace. The body says how it ended."""
        yield _nothing

    def answered(self, tool: str, duration_s: float, error: str) -> None:
        """The endpoint answered a call of one of its own tools; `error` is a short name, "" where it did what was asked."""

    def close(self) -> None:
        """Send what is left."""


def _nothing(_: Outcome) -> None:
    pass


OFF = Telemetry()
