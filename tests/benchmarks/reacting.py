"""ETOM's ReAct by a model (its appendix C.1): reason, act, observe, without retrieval. Offline: an observation is a look-up in the catalog.

    classify     TOOLS or CONVERSATIONAL, which ends without a tool
    each cycle   the next action or the end; at most `SERVERS` servers by name and description; one of their tools
    observe      a tool that is in the catalog is returned with its input schema; else the step failed, and the cycle goes on

ReAct@N makes N trajectories by other wordings of the orchestration prompt, and counts the best.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.catalog import Catalog, Server
from core.domain.errors import PlannerError
from core.domain.tasks import Task
from core.lab.levels import LEVELS
from core.planning.base import Card
from core.planning.model import ModelPlanner
from core.relevance.text_views import full, profile
from tests.benchmarks.asking import needs_tools, next_action

CYCLES, SERVERS = 6, 3
WAYS = (
    "",
    "Begin with what the other parts need.",
    "Choose the smallest action that brings the question forward.",
    "Think of the last result that is asked for, and of what it needs.",
    "Look for parts of the question that are easily overlooked.",
)
SERVER_ERROR, TOOL_ERROR, ORCHESTRATION_ERROR = ERRORS = (
    "server_selection_error", "tool_selection_error", "orchestration_error",
)  # fmt: skip


@dataclass(slots=True)
class Trajectory:
    """The tools of one attempt in order, and its errors by kind. `done` are the actions with their observations."""

    called: list[str] = field(default_factory=list[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    done: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def score(self, task: Task) -> float:
        """The paper's score of a task's level: exact match, or F1 on L3 and L4. A failed process is no rejection of an impossible task."""
        scores = LEVELS[task.level]
        if not self.called and self.errors:
            return 0.0
        return scores.get("f1", scores["em"])(list(dict.fromkeys(self.called)), task)


def react(catalog: Catalog, model: ModelPlanner, question: str, way: str = "") -> Trajectory:
    """One trajectory of at most `CYCLES` cycles."""
    trajectory = Trajectory()
    try:
        if not needs_tools(model, question):
            return trajectory
    except PlannerError:
        trajectory.errors[ORCHESTRATION_ERROR] += 1
        return trajectory
    for _ in range(CYCLES):
        try:
            action = next_action(model, question, trajectory.done, way)
        except PlannerError:  # an equal question would get an equal answer
            trajectory.errors[ORCHESTRATION_ERROR] += 1
            break
        if not action:
            break
        trajectory.done.append((action, _observed(catalog, model, action, trajectory)))
    return trajectory


def _observed(catalog: Catalog, model: ModelPlanner, action: str, trajectory: Trajectory) -> str:
    servers = [
        catalog.servers[catalog.server_row[name]]
        for name in _selected(
            model, action, [Card(server.name, profile(server), 0.0) for server in catalog.servers], SERVERS
        )
    ]
    if not servers:
        trajectory.errors[SERVER_ERROR] += 1
        return SERVER_ERROR
    tools = _selected(model, action, _cards(servers), 1)
    if not tools:
        trajectory.errors[TOOL_ERROR] += 1
        return TOOL_ERROR
    trajectory.called.append(tools[0])
    tool = catalog.tools[catalog.tool_row[tools[0]]]
    return json.dumps({"tool": tool.id, **tool.definition()}, ensure_ascii=False)


def _cards(servers: Sequence[Server]) -> list[Card]:
    return [Card(tool.id, full(tool), 0.0) for server in servers for tool in server.tools]


def _selected(model: ModelPlanner, action: str, cards: Sequence[Card], count: int) -> tuple[str, ...]:
    try:
        return model.select(action, cards, count).ids
    except PlannerError:
        return ()
