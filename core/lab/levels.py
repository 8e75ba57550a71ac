"""ETOM's five levels: the tools that a router would call, against the tools that a task needs.

    L1 direct          exact match: the first tool is the task's own
    L2 context-aware   exact match against the set: the first tool is one of the equal function set
    L3 one server, L4 across servers      node-set exact match, and F1 of predicted and needed nodes
    L5 out of scope    exact rejection: no tool at all

A predicted tool meets a step of the plan if it is the step's tool or one of its `equal`. A tool meets one step and a step one
tool, so the nodes that agree are a maximum matching. Steps with the same tool are one node.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.domain.decision import Decision
from core.domain.tasks import Task
from core.lab.benchmark import percentile
from core.lab.execution import Routed

# scipy carries no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

Score = Callable[[Sequence[str], Task], float]


def exact_match(predicted: Sequence[str], task: Task) -> float:
    """L1: 1 if the only tool is the task's own, the first of its relevant ones.

    >>> exact_match(["files::read"], Task("t", "x", relevant=("files::read", "disk::read")))
    1.0
    """
    return float(tuple(predicted) == task.relevant[:1] != ())


def set_match(predicted: Sequence[str], task: Task) -> float:
    """L2: 1 if the only tool is one of the equal function set.

    >>> set_match(["disk::read"], Task("t", "x", relevant=("files::read", "disk::read")))
    1.0
    """
    return float(len(predicted) == 1 and predicted[0] in task.relevant)


def node_set_match(predicted: Sequence[str], task: Task) -> float:
    """L3, L4: 1 if every predicted tool meets a step and every step has its tool, in any order."""
    nodes = _nodes(task)
    return float(len(set(predicted)) == len(nodes) == _agreeing(predicted, nodes))


def node_set_f1(predicted: Sequence[str], task: Task) -> float:
    """2 |agreeing| / (|predicted| + |needed|). L3, L4.

    >>> from core.domain.tasks import Step
    >>> plan = (Step("a::x", equal=("b::x",)), Step("a::y"))
    >>> node_set_f1(["b::x", "c::z", "a::x"], Task("t", "x", plan=plan))  # one step is met, by either of two
    0.4
    """
    nodes = _nodes(task)
    sizes = len(set(predicted)) + len(nodes)
    return 2 * _agreeing(predicted, nodes) / sizes if sizes else 0.0


def sequence_match(predicted: Sequence[str], task: Task) -> float:
    """1 if the predicted tools are the tools of the plan's steps, in order. L3, L4.

    >>> from core.domain.tasks import Step
    >>> task = Task("t", "x", plan=(Step("a::x", equal=("b::x",)), Step("a::y")))
    >>> sequence_match(["b::x", "a::y"], task), sequence_match(["a::y", "b::x"], task)
    (1.0, 0.0)
    """
    nodes = _nodes(task)
    return float(
        len(predicted) == len(nodes) and all(tool in node for tool, node in zip(predicted, nodes, strict=True))
    )


def node_set_recall(predicted: Sequence[str], task: Task) -> float:
    """|agreeing| / |needed|: the share of steps that have a tool. PA-RAG's primary measure.

    >>> from core.domain.tasks import Step
    >>> plan = (Step("a::x", equal=("b::x",)), Step("a::y"))
    >>> node_set_recall(["b::x", "c::z", "a::x"], Task("t", "x", plan=plan))
    0.5
    """
    nodes = _nodes(task)
    return _agreeing(predicted, nodes) / len(nodes) if nodes else 0.0


def node_set_precision(predicted: Sequence[str], task: Task) -> float:
    """|agreeing| / |predicted|. A second tool for one step lowers it."""
    return _agreeing(predicted, _nodes(task)) / len(set(predicted)) if predicted else 0.0


def rejection(predicted: Sequence[str], task: Task) -> float:  # noqa: ARG001
    """L5: 1 if no tool is predicted."""
    return float(not predicted)


LEVELS: dict[str, dict[str, Score]] = {
    "L1": {"em": exact_match},
    "L2": {"em": set_match},
    "L3": {"em": node_set_match, "f1": node_set_f1},
    "L4": {"em": node_set_match, "f1": node_set_f1},
    "L5": {"em": rejection},
}
STEPPED = ("L3", "L4")


@dataclass(frozen=True, slots=True)
class LevelRun:
    """One router over the tasks of one level: means of the level's scores in [0, 1], and the decisions' time in ms.

    `by_steps` has the number of tasks and the means for each length of plan, ascending: complexity decay (ETOM, 5.5).
    """

    router: str
    level: str
    n: int
    scores: Mapping[str, float]
    latency_ms_p50: float
    by_steps: Mapping[int, tuple[int, Mapping[str, float]]] = field(
        default_factory=dict[int, tuple[int, Mapping[str, float]]]
    )

    def to_json(self) -> dict[str, Any]:
        """An entry of `levels` in `wayfare bench --json`."""
        steps = {str(length): {"n": n, **means} for length, (n, means) in self.by_steps.items()}
        entry: dict[str, Any] = {"router": self.router, "level": self.level, "n": self.n, **self.scores}
        return entry | ({"by_steps": steps} if steps else {})


def run_levels(
    router: str, tasks: Sequence[Task], route: Callable[[str], Decision], known: Mapping[str, Routed] | None = None
) -> tuple[LevelRun, ...]:
    """Route every task's question, or its sub-task without one, and score it by its level. `known` has texts that were routed before.

    Returns one run for each level with tasks. Tasks of other levels are left out.
    """

    def asked(task: Task) -> Routed:
        query = task.question or task.subtask
        stored = (known or {}).get(query)
        return Routed.of(task, route(query)) if stored is None or stored.called is None else stored

    grouped = {level: [task for task in tasks if task.level == level] for level in LEVELS}
    return tuple(
        _run(router, level, of_level, [asked(task) for task in of_level])
        for level, of_level in grouped.items()
        if of_level
    )


def _run(router: str, level: str, tasks: Sequence[Task], routed: Sequence[Routed]) -> LevelRun:
    predictions = [decision.called or () for decision in routed]
    scores = {name: list(map(score, predictions, tasks)) for name, score in LEVELS[level].items()}
    return LevelRun(
        router=router,
        level=level,
        n=len(tasks),
        scores={name: statistics.fmean(values) for name, values in scores.items()},
        latency_ms_p50=percentile([decision.latency_ms for decision in routed], 50),
        by_steps=by_steps(tasks, scores) if level in STEPPED else {},
    )


def by_steps(
    tasks: Sequence[Task], scores: Mapping[str, Sequence[float]]
) -> dict[int, tuple[int, Mapping[str, float]]]:
    """The number of tasks and the mean of each score for each number of steps.

    >>> from core.domain.tasks import Step
    >>> tasks = [Task(str(at), "x", plan=(Step("a::x"),) * steps) for at, steps in enumerate((3, 2, 2))]
    >>> by_steps(tasks, {"f1": [0.5, 1.0, 0.0]})
    {2: (2, {'f1': 0.5}), 3: (1, {'f1': 0.5})}
    """
    places: dict[int, list[int]] = {}
    for place, task in sorted(enumerate(tasks), key=lambda item: len(item[1].plan)):
        places.setdefault(len(task.plan), []).append(place)
    return {
        length: (
            len(rows),
            {name: statistics.fmean(values[place] for place in rows) for name, values in scores.items()},
        )
        for length, rows in places.items()
    }


def _nodes(task: Task) -> list[frozenset[str]]:
    """For each tool of the plan, the tools that meet it."""
    alike: dict[str, set[str]] = {}
    for step in task.plan:
        alike.setdefault(step.tool, {step.tool}).update(step.equal)
    return [frozenset(tools) for tools in alike.values()]


def _agreeing(predicted: Sequence[str], nodes: Sequence[frozenset[str]]) -> int:
    """The size of a maximum matching of distinct predicted tools and nodes."""
    from scipy.optimize import linear_sum_assignment

    tools = dict.fromkeys(predicted)
    meets = np.array([[tool in node for node in nodes] for tool in tools]).reshape(len(tools), len(nodes))
    return int(meets[linear_sum_assignment(meets, maximize=True)].sum())
