"""The threshold sweep: its measures by hand, its best, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

from core.lab.calibrations import ThresholdPoint, calibrate
from tests.cases import each

ISO = np.array([[0.45, 0.25, 0.05], [0.30, 0.35, 0.15]])
RIGHT = np.array([[True, False, False], [False, True, False]])


def point(theta: float, iso=ISO, relevant=RIGHT, k: int = 10) -> ThresholdPoint:
    return calibrate(iso, relevant, k=k, thetas=(theta,)).points[0]


@each(
    ("theta", "precision", "recall", "f1", "active"),
    [
        (0.0, 2 / 6, 1.0, 0.5, 3.0),
        (0.2, 2 / 4, 1.0, 2 / 3, 2.0),
        (0.32, 1.0, 1.0, 1.0, 1.0),
        (0.4, 1.0, 0.5, 2 / 3, 0.5),
        (0.45, 1.0, 0.5, 2 / 3, 0.5),  # at the threshold is active
        (0.9, 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_the_measures_are_sums_over_all_tasks(theta, precision, recall, f1, active):
    point_ = point(theta)
    assert (point_.precision, point_.recall) == (precision, recall)
    assert point_.f1 == pytest.approx(f1)
    assert point_.active == active
    assert point_.rejection is None


def test_only_the_k_best_are_active():
    assert point(0.0, k=1).active == 1.0
    assert point(0.0, k=1).recall == 1.0


def test_impossible_tasks_count_as_rejected_and_not_against_precision():
    iso = np.vstack([ISO, [[0.2, 0.1, 0.1], [0.5, 0.1, 0.1]]])
    relevant = np.vstack([RIGHT, np.zeros((2, 3), dtype=bool)])
    point_ = point(0.32, iso, relevant)
    assert (point_.precision, point_.rejection) == (1.0, 0.5)


def test_the_best_is_the_highest_f1_and_of_equals_the_lowest_threshold():
    fit = calibrate(ISO, RIGHT, k=10)
    assert fit.best.f1 == 1.0
    assert fit.best.theta == min(p.theta for p in fit.points if p.f1 == 1.0) == 0.32
