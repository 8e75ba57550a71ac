"""Fitting Tool Attention's threshold to labelled tasks (its section 5.2): sweep theta, take the best F1.

    active(q)  = the k best tools with ISO(q, t) >= theta
    precision  = |active and right| / |active|        recall = |active and right| / |right|        summed over all tasks
    F1         = 2 * precision * recall / (precision + recall)

Precision and recall are quotients of sums over all tasks, because a task without active tools has no precision of its own. Impossible
tasks have no right tool; `rejection` is the share of them without active tools.

>>> fit = calibrate(np.array([[0.6, 0.2], [0.1, 0.4]]), np.array([[True, False], [False, True]]), k=10)
>>> fit.best.theta, fit.best.f1, round(fit.points[0].f1, 3)
(0.22, 1.0, 0.667)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.errors import WayfareError
from core.domain.tasks import Task
from core.lab.benchmark import RouteTask
from core.relevance.calibration import Change, change_of, folds_of

THETAS = tuple(round(0.10 + 0.02 * step, 2) for step in range(21))  # 0.10 to 0.50


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """One threshold: its measures, the mean number of active tools, and `rejection`, None without impossible tasks."""

    theta: float
    precision: float
    recall: float
    f1: float
    active: float
    rejection: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A sweep over `tasks` labelled tasks. `best` has the highest F1, the lowest threshold among equals."""

    tasks: int
    k: int
    points: tuple[ThresholdPoint, ...]

    @property
    def best(self) -> ThresholdPoint:
        """The point to take."""
        return max(self.points, key=lambda point: (point.f1, -point.theta))

    def to_json(self) -> dict[str, object]:
        """What `wayfare calibrate --json` prints."""
        return {
            "tasks": self.tasks,
            "k": self.k,
            "best": asdict(self.best),
            "points": [asdict(point) for point in self.points],
        }


def fit_threshold(tasks: Sequence[Task], route: RouteTask, *, k: int) -> Calibration:
    """Sweep over labelled tasks. `route` decides by Tool Attention, whose score is ISO.

    Raises WayfareError if no task has a right tool in the catalog.
    """
    if not any(task.relevant for task in tasks):
        raise WayfareError("No task is labelled with a tool that can do it; a threshold needs some that are.")
    decisions = [route(task) for task in tasks]
    iso = np.array([decision.tools.utility for decision in decisions])
    right = np.array([[tool in task.relevant for tool in decisions[0].tools.ids] for task in tasks], dtype=np.bool_)
    if not right.any():
        raise WayfareError("None of the labelled tools is in the catalog; name the catalog that the tasks belong to.")
    return calibrate(iso, right, k=k)


def calibrate(
    iso: NDArray[np.float64], right: NDArray[np.bool_], *, k: int, thetas: Sequence[float] = THETAS
) -> Calibration:
    """The sweep. `iso` (Q, T) are overlaps of Q tasks with T tools, `right` (Q, T) says which can do it."""
    if not thetas:
        raise ValueError("there is no threshold to try")
    order = np.argsort(-iso, axis=1, kind="stable")[:, :k]
    best_iso = np.take_along_axis(iso, order, axis=1)
    best_right = np.take_along_axis(right, order, axis=1)
    return Calibration(len(iso), k, tuple(_point(theta, best_iso, best_right, right) for theta in thetas))


def _point(
    theta: float, iso: NDArray[np.float64], right: NDArray[np.bool_], labels: NDArray[np.bool_]
) -> ThresholdPoint:
    possible = labels.any(axis=1)
    active = iso >= theta
    hits, offered, wanted = (
        int(mask.sum()) for mask in ((active & right)[possible], active[possible], labels[possible])
    )
    precision, recall = hits / offered if offered else 0.0, hits / wanted if wanted else 0.0
    impossible = ~possible
    refused: NDArray[np.bool_] = np.logical_not(active.any(axis=1))[impossible]
    return ThresholdPoint(
        theta=float(theta),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        active=float(active.sum(axis=1).mean()) if len(active) else 0.0,
        rejection=float(refused.mean()) if impossible.any() else None,
    )


# Held-back folds: the best threshold of the other folds against the one in use
# Each task keeps its three counts (hits, offered, wanted), because F1 is no mean over tasks; the interval draws whole tasks.

FOLDS = 5
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """The sweep over all tasks, and F1 on held-back folds with the threshold in use and with fitted ones.

    The fit is `accepted` if the gain is beyond its interval.
    """

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
    """Sweep and judge. `route` decides by Tool Attention, whose score is ISO. Tasks of one question stay in one fold.

    Raises WayfareError if no task has a right tool in the catalog.
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
    """(Q, 3) hits, offered, wanted; zeros for impossible tasks."""
    order = np.argsort(-iso, axis=1, kind="stable")[:, :k]
    active = np.take_along_axis(iso, order, axis=1) >= thetas[:, None]
    hits = (active & np.take_along_axis(right, order, axis=1)).sum(axis=1)
    counts = np.stack([hits, active.sum(axis=1), right.sum(axis=1)], axis=1).astype(np.float64)
    possible = right.astype(np.float64).max(axis=1, keepdims=True)
    return counts * possible


def _f1(counts: Floats, times: Floats) -> float:
    hits, offered, wanted = times @ counts
    return float(2 * hits / (offered + wanted)) if offered + wanted else 0.0
