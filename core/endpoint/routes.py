"""A search that an agent refers to: by its route id, from memory or from the store."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.endpoint.base import Refusal, Request, Services


@dataclass(frozen=True, slots=True)
class Route:
    """What was asked and offered under a route id. `gated` means that nothing else may be called under it."""

    id: str
    subtask: str
    server_hint: str
    offered: tuple[str, ...]
    gated: bool


def route_of(services: Services, request: Request, route_id: str) -> Route:
    """The decision behind a route id; blocking. Raises Refusal."""
    decision = services.app.routing.decision(route_id)
    if decision is not None and decision.catalog == request.options.catalog:
        offered = tuple(decision.tools.ids[row] for row in decision.candidates)
        gated = decision.parameters.get("hallucination_gate") is not False
        return Route(decision.id, decision.subtask, decision.server_hint, offered, gated)
    services.app.store.events.flush()
    event = services.app.store.activity.decision(route_id)
    if event is None or event.catalog != request.options.catalog:
        raise Refusal(
            "unknown_route",
            f"There is no route {route_id!r} in catalog {request.options.catalog!r}.",
            "Take the route_id that search_tools gave, or leave it out.",
        )
    offered = tuple(tool["tool"] for tool in json.loads(event.candidates_json))
    gated = json.loads(event.parameters_json).get("hallucination_gate") is not False
    return Route(event.id, event.subtask, event.server_hint, offered, gated)
