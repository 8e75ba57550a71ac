"""Stored runs over the same tasks: what each task was worth, and what one run won and lost against another.

A stored run is its entry in `wayfare bench --json`; its measures for each task are computed again from its candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.domain.task import Task
from core.lab.benchmark import score_tasks
from core.lab.significance import EQUAL

Result = Mapping[str, Any]
Change = Literal["won", "lost", "same"]


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task in a run against a baseline: the candidates of both, best first, and whether it was won.

    `was` and `now` are the ranks of the first right tool, None where no candidate is right. `possible` is False for a task that
    nothing can do: it is won where it is refused now and was not.
    """

    task: Task
    was: int | None
    now: int | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    change: Change

    @property
    def possible(self) -> bool:
        """Whether some tool can do the task."""
        return bool(self.task.relevant)


def task_values(tasks: Sequence[Task], result: Result, measure: str) -> NDArray[np.float64]:
    """A measure (by its name in ir_measures) for each task that something can do, (possible tasks,)."""
    scores, _ = score_tasks(tasks, [_entry(result, task)["candidates"] for task in tasks])
    return scores[measure]


def task_changes(tasks: Sequence[Task], baseline: Result, result: Result, measure: str) -> tuple[TaskChange, ...]:
    """Each task of `result` against `baseline`, by a measure; a task that nothing can do counts by whether it was refused."""
    before, after = (iter(task_values(tasks, one, measure)) for one in (baseline, result))
    found: list[TaskChange] = []
    for task in tasks:
        old, new = _entry(baseline, task), _entry(result, task)
        gain = next(after) - next(before) if task.relevant else bool(old["candidates"]) - bool(new["candidates"])
        change: Change = "won" if gain > EQUAL else "lost" if gain < -EQUAL else "same"
        found.append(
            TaskChange(task, old["rank"], new["rank"], tuple(old["candidates"]), tuple(new["candidates"]), change)
        )
    return tuple(found)


def _entry(result: Result, task: Task) -> Mapping[str, Any]:
    return result["tasks"][task.id]
