"""Optuna's search for points that are good in success, money and time at once: a tree-structured Parzen estimator.

Asked and told in order with one seed, it proposes the same points: a search that was interrupted is taken up by telling it again
what is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

from core.lab.sweep import OBJECTIVES, Axis, Point

optuna.logging.set_verbosity(optuna.logging.WARNING)


class Search:
    """Proposes points; each has to be told its result before the next is asked for."""

    def __init__(self, axes: Sequence[Axis], *, seed: int) -> None:
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(directions=list(OBJECTIVES.values()), sampler=sampler)
        self._axes = axes
        self._space = {axis.name: distribution(axis) for axis in axes}

    def points(self, count: int) -> Iterator[Point]:
        """`count` points; `tell` the result of each before the next is taken."""
        for _ in range(count):
            self._trial = self._study.ask(self._space)
            yield {axis.name: _value(axis, self._trial.params[axis.name]) for axis in self._axes}

    def tell(self, result: Mapping[str, Any]) -> None:
        """The result of the point that was taken last."""
        self._study.tell(self._trial, [float(result[name]) for name in OBJECTIVES])


def distribution(axis: Axis) -> BaseDistribution:
    """Places among the values of an axis, in order where they are numbers; or any number of a range."""
    if axis.continuous:
        return FloatDistribution(axis.low, axis.high)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values):
        return IntDistribution(0, len(axis.values) - 1)
    return CategoricalDistribution(range(len(axis.values)))


def place(axis: Axis, value: Any) -> float:
    """Where a value stands in the distribution of its axis: itself, or its place among the axis's values."""
    return float(value) if axis.continuous else axis.values.index(value)


def _value(axis: Axis, place: float) -> Any:
    return float(place) if axis.continuous else axis.values[int(place)]


# ----------------------------------------------------------------------------------------------------------------------
# A search that is stored, as the study that Optuna made of it: how much each parameter mattered for an objective.

FEWEST = 10  # points: below that nothing is said


def importances(axes: Sequence[Axis], points: Sequence[Mapping[str, Any]], objective: str) -> dict[str, float]:
    """The share of each parameter in what tells the best tenth of the points from all, summing to 1, the greatest first.

    PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023): the divergence of the two densities of each parameter. Nothing where there
    are fewer than `FEWEST` points, or where the objective is the same everywhere.
    """
    values = [float(point[objective]) for point in points]
    if len(points) < FEWEST or max(values) == min(values):
        return {}
    space = {axis.name: distribution(axis) for axis in axes}
    study = optuna.create_study(direction=OBJECTIVES[objective])
    for point, value in zip(points, values, strict=True):
        params = {axis.name: place(axis, point["values"][axis.name]) for axis in axes}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
