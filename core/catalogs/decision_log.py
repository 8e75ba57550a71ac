"""Decisions and changes of parameters as events."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cachetools import LRUCache

from core.catalogs.background_jobs import Rounds
from core.domain.decision import Decision
from core.domain.events import DecisionEvent, ParameterEvent, origin_of
from core.domain.params import Parameters, Value
from core.domain.people import person
from core.routers.base import AnyRouter
from core.store import Store
from core.telemetry import OFF, Telemetry

VISITORS_KEPT = 4096
REMOVED_EVERY_S = 3600.0
AGENT = "agent"
"""The origin of events from clients of the endpoint."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChosenParameters:
    """Parameters as a visitor has set them; `origin` is the door that the visitor came through (page, command, endpoint)."""

    values: Parameters
    origin: str
    visitor: str

    @property
    def client(self) -> str:
        return self.visitor if self.origin == AGENT else person().name


@dataclass(eq=False)
class DecisionLog:
    """Appends decisions, and before each the parameters that its visitor has changed since its last decision. Thread-safe.

    A visitor is one open page, one command, or one client of the MCP endpoint. Changes belong to one visitor.
    """

    store: Store
    telemetry: Telemetry = OFF

    def __post_init__(self) -> None:
        self._last: LRUCache[tuple[str, str, str], Mapping[str, Value]] = LRUCache(VISITORS_KEPT)
        self._lock = threading.Lock()

    def decision(self, router: AnyRouter, decision: Decision, chosen: ChosenParameters) -> None:
        """Record a new decision and its visitor's changes. A step of a plan may be decided with more than was chosen."""
        changes = self._changes(router, chosen, decision.at)

        def events() -> list[ParameterEvent | DecisionEvent]:
            return [*changes, _decision_event(decision, chosen, router.event(decision))]

        if chosen.origin == AGENT:  # it is answered first; its words were checked at the door
            self.store.events.make_later(decision.id, events)
        else:
            self.store.events.append_later(*events())
        self.telemetry.decided(decision, chosen.origin)

    def repeated(self, router: AnyRouter, chosen: ChosenParameters) -> None:
        """Record the changes if an earlier decision is shown again. Going back to its parameters is a change, too."""
        if changes := self._changes(router, chosen, datetime.now(UTC)):
            self.store.events.append_later(*changes)

    def _changes(self, router: AnyRouter, chosen: ChosenParameters, at: datetime) -> list[ParameterEvent]:
        values, key = chosen.values.values(), (chosen.origin, chosen.visitor, router.id)
        with self._lock:
            previous = self._last.get(key)
            self._last[key] = values
        previous = router.parameters().values() if previous is None else previous
        origin = origin_of(chosen.origin, person().name)
        return [
            ParameterEvent(at, router.id, name, str(previous.get(name)), str(value), origin)
            for name, value in values.items()
            if previous.get(name) != value
        ]


class TraceRemovals(Rounds):
    """Removes traces of decisions once their time is over, in a thread of its own. Figures and the chain of hashes stay."""

    def __init__(self, store: Store, keep: timedelta, now: Callable[[], datetime]) -> None:
        super().__init__(pause_s=REMOVED_EVERY_S, name="wayfare-traces")
        self._store, self._keep, self._now = store, keep, now

    def round(self) -> None:
        now = self._now()
        if removed := self._store.events.remove_traces(now - self._keep, now):
            _log.info("the traces of %d decisions from before %s were removed", removed, now - self._keep)


def _decision_event(decision: Decision, chosen: ChosenParameters, event: Mapping[str, Any]) -> DecisionEvent:
    winner = decision.winner
    trace = decision.trace()
    return DecisionEvent(
        id=decision.id,
        at=decision.at,
        catalog=decision.catalog,
        router=decision.router,
        subtask=decision.query,
        server_hint=decision.server_hint,
        parameters_json=json.dumps(dict(decision.parameters)),
        winner=winner.tool if winner else None,
        reason=decision.reason,
        expected_price_usd=winner.payment_usd if winner else None,
        expected_time_s=winner.time_cost_s if winner else None,
        total_ms=decision.timings_ms["total"],
        candidates_json=json.dumps([t for t in trace["tools"] if t["dropped_by"] is None]),
        trace_json=json.dumps({**trace, "event": dict(event)} if event else trace),
        origin=chosen.origin,
        client=decision.client,
    )
