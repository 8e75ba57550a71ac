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
    """Proposes points, the present setting `first`. Each needs its result before the next is proposed."""

    def __init__(self, axes: Sequence[Axis], first: Point, *, seed: int) -> None:
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(directions=list(OBJECTIVES.values()), sampler=sampler)
        self._axes = axes
        self._trial: optuna.Trial | None = None
        self._asked: dict[str, Any] = {}
        self._space = {axis.name: distribution(axis) for axis in axes}
        self._first = {axis.name: first[axis.name] for axis in axes}

    def points(self, count: int) -> Iterator[Point]:
        """`count` points. Call `tell` with the result of each before taking the next."""
        for number in range(count):
            if number == 0:
                self._asked = {axis.name: place(axis, self._first[axis.name]) for axis in self._axes}
                yield self._first
            else:
                trial = self._study.ask(self._space)
                self._asked, self._trial = dict(trial.params), trial
                yield {axis.name: _value(axis, self._asked[axis.name]) for axis in self._axes}

    def tell(self, result: Mapping[str, Any]) -> None:
        """Give the result of the last point. The sampler does not learn from a setting that is outside its axes."""
        values = [float(result[name]) for name in OBJECTIVES]
        if self._trial is not None:
            self._study.tell(self._trial, values)
        elif None not in self._asked.values():
            self._study.add_trial(
                optuna.create_trial(params=dict(self._asked), distributions=self._space, values=values)
            )


def distribution(axis: Axis) -> BaseDistribution:
    """Any place on the track of a range, or positions among the values of an axis; positions are ordered if the values are numbers."""
    if axis.ranged:
        return FloatDistribution(0.0, 1.0)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values):
        return IntDistribution(0, len(axis.values) - 1)
    return CategoricalDistribution(range(len(axis.values)))


def place(axis: Axis, value: Any) -> float | None:
    """A value in the distribution of its axis: its place on the track, or its position among the axis's values. None if it is outside."""
    if axis.ranged:
        return axis.share(value) if value is not None and axis.low <= value <= axis.high else None
    return axis.values.index(value) if value in axis.values else None


def _value(axis: Axis, place: float) -> Any:
    return axis.at(place) if axis.ranged else axis.values[int(place)]


# Stored searches: how much each parameter mattered

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
        if None in params.values():
            continue
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
