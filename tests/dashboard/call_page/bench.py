"""An app with one small catalog, and a fake caller behind its Call page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.execution import Progress
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from tests.callers import RecordingCaller
from tests.dashboard import harness
from tests.dashboard.harness import checked, open_page

HOSTILE = "<script>alert(1)</script> **bold** :red[x] $a$ [link](javascript:alert(1))"
CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads and removes files.",
            "connection": {"command": "nowhere"},
            "tools": [
                {
                    "name": "read",
                    "title": "Read **a** file",
                    "description": HOSTILE,
                    "price_usd": 0.002,
                    "annotations": {"readOnlyHint": True},
                    "inputSchema": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "description": "Which file"},
                            "lines": {"type": "integer", "minimum": 1, "default": 10},
                            "mode": {"enum": ["text", "bytes"]},
                            "tail": {"type": "boolean"},
                            "filters": {"type": "array", "items": {"type": "string"}},
                            "token": {"type": "string", "format": "password"},
                        },
                        "required": ["path"],
                    },
                },
                {"name": "remove", "description": "Removes a file.", "annotations": {"destructiveHint": True}},
                {"name": "stat", "description": "Size of a file.", "inputSchema": {"type": "object", "properties": {}}},
            ],
        },
        {
            "name": "shelf",
            "description": "Lends books.",
            "virtual": True,
            "tools": [{"name": "lend", "description": "Lends a book.", "annotations": {"destructiveHint": True}}],
        },
    ]
}


class Caller(RecordingCaller):
    """Returns `outcome` once `go` is set; reports `progress` before."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Ends the running calls and forgets all calls."""
        self.go.set()
        self.go = threading.Event()
        self.outcome: dict[str, Any] = {}
        self.progress: Progress | None = None
        self.calls.clear()
        self.connections.clear()

    def answer(self, call: ToolCall, report: Callable[[Progress], None], cancel: threading.Event) -> Outcome:
        """See RecordingCaller."""
        if self.progress is not None:
            report(self.progress)
        go = self.go
        while not go.wait(0.005):
            if cancel.is_set():
                return Outcome(call, OutcomeKind.CANCELLED, datetime.now(UTC), 0.1, error="cancelled")
        fields = {"kind": OutcomeKind.OK, "latency_s": 0.2, **self.outcome}
        return Outcome(call=call, started_at=datetime.now(UTC), protocol_version="2026-07-28", **fields)


@dataclass
class Bench:
    """An app with one small catalog, and the caller behind it."""

    app: App
    caller: Caller

    def open(self, tool: str = "files::read", **query: str) -> AppTest:
        """The page after its first run."""
        return open_page("call", **{"catalog": "small", "tool": tool, **query})

    def answered(self, page: AppTest) -> AppTest:
        """The page once the call under way is done."""
        self.caller.go.set()
        for run in page.session_state["call.runs"].values():
            run.handle.report(20)
        return checked(page.run())


def key_of(page: AppTest, key: str) -> str:
    """The key of a button by its beginning. The keys of calls end with what they call."""
    return next(str(button.key) for button in page.button if str(button.key).startswith(key))


def press(page: AppTest, key: str = "call.run.go") -> AppTest:
    """The page after a button."""
    return harness.press(page, key_of(page, key))


def how(page: AppTest) -> Any:
    """The choice between real, virtual and simulated calls."""
    return next(group for group in page.segmented_control if group.label == "How")


def labelled(page: AppTest, kind: str, label: str) -> Any:
    """A widget by the beginning of its label."""
    return next(widget for widget in getattr(page, kind) if widget.label.startswith(label))
