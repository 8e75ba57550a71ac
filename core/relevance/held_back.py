"""Folds that keep what belongs together in one piece, and the change of a measure on them with its paired interval.

change   = mean(after) - mean(before)                     over the same sub-tasks
interval = 2.5 % and 97.5 % quantile of the change over 2,000 draws of whole groups, with replacement
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 2000
LEAST_LABELS = 20
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Change:
    """A measure before and after, the change, and its 95 % interval."""

    before: float
    after: float
    low: float
    high: float

    @property
    def gain(self) -> float:
        """After minus before."""
        return self.after - self.before

    def to_json(self) -> dict[str, float]:
        """Four decimals are more than an interval bears."""
        numbers = {"before": self.before, "after": self.after, "gain": self.gain, "low": self.low, "high": self.high}
        return {name: round(value, 4) for name, value in numbers.items()}


def folds_of(groups: Sequence[str], count: int, *, seed: int = 0) -> Rows:
    """(Q,) the fold of each sub-task, 0 to count - 1. A group is never split; folds are as even as whole groups allow.

    >>> folds_of(["a", "a", "b", "c"], 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1])
    True
    """
    names, group, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold = np.zeros(count, dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    for name in order:
        fold[name] = int(filled.argmin())
        filled[fold[name]] += sizes[name]
    return fold[group]


def draws_of(groups: Sequence[str], *, seed: int = 0, draws: int = DRAWS) -> Floats:
    """(draws, Q) how often each sub-task is in each draw: whole groups are drawn with replacement."""
    names, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    size = len(names)
    counts = np.random.default_rng(seed).multinomial(size, np.full(size, 1.0 / size), size=draws)
    return counts[:, group].astype(np.float64)


def change_of_means(before: Floats, after: Floats, groups: Sequence[str]) -> Change:
    """The change of a mean over sub-tasks, (Q,) each."""
    drawn = draws_of(groups)
    changes = (drawn @ (after - before)) / drawn.sum(axis=1)
    low, high = np.quantile(changes, [0.025, 0.975])
    return Change(float(before.mean()), float(after.mean()), float(low), float(high))


def change_of(
    measure: Callable[[Floats, Floats], float], before: Floats, after: Floats, groups: Sequence[str]
) -> Change:
    """The change of a measure that is no mean. `before` and `after` have one row for each sub-task; `measure` takes such
    rows and how often each counts (Q,)."""
    drawn = draws_of(groups, draws=DRAWS // 10)
    changes = [measure(after, times) - measure(before, times) for times in drawn]
    once = np.ones(len(before))
    low, high = np.quantile(changes, [0.025, 0.975])
    return Change(measure(before, once), measure(after, once), float(low), float(high))


def more_labels(before: Floats, after: Floats, groups: Sequence[str]) -> int | None:
    """How many more sub-tasks would show a change of this size beyond its noise, from the spread that was seen; None where
    nothing was gained.

        needed = n (1.96 se / gain)^2

    >>> wins = np.array([0.1, 0.3, -0.2, 0.0] * 5)
    >>> more_labels(np.zeros(20), wins, [str(i) for i in range(20)])
    31
    """
    gain = float((after - before).mean())
    if gain <= 0:
        return None
    drawn = draws_of(groups)
    spread = float(((drawn @ (after - before)) / drawn.sum(axis=1)).std())
    needed = len(before) * (1.96 * spread / gain) ** 2
    return max(1, math.ceil(needed - len(before)))
