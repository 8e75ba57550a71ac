"""Why tasks failed in a stored run: the stage that dropped the right tool, in the groups that a person asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.task import Task
from core.domain.trace import Drop
from core.lab.routed import ABSENT
from core.lab.stored_runs import Result

NOT_FIRST, NOT_REFUSED, UNKNOWN = "not_first", "not_refused", "unknown"


class Why(StrEnum):
    """Why a task failed."""

    NOT_IN_INDEX = "not in the index"
    WRONG_SERVER = "wrong server"
    OUT_RANKED = "out-ranked"
    PRICED_OUT = "priced out"
    GATED = "gated"
    REFUSED_WRONGLY = "refused wrongly"
    NOT_REFUSED = "not refused"
    UNKNOWN = "the run does not say"


STAGES: Mapping[str, Why] = {
    ABSENT: Why.NOT_IN_INDEX,
    Drop.PRUNED: Why.NOT_IN_INDEX,
    Drop.NOT_SHORTLISTED: Why.WRONG_SERVER,
    Drop.OUTRANKED: Why.OUT_RANKED,
    Drop.NOT_RETRIEVED: Why.OUT_RANKED,
    NOT_FIRST: Why.OUT_RANKED,
    Drop.REJECTED: Why.PRICED_OUT,
    Drop.NOT_AFFORDABLE: Why.PRICED_OUT,
    Drop.NOT_WORTH: Why.PRICED_OUT,
    Drop.GATED: Why.GATED,
    Drop.BELOW_THRESHOLD: Why.GATED,
    Drop.REFUSED: Why.REFUSED_WRONGLY,
    NOT_REFUSED: Why.NOT_REFUSED,
    UNKNOWN: Why.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed task, and the stage that its group stands for."""

    task: Task
    stage: str


def stage(task: Task, result: Result) -> str:
    """Where a task failed: the stage that dropped its right tool, "absent" from the catalog, `NOT_FIRST` where a right tool is a
    candidate behind another, `NOT_REFUSED` where nothing can do it; "" where it did not fail.

    `UNKNOWN` where the run was stored without it.
    """
    entry = result["tasks"][task.id]
    if not task.relevant:
        return NOT_REFUSED if entry["candidates"] else ""
    if entry["rank"] is not None:
        return "" if entry["rank"] == 1 else NOT_FIRST
    return str(entry.get("dropped_by") or UNKNOWN)


def failures(tasks: Sequence[Task], result: Result) -> dict[Why, tuple[Failed, ...]]:
    """The failed tasks by why, the largest group first."""
    found: dict[Why, list[Failed]] = {}
    for task in tasks:
        if where := stage(task, result):
            found.setdefault(STAGES.get(where, Why.UNKNOWN), []).append(Failed(task, where))
    return {why: tuple(ones) for why, ones in sorted(found.items(), key=lambda item: -len(item[1]))}
