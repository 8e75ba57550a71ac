"""Fitting Tool Attention's threshold to labelled tasks (its section 5.2): sweep theta, take the best F1.

    active(q)  = the k best of the tools with ISO(q, t) >= theta
    precision  = |active and right| / |active|        recall = |active and right| / |right|        summed over all tasks
    F1         = 2 * precision * recall / (precision + recall)

Sums over all tasks and not means of each: a task with nothing active has no precision of its own. Tasks that nothing can do
have no right tool; `rejection` is the share of them for which nothing is active.

>>> fit = calibrate(np.array([[0.6, 0.2], [0.1, 0.4]]), np.array([[True, False], [False, True]]), k=10)
>>> fit.best.theta, fit.best.f1, round(fit.points[0].f1, 3)
(0.22, 1.0, 0.667)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.task import Task
from core.lab.benchmark import RouteTask
from core.shared.errors import WayfareError

THETAS = tuple(round(0.10 + 0.02 * step, 2) for step in range(21))  # 0.10 to 0.50


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """One threshold: the measures, the mean number of active tools, and `rejection` (None without impossible tasks)."""

    theta: float
    precision: float
    recall: float
    f1: float
    active: float
    rejection: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A sweep over `tasks` labelled tasks; `best` is the point of the highest F1, the lowest threshold among equals."""

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
    """The sweep over labelled tasks; `route` decides by Tool Attention, whose score is ISO.

    Raises WayfareError where no task has a tool of the catalog that can do it.
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
