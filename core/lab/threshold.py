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

from core.domain.tasks import Task
from core.lab.benchmark import RouteTask
from core.relevance.calibration import Change, change_of, folds_of

Floats = NDArray[np.float64]
FOLDS = 5
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


def calibrate(
    iso: NDArray[np.float64], right: NDArray[np.bool_], *, k: int, thetas: Sequence[float] = THETAS
) -> Calibration:
    """The sweep. `iso` (Q, T) are overlaps of Q tasks with T tools, `right` (Q, T) says which can do it."""
    if not thetas:
        raise ValueError("there is no threshold to try")
    best = _best(iso, right, k)
    return Calibration(len(iso), k, tuple(_point(theta, *best, right) for theta in thetas))


def _best(iso: Floats, right: NDArray[np.bool_], k: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(Q, k) each: the overlaps of the best tools, and which of these are right."""
    order = np.argsort(-iso, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(iso, order, axis=1), np.take_along_axis(right, order, axis=1)


def _counts(active: NDArray[np.bool_], best_right: NDArray[np.bool_], right: NDArray[np.bool_]) -> Floats:
    """(Q, 3) hits, offered, wanted; zeros for impossible tasks."""
    counts = np.stack([(active & best_right).sum(axis=1), active.sum(axis=1), right.sum(axis=1)], axis=1)
    return counts * right.any(axis=1, keepdims=True).astype(np.float64)


def _point(theta: float, iso: Floats, best_right: NDArray[np.bool_], right: NDArray[np.bool_]) -> ThresholdPoint:
    active, impossible = iso >= theta, ~right.any(axis=1)
    hits, offered, wanted = _counts(active, best_right, right).sum(axis=0).tolist()
    precision, recall = hits / offered if offered else 0.0, hits / wanted if wanted else 0.0
    refused: NDArray[np.bool_] = np.logical_not(active.any(axis=1))[impossible]
    return ThresholdPoint(
        theta=float(theta),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        active=float(active.sum(axis=1).mean()) if len(active) else 0.0,
        rejection=float(refused.mean()) if len(refused) else None,
    )


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
    """Sweep over labelled tasks, and judge the best threshold of the other folds against the one in use. `route` decides by Tool Attention,
    whose score is ISO. Tasks of one question stay in one fold.
    """
    decisions = [route(task) for task in tasks]
    iso = np.array([decision.tools.utility for decision in decisions])
    right = np.array([[tool in task.relevant for tool in decisions[0].tools.ids] for task in tasks], dtype=np.bool_)
    groups = [task.question or task.subtask for task in tasks]
    fold = folds_of(groups, FOLDS)
    fitted = np.full(len(tasks), today)
    for number in range(FOLDS):
        if right[fold != number].any():
            fitted[fold == number] = calibrate(iso[fold != number], right[fold != number], k=k).best.theta
    best_iso, best_right = _best(iso, right, k)
    # F1 is no mean over tasks: each task keeps its counts, and the interval draws whole tasks
    before, after = (_counts(best_iso >= thetas, best_right, right) for thetas in (today, fitted[:, None]))
    return ThresholdFit(calibrate(iso, right, k=k), today, change_of(_f1, before, after, groups))


def _f1(counts: Floats, times: Floats) -> float:
    hits, offered, wanted = times @ counts
    return float(2 * hits / (offered + wanted)) if offered + wanted else 0.0
