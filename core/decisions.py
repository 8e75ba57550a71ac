"""Decisions as they are asked for: once each, recorded, found again by id, and step by step for a plan."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from core.domain.decision import Decision
from core.domain.params import Parameters
from core.domain.plan import Plan
from core.errors import UnknownNameError
from core.library import Library
from core.planning.base import Planner, SubQuery
from core.planning.environment import chosen_planner
from core.recording import Recorder
from core.routers import ROUTERS, Router
from core.routers.base import Scene
from core.routers.parameters import LearningParameters

DECISIONS_KEPT = 256


class Decisions:
    """Asks the routers, and keeps what they said. Thread-safe."""

    def __init__(self, library: Library, recorder: Recorder, planners: Mapping[str, Planner]) -> None:
        self._library = library
        self._recorder = recorder
        self._planners = planners
        self._routers: dict[str, Router] = {name: router(planners) for name, router in ROUTERS.items()}
        self._by_id: OrderedDict[str, Decision] = OrderedDict()
        self._asked: OrderedDict[tuple[object, ...], tuple[Scene, Decision]] = OrderedDict()
        self._lock = threading.Lock()

    def parameters(self, router: str, values: Mapping[str, object] | None = None) -> Parameters:
        """A router's parameters with some values set. Raises ParameterError, UnknownNameError."""
        return self._router(router).parameters().replaced(values or {})

    def decide(
        self,
        subtask: str,
        *,
        catalog: str,
        router: str,
        parameters: Parameters | None,
        server_hint: str = "",
        record: bool = True,
        origin: str = "console",
    ) -> Decision:
        """One decision; recorded as an event unless told otherwise. The same question over unchanged figures gives the
        same decision again, recorded once."""
        asking = self._router(router)
        chosen = parameters if parameters is not None else asking.parameters()
        learning = chosen if isinstance(chosen, LearningParameters) else None
        scene = self._library.scene(catalog, learning)
        if not record:
            return asking.route(subtask, scene, chosen, server_hint=server_hint)
        asked = (id(scene), router, chosen, subtask.strip(), server_hint.strip(), origin)
        with self._lock:
            known = self._asked.get(asked)
        if known is not None and known[0] is scene:
            self._recorder.repeated(known[1], asking.parameters().values(), origin)
            return known[1]  # nothing has changed since: it is the same decision, not a new one
        decision = asking.route(subtask, scene, chosen, server_hint=server_hint)
        self._recorder.decision(decision, asking.parameters().values(), origin, asking.event(decision))
        with self._lock:
            _keep(self._by_id, decision.id, decision)
            _keep(self._asked, asked, (scene, decision))
        return decision

    def parts(self, question: str, *, planner: str) -> tuple[SubQuery, ...]:
        """What a question asks for, one part where it cannot be taken apart. Raises PlannerError."""
        return chosen_planner(self._planners, planner).decompose(question)

    def plan(
        self, question: str, *, planner: str, catalog: str, router: str, parameters: Parameters | None, origin: str
    ) -> Plan:
        """A question taken apart, each part a decision of its own that knows what the parts it builds on bring."""
        asking = self._router(router)
        chosen = parameters if parameters is not None else asking.parameters()

        def decide(text: str, seen: Sequence[str]) -> Decision:
            known = asking.having_seen(chosen, seen)
            return self.decide(text, catalog=catalog, router=router, parameters=known, origin=origin)

        parts = [(part.text, part.needs) for part in self.parts(question, planner=planner)]
        return Plan.of(question, self._planners[planner].name, parts, decide)

    def by_id(self, decision_id: str) -> Decision | None:
        """A decision of this process."""
        return self._by_id.get(decision_id)

    def _router(self, name: str) -> Router:
        if name not in self._routers:
            raise UnknownNameError(f"There is no router {name!r}; choose one of: {', '.join(self._routers)}.")
        return self._routers[name]


def _keep(kept: OrderedDict[Any, Any], key: object, value: object) -> None:
    kept[key] = value
    while len(kept) > DECISIONS_KEPT:
        kept.popitem(last=False)
