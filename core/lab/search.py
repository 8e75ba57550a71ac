"""Optuna's search for points that are good in success, money and time: a tree-structured Parzen estimator.

With the same seed and results it proposes the same points, so an interrupted search goes on after it is told what is known.
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
    """Proposes points. Each needs its result before the next is proposed."""

    def __init__(self, axes: Sequence[Axis], *, seed: int) -> None:
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(directions=list(OBJECTIVES.values()), sampler=sampler)
        self._axes = axes
        self._space = {axis.name: distribution(axis) for axis in axes}

    def points(self, count: int) -> Iterator[Point]:
        """`count` points. Call `tell` with the result of each before taking the next."""
        for _ in range(count):
            self._trial = self._study.ask(self._space)
            yield {axis.name: _value(axis, self._trial.params[axis.name]) for axis in self._axes}

    def tell(self, result: Mapping[str, Any]) -> None:
        """Give the result of the last point."""
        self._study.tell(self._trial, [float(result[name]) for name in OBJECTIVES])


def distribution(axis: Axis) -> BaseDistribution:
    """Any number of a range, or positions among the values of an axis; positions are ordered if the values are numbers."""
    if axis.continuous:
        return FloatDistribution(axis.low, axis.high)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values):
        return IntDistribution(0, len(axis.values) - 1)
    return CategoricalDistribution(range(len(axis.values)))


def place(axis: Axis, value: Any) -> float:
    """A value in the distribution of its axis: itself, or its position among the axis's values."""
    return float(value) if axis.continuous else axis.values.index(value)


def _value(axis: Axis, place: float) -> Any:
    return float(place) if axis.continuous else axis.values[int(place)]


# Stored searches: how much each parameter mattered --------------------------------------------------------------------

FEWEST = 10  # points; fewer say nothing


def importances(axes: Sequence[Axis], points: Sequence[Mapping[str, Any]], objective: str) -> dict[str, float]:
    """The share of each parameter in what separates the best tenth of the points from all. Sums to 1, the greatest first.

    PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023): the divergence of the two densities of each parameter. Empty for fewer than
    `FEWEST` points and for an objective that is the same everywhere.
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
