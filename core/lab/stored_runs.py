"""Stored runs over one set of tasks: values by task, wins and losses, parts, failures, and decisions side by side.

A stored run is its entry in `wayfare bench --json`. Its measures by task are computed from its candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision
from core.domain.significance import EQUAL, interval
from core.domain.tasks import Task
from core.domain.trace import Drop
from core.lab.benchmark import score_tasks
from core.lab.execution import ABSENT

Result = Mapping[str, Any]
Change = Literal["won", "lost", "same"]


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task in a run against a baseline: the candidates of both, best first, and whether it was won.

    `was` and `now` are the ranks of the first right tool, None without one. An impossible task is won if only the new run
    refuses it.
    """

    task: Task
    was: int | None
    now: int | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    change: Change

    @property
    def possible(self) -> bool:
        return bool(self.task.relevant)


def task_values(tasks: Sequence[Task], result: Result, measure: str) -> NDArray[np.float64]:
    """A measure, by its name in ir_measures, for each possible task, (possible tasks,)."""
    scores, _ = score_tasks(tasks, [_entry(result, task)["candidates"] for task in tasks])
    return scores[measure]


def task_changes(tasks: Sequence[Task], baseline: Result, result: Result, measure: str) -> tuple[TaskChange, ...]:
    """Each task of `result` against `baseline`, by a measure. An impossible task counts by whether it was refused."""
    baselines, scores = (iter(task_values(tasks, entry, measure)) for entry in (baseline, result))
    changes: list[TaskChange] = []
    for task in tasks:
        old, new = _entry(baseline, task), _entry(result, task)
        gain = next(scores) - next(baselines) if task.relevant else bool(old["candidates"]) - bool(new["candidates"])
        change: Change = "won" if gain > EQUAL else "lost" if gain < -EQUAL else "same"
        changes.append(
            TaskChange(task, old["rank"], new["rank"], tuple(old["candidates"]), tuple(new["candidates"]), change)
        )
    return tuple(changes)


def _entry(result: Result, task: Task) -> Mapping[str, Any]:
    return result["tasks"][task.id]


# Parts: measures for the tasks of each level, category or server

Groups = Callable[[Task], Sequence[str]]
NO_GROUP = ""

BY: Mapping[str, Groups] = {
    "level": lambda task: [task.level],
    "category": lambda task: [task.category],
    "server": lambda task: list(dict.fromkeys(tool.partition("::")[0] for tool in task.relevant)),
}


@dataclass(frozen=True, slots=True)
class Part:
    """The tasks of one group: `n` possible tasks with the mean of a measure in [0, 1] and its 95 % interval by bootstrap over tasks
    (NaN without any), and the numbers of `impossible` and of `refused` tasks.
    """

    group: str
    n: int
    mean: float
    low: float
    high: float
    impossible: int
    refused: int


def parts(tasks: Sequence[Task], result: Mapping[str, Any], measure: str, by: str) -> tuple[Part, ...]:
    """The groups of `BY[by]` in alphabetical order. A task of several servers counts for each.

    `measure` is a name of ir_measures, `result` a run's entry in `wayfare bench --json`.
    """
    values = iter(task_values(tasks, result, measure))
    worth = {task.id: float(next(values)) for task in tasks if task.relevant}
    by_group: dict[str, list[Task]] = {}
    for task in tasks:
        for group in BY[by](task) or [NO_GROUP]:
            by_group.setdefault(group, []).append(task)
    return tuple(_part(group, by_group[group], worth, result) for group in sorted(by_group))


def _part(group: str, tasks: Sequence[Task], worth: Mapping[str, float], result: Mapping[str, Any]) -> Part:
    values = np.array([worth[task.id] for task in tasks if task.relevant])
    impossible = [task for task in tasks if not task.relevant]
    refused = sum(not result["tasks"][task.id]["candidates"] for task in impossible)
    mean = float(values.mean()) if len(values) else float("nan")
    return Part(group, len(values), mean, *interval(values), len(impossible), refused)


# Failures: the stage that dropped the right tool

NOT_FIRST, NOT_REFUSED, UNKNOWN = "not_first", "not_refused", "unknown"


class Why(StrEnum):
    NOT_IN_INDEX = "not in the index"
    WRONG_SERVER = "wrong server"
    OUT_RANKED = "outranked"
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


def stage(task: Task, result: Result) -> str:
    """The stage at which a task failed, "" if it did not fail.

    It is the stage that dropped its right tool, `ABSENT` if the catalog has no right tool, `NOT_FIRST` if another candidate is before it,
    `NOT_REFUSED` if the task is impossible, and `UNKNOWN` if the run was stored without stages.
    """
    entry = result["tasks"][task.id]
    if not task.relevant:
        return NOT_REFUSED if entry["candidates"] else ""
    if entry["rank"] is not None:
        return "" if entry["rank"] == 1 else NOT_FIRST
    return str(entry.get("dropped_by") or UNKNOWN)


def failures(tasks: Sequence[Task], result: Result) -> dict[Why, list[tuple[Task, str]]]:
    """The failed tasks by reason, each with its stage, the largest group first."""
    by_reason: dict[Why, list[tuple[Task, str]]] = {}
    for task in tasks:
        if stage_name := stage(task, result):
            by_reason.setdefault(STAGES.get(stage_name, Why.UNKNOWN), []).append((task, stage_name))
    return dict(sorted(by_reason.items(), key=lambda item: -len(item[1])))


# Decisions side by side on one sub-task


@dataclass(frozen=True, slots=True)
class Placing:
    """One tool in one decision: its rank among the candidates from 1, or None and the stage that dropped it."""

    rank: int | None
    dropped_by: Drop | None
    score: float


@dataclass(frozen=True, slots=True)
class ComparedTool:
    """A tool that is a candidate of some decision, with its placing in each."""

    tool: str
    placings: tuple[Placing, ...]


def agreement(decisions: Sequence[Decision]) -> NDArray[np.float64]:
    """(R, R) overlap of candidates, Jaccard |A and B| / |A or B|. Two decisions without candidates agree fully."""
    tool_sets = [{decision.tools.ids[row] for row in decision.candidates} for decision in decisions]
    return np.array(
        [[len(a & b) / len(a | b) if a | b else 1.0 for b in tool_sets] for a in tool_sets], dtype=np.float64
    ).reshape(len(tool_sets), len(tool_sets))


def compared_tools(decisions: Sequence[Decision]) -> tuple[ComparedTool, ...]:
    """Every tool that is a candidate of some decision: tools of most decisions first, then by best rank."""
    names = dict.fromkeys(d.tools.ids[row] for d in decisions for row in d.candidates)
    tools = [ComparedTool(name, tuple(_placing(decision, name) for decision in decisions)) for name in names]
    return tuple(sorted(tools, key=_place))


def winners(decisions: Sequence[Decision]) -> dict[str, int]:
    """The number of decisions that each winner has, most first. "" stands for no candidate."""
    return dict(Counter(decision.winner.tool if decision.winner else "" for decision in decisions).most_common())


def _placing(decision: Decision, tool: str) -> Placing:
    if tool not in decision.tools.ids:
        return Placing(None, None, float("nan"))
    row = decision.tools.ids.index(tool)
    figures = decision.tool_at(row)
    rank = decision.candidates.index(row) + 1 if row in decision.candidates else None
    return Placing(rank, figures.dropped_by, figures.utility)


def _place(compared: ComparedTool) -> tuple[int, int, str]:
    ranks = [placing.rank for placing in compared.placings if placing.rank is not None]
    return -len(ranks), min(ranks), compared.tool
