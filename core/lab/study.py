"""A search that is stored, as the study that Optuna made of it: how much each parameter mattered for an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

from core.lab.axes import Axis
from core.lab.search import distribution, place
from core.lab.sweep import OBJECTIVES

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
