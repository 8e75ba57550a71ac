"""Whether probabilities of fit mean what they say, and the line that makes their logits do so (Platt scaling, shrunk to none).

    logit' = a logit + b          minimise  sum of -ln p(what happened) + SHRINK ((a - 1)^2 + b^2)
    ECE    = sum over ten bins of  share of the bin * | mean p - share that fits |

Rows are sub-tasks, columns the K tools that were likeliest for each. NumPy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHRINK = 1.0
NEWTON_STEPS = 30
BINS = 10
Floats = NDArray[np.float64]


def sigmoid(logits: Floats) -> Floats:
    """Logits to probabilities, any shape."""
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))


def fit_line(logits: Floats, fits: NDArray[np.bool_], *, shrink: float = SHRINK) -> tuple[float, float]:
    """Slope in [0.1, 10] and offset in [-10, 10] for pairs of a logit and whether the tool fits; (1, 0) for no pairs.

    >>> overrated = np.array([2.0] * 50 + [-2.0] * 50)
    >>> slope, offset = fit_line(overrated, np.array([True, False] * 25 + [False] * 50))
    >>> bool(slope < 2 and offset < -1)
    True
    """
    x, y = logits.ravel(), fits.ravel().astype(np.float64)
    design, line = np.stack([x, np.ones_like(x)], axis=1), np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        chance = sigmoid(design @ line)
        gradient = design.T @ (chance - y) + 2 * shrink * (line - [1.0, 0.0])
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + 2 * shrink * np.eye(2)
        step = np.clip(np.linalg.solve(curvature, gradient), -1.0, 1.0)
        line = line - step
        if np.abs(step).max() < 1e-6:
            break
    return float(np.clip(line[0], 0.1, 10.0)), float(np.clip(line[1], -10.0, 10.0))


def log_losses(logits: Floats, fits: NDArray[np.bool_]) -> Floats:
    """(Q,) the mean over each sub-task's pairs of -ln p(what happened).

    >>> log_losses(np.array([[0.0, 0.0]]), np.array([[True, False]])).round(3).tolist()
    [0.693]
    """
    return np.logaddexp(0.0, np.where(fits, -logits, logits)).mean(axis=1)


def calibration_error(logits: Floats, fits: NDArray[np.bool_], times: Floats | None = None) -> float:
    """ECE over all pairs; `times` (Q,) is how often each sub-task counts.

    >>> calibration_error(np.array([[0.0, 0.0]]), np.array([[True, False]]))
    0.0
    """
    chance = sigmoid(logits)
    weight = np.broadcast_to((np.ones(len(chance)) if times is None else times)[:, None], chance.shape).ravel()
    place = np.minimum((chance.ravel() * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(place, weights=weight * (chance - fits).ravel(), minlength=BINS)
    return float(np.abs(gap).sum() / max(float(weight.sum()), 1e-12))
