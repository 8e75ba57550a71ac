"""Tool Attention's threshold on held-back folds: the best of the sweep of the other folds, against the one in use.

F1 is over the sums of all tasks, as in `core.lab.threshold`: it is no mean of tasks, so each task keeps its three counts (hits,
tools offered, tools wanted) and the interval comes from draws over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.task import Task
from core.lab.benchmark import RouteTask
from core.lab.threshold import Calibration, calibrate
from core.relevance.held_back import Change, change_of, folds_of
from core.shared.errors import WayfareError

FOLDS = 5
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """The sweep over all tasks, and F1 on held-back folds with the threshold in use and with fitted ones. `accepted`: the gain
    is beyond its interval."""

    sweep: Calibration
    today: float
    f1: Change

    @property
    def accepted(self) -> bool:
        """Whether fitting gains."""
        return self.f1.low > 0

    def to_json(self) -> dict[str, Any]:
        """What `wayfare calibrate --json` has under `threshold`."""
        return {**self.sweep.to_json(), "today": self.today, "f1": self.f1.to_json(), "accepted": self.accepted}


def fit_threshold_on_folds(tasks: Sequence[Task], route: RouteTask, *, k: int, today: float) -> ThresholdFit:
    """Sweep and judge; `route` decides by Tool Attention, whose score is ISO. Tasks of one question stay in one fold.

    Raises WayfareError where no task has a tool of the catalog that can do it.
    """
    decisions = [route(task) for task in tasks]
    iso = np.array([decision.tools.utility for decision in decisions])
    right = np.array([[tool in task.relevant for tool in decisions[0].tools.ids] for task in tasks], dtype=np.bool_)
    if not right.any():
        raise WayfareError("None of the labelled tools is in the catalog; name the catalog that the tasks belong to.")
    groups = [task.question or task.subtask for task in tasks]
    fold = folds_of(groups, FOLDS)
    fitted = np.full(len(tasks), today)
    for number in range(FOLDS):
        if right[fold != number].any():
            fitted[fold == number] = calibrate(iso[fold != number], right[fold != number], k=k).best.theta
    before, after = (_counts(iso, right, thetas, k) for thetas in (np.full(len(tasks), today), fitted))
    return ThresholdFit(calibrate(iso, right, k=k), today, change_of(_f1, before, after, groups))


def _counts(iso: Floats, right: NDArray[np.bool_], thetas: Floats, k: int) -> Floats:
    """(Q, 3) hits, offered, wanted; none for tasks that nothing can do."""
    order = np.argsort(-iso, axis=1, kind="stable")[:, :k]
    active = np.take_along_axis(iso, order, axis=1) >= thetas[:, None]
    hits = (active & np.take_along_axis(right, order, axis=1)).sum(axis=1)
    counts = np.stack([hits, active.sum(axis=1), right.sum(axis=1)], axis=1).astype(np.float64)
    possible = right.astype(np.float64).max(axis=1, keepdims=True)
    return counts * possible


def _f1(counts: Floats, times: Floats) -> float:
    hits, offered, wanted = times @ counts
    return float(2 * hits / (offered + wanted)) if offered + wanted else 0.0
