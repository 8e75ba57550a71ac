"""Several judges of the same tools: how far they agree, one grade for each tool, and pools of tools to judge."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.feedback import GRADES, AskedQuery, Judgment
from core.domain.tasks import Task
from core.lab.stored_runs import Result
from core.shared.errors import ParameterError

MOST_RESAMPLES, LEAST_RESAMPLES = 500, 100
MOST_DRAWN = 500_000  # units over all resamples; bounds the time of an interval
JUDGE = "judge:"  # prefix of a rule that takes the grades of one judge
Settled = Mapping[AskedQuery, Mapping[str, int]]
"""One grade for each judged tool, by query, in order of their first judgment."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha of ordinal grades with its 95 % interval: 1 means that all say the same, 0 agreement by chance.

    alpha is None if it is undefined: no tool has two judges, or all grades are the same. `judges` counts the judgments of each
    judge, `units` the query-tool pairs, `shared` the pairs of two judges or more, `same` the shared pairs without a difference.
    """

    judges: Mapping[str, int]
    units: int
    shared: int
    same: int
    alpha: float | None
    low: float | None
    high: float | None


def median(grades: Sequence[int]) -> int | None:
    """The middle grade. Of an even number it is the lower of the two in the middle, so a grade that a judge gave."""
    return statistics.median_low(grades)


def majority(grades: Sequence[int]) -> int | None:
    """The grade that more than half of the judges gave, None if there is no such grade."""
    grade, votes = Counter(grades).most_common(1)[0]
    return grade if 2 * votes > len(grades) else None


def unanimous(grades: Sequence[int]) -> int | None:
    """The grade that all judges gave, None if they differ."""
    return grades[0] if len(set(grades)) == 1 else None


RULES: Mapping[str, Callable[[Sequence[int]], int | None]] = {
    "median": median,
    "majority": majority,
    "unanimous": unanimous,
}
RULE_WORDS = {
    "median": "the median; of an even number the lower middle grade",
    "majority": "the grade that more than half gave; others are left out",
    "unanimous": "the grade that all gave; others are left out",
}


def settled(judgments: Iterable[Judgment], rule: str) -> Settled:
    """One grade for each tool, by a rule of `RULES` or by `judge:NAME`, the grade of that judge. Unsettled tools are left out.

    Raises ParameterError for any other rule and for an unknown judge.
    """
    said: dict[AskedQuery, dict[str, dict[str, int]]] = {}
    for one in judgments:
        if one.grade is not None:
            said.setdefault(one.query, {}).setdefault(one.tool, {})[one.judge] = one.grade
    settle = _rule(rule, {judge for tools in said.values() for grades in tools.values() for judge in grades})
    found = {
        query: {tool: grade for tool, grades in tools.items() if (grade := settle(grades)) is not None}
        for query, tools in said.items()
    }
    return {query: tools for query, tools in found.items() if tools}


def _rule(rule: str, judges: set[str]) -> Callable[[Mapping[str, int]], int | None]:
    if rule in RULES:
        return lambda grades: RULES[rule](tuple(grades.values()))
    name = rule.removeprefix(JUDGE)
    if name == rule:
        raise ParameterError(
            f"There is no rule {rule!r} for what judges differ in; choose {', '.join(RULES)} or {JUDGE}NAME."
        )
    if judges and name not in judges:
        raise ParameterError(
            f"There is no judgment of {name!r} in this set; its judges are {', '.join(sorted(judges))}."
        )
    return lambda grades: grades.get(name)


def judged_tasks(grades: Settled) -> tuple[tuple[Task, ...], int]:
    """Judged queries as labelled tasks, and the number of queries left out.

    A tool of grade 1 or more can do the task; the best come first. A query whose judged tools all have grade 0 is left out,
    because the other tools were not judged.
    """
    tasks = tuple(
        Task(query.id, query.subtask, query.server_hint, right, {tool: float(grade) for tool, grade in tools.items()})
        for query, tools in grades.items()
        if (right := tuple(sorted((tool for tool in tools if tools[tool] > 0), key=lambda tool: (-tools[tool], tool))))
    )
    return tasks, len(grades) - len(tasks)


def agreement(judgments: Sequence[Judgment], *, seed: int = 0) -> Agreement:
    """How far the judges of a set agree, over the query-tool pairs that have two judges or more."""
    counts = grade_counts(judgments)
    shared = counts[counts.sum(axis=1) > 1]
    low, high = alpha_interval(shared, seed=seed)
    return Agreement(
        judges=dict(Counter(one.judge for one in judgments)),
        units=len(counts),
        shared=len(shared),
        same=int((shared.max(axis=1, initial=0) == shared.sum(axis=1)).sum()),
        alpha=ordinal_alpha(shared),
        low=low,
        high=high,
    )


def grade_counts(judgments: Iterable[Judgment]) -> NDArray[np.int64]:
    """The number of judges that gave each grade to each query-tool pair, (pairs, grades)."""
    rows: dict[tuple[AskedQuery, str], NDArray[np.int64]] = {}
    for one in judgments:
        if one.grade is not None:
            rows.setdefault((one.query, one.tool), np.zeros(len(GRADES), np.int64))[one.grade] += 1
    return np.array([*rows.values()]).reshape(len(rows), len(GRADES))


def ordinal_alpha(counts: NDArray[np.int64]) -> float | None:
    """Krippendorff's alpha, ordinal (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"), None if it is undefined.

    Shape: (units, grades) counts of judges.

    >>> ordinal_alpha(np.array([[2, 0], [0, 2]])), ordinal_alpha(np.array([[2, 0], [2, 0]]))
    (1.0, None)
    """
    paired = counts[counts.sum(axis=1) > 1]
    if (paired.sum(axis=0) > 0).sum() < 2:
        return None
    import krippendorff

    return float(krippendorff.alpha(value_counts=paired, level_of_measurement="ordinal"))


def alpha_interval(counts: NDArray[np.int64], *, seed: int = 0) -> tuple[float | None, float | None]:
    """The 95 % percentile interval of alpha, by bootstrap over units. Draws without a defined alpha are left out, which
    `scipy.stats.bootstrap` cannot do.
    """
    if ordinal_alpha(counts) is None:
        return None, None
    rng = np.random.default_rng(seed)
    resamples = min(MOST_RESAMPLES, max(LEAST_RESAMPLES, MOST_DRAWN // len(counts)))
    drawn = [ordinal_alpha(counts[rng.integers(len(counts), size=len(counts))]) for _ in range(resamples)]
    known = [value for value in drawn if value is not None and math.isfinite(value)]
    low, high = np.quantile(known, [0.025, 0.975]) if known else (math.nan, math.nan)
    return (float(low), float(high)) if known else (None, None)


# Pooling (Sparck Jones and van Rijsbergen 1975; TREC): the first k tools of every router, in an order that hides the router ---


@dataclass(frozen=True, slots=True)
class Pooled:
    """One tool to judge for one query, and whether it has been judged."""

    query: AskedQuery
    tool: str
    judged: bool = False


def pooled(
    tasks: Sequence[Task],
    results: Sequence[Result],
    depth: int,
    judged: Collection[tuple[AskedQuery, str]],
) -> tuple[Pooled, ...]:
    """The pool of all tasks over stored runs, unjudged tools first. The tools of a query stay together; the queries on which the runs
    differ most come first, because they decide which run is better: by the number of different first tools, then of tools that
    not all runs propose.

    `results` are entries of `wayfare bench --json`. A run without a task proposes nothing for it. `judged` holds the queries and
    tools that count as judged.
    """
    found: dict[AskedQuery, list[tuple[str, ...]]] = {}
    for task in tasks:
        proposed = found.setdefault(AskedQuery(task.subtask, task.server_hint), [])
        entries = (result["tasks"].get(task.id) for result in results)
        proposed += [tuple(entry["candidates"][:depth]) for entry in entries if entry is not None]
    pairs = [
        (query, tool)
        for query, lists in sorted(found.items(), key=lambda one: _difference(one[1]), reverse=True)
        for tool in sorted({tool for tools in lists for tool in tools}, key=lambda one: _place(query, one))
    ]
    return tuple(
        Pooled(query, tool, done)
        for done in (False, True)
        for query, tool in pairs
        if ((query, tool) in judged) is done
    )


def _difference(lists: Sequence[Sequence[str]]) -> tuple[int, int]:
    """How far the runs differ on a query: the number of different first tools, and of tools that not all of them propose.

    >>> _difference([("a", "b"), ("b", "a")]), _difference([("a",), ("a", "c")]), _difference([])
    ((2, 0), (1, 1), (0, 0))
    """
    tools = [set(one) for one in lists]
    shared = set[str].intersection(*tools) if tools else set[str]()
    return len({tuple(one[:1]) for one in lists}), len(set[str]().union(*tools)) - len(shared)


def _place(query: AskedQuery, tool: str) -> str:
    """The position of a tool among those of its query: a hash, so that neither name nor rank decides."""
    return hashlib.sha256(f"{query.id} {tool}".encode()).hexdigest()
