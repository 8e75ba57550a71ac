"""Decisions and changes of parameters as events."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.domain.catalog import EMPTY
from core.domain.decision import Decision
from core.domain.events import DecisionEvent, ParameterEvent
from core.domain.params import Value
from core.store import Store


class Recorder:
    """Appends what was decided, and before it each parameter that differs from the last decision's. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: dict[str, Mapping[str, Value]] = {}
        self._lock = threading.Lock()

    def decision(
        self, decision: Decision, defaults: Mapping[str, Value], origin: str, event: Mapping[str, Any] = EMPTY
    ) -> None:
        """Record a new decision; `defaults` are what its router's first decision is compared with, `event` is what the
        router itself reports of it."""
        changes = self._changes(decision, defaults, origin, decision.at)
        self._store.events.append_later(*changes, _decision_event(decision, origin, event))

    def repeated(self, decision: Decision, defaults: Mapping[str, Value], origin: str) -> None:
        """An earlier decision is shown again: the way back to its parameters is a change as well."""
        if changes := self._changes(decision, defaults, origin, datetime.now(UTC)):
            self._store.events.append_later(*changes)

    def _changes(
        self, decision: Decision, defaults: Mapping[str, Value], origin: str, at: datetime
    ) -> list[ParameterEvent]:
        with self._lock:
            before = self._last.get(decision.router, defaults)
            self._last[decision.router] = decision.parameters
        return [
            ParameterEvent(at, decision.router, name, str(before.get(name)), str(value), origin)
            for name, value in decision.parameters.items()
            if before.get(name) != value
        ]


def _decision_event(decision: Decision, origin: str, event: Mapping[str, Any]) -> DecisionEvent:
    winner = decision.winner
    trace = decision.trace()
    return DecisionEvent(
        id=decision.id,
        at=decision.at,
        catalog=decision.catalog,
        router=decision.router,
        subtask=decision.subtask,
        server_hint=decision.server_hint,
        parameters_json=json.dumps(dict(decision.parameters)),
        winner=winner.tool if winner else None,
        reason=decision.reason,
        expected_price_usd=winner.price_usd if winner else None,
        expected_time_s=winner.time_cost_s if winner else None,
        total_ms=decision.timings_ms["total"],
        candidates_json=json.dumps([t for t in trace["tools"] if t["dropped_by"] is None]),
        trace_json=json.dumps({**trace, "event": dict(event)} if event else trace),
        origin=origin,
    )
