"""A stored run in parts: its measures for the tasks of each level, category or server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.domain.task import Task
from core.lab.significance import interval
from core.lab.stored_runs import task_values

Groups = Callable[[Task], Sequence[str]]
NO_GROUP = ""

BY: Mapping[str, Groups] = {
    "level": lambda task: [task.level],
    "category": lambda task: [task.category],
    "server": lambda task: list(dict.fromkeys(tool.partition("::")[0] for tool in task.relevant)),
}


@dataclass(frozen=True, slots=True)
class Part:
    """The tasks of one group: `n` that something can do with their mean of a measure in [0, 1] and its 95 % interval by bootstrap
    over tasks (NaN for none), and of the `impossible` ones how many were `refused`."""

    group: str
    n: int
    mean: float
    low: float
    high: float
    impossible: int
    refused: int


def parts(tasks: Sequence[Task], result: Mapping[str, Any], measure: str, by: str) -> tuple[Part, ...]:
    """The groups of `BY[by]` in alphabetical order; a task of several servers counts for each.

    `measure` is a name of ir_measures, `result` a run's entry in `wayfare bench --json`.
    """
    values = iter(task_values(tasks, result, measure))
    worth = {task.id: float(next(values)) for task in tasks if task.relevant}
    grouped: dict[str, list[Task]] = {}
    for task in tasks:
        for group in BY[by](task) or [NO_GROUP]:
            grouped.setdefault(group, []).append(task)
    return tuple(_part(group, grouped[group], worth, result) for group in sorted(grouped))


def _part(group: str, tasks: Sequence[Task], worth: Mapping[str, float], result: Mapping[str, Any]) -> Part:
    known = np.array([worth[task.id] for task in tasks if task.relevant])
    impossible = [task for task in tasks if not task.relevant]
    refused = sum(not result["tasks"][task.id]["candidates"] for task in impossible)
    mean = float(known.mean()) if len(known) else float("nan")
    return Part(group, len(known), mean, *interval(known), len(impossible), refused)
