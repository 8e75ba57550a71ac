"""What a run of the lab needs of a decision: small enough to be stored for each task while the run is under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from core.domain.decision import Decision
from core.domain.task import Task
from core.domain.trace import DROPS, KEPT

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Routed:
    """One task as it was decided: candidates, best first; why no right tool is one (see `dropped_by`); ms of the decision; tokens
    that it put before a model."""

    candidates: tuple[str, ...]
    dropped_by: str
    latency_ms: float
    tokens: int

    @classmethod
    def of(cls, task: Task, decision: Decision) -> Self:
        """From a decision."""
        names = tuple(decision.tools.ids[row] for row in decision.candidates)
        exposure = decision.exposure
        tokens = exposure.exposed + exposure.cached
        return cls(names, dropped_by(task, decision), decision.timings_ms["total"], tokens)

    def to_json(self) -> dict[str, Any]:
        """As the store keeps it."""
        return asdict(self)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """From what `to_json` gave."""
        found = dict(document)
        return cls(tuple(found.pop("candidates")), **found)


def dropped_by(task: Task, decision: Decision) -> str:
    """Where no right tool is a candidate: the stage that dropped the most similar of them, or `ABSENT`; else ""."""
    right = [row for row, tool in enumerate(decision.tools.ids) if tool in task.relevant]
    if not task.relevant or set(right) & set(decision.candidates):
        return ""
    if not right:
        return ABSENT
    code = int(decision.tools.dropped[max(right, key=lambda row: float(decision.tools.similarity[row]))])
    return "" if code == KEPT else DROPS[code].value
