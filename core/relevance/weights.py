"""Weights of the signals fitted to labelled sub-tasks: non-negative, shrunk towards those that Wayfare comes with.

    minimise over u >= 0   sum over sub-tasks of -ln( sum over right j of softmax_j(slope * sum_n w_n u_n f_n) )
                           + strength * sum_n (u_n - 1)^2

w are the shipped weights, u their factors. One label weighs as much as a shrinkage of 1 at strength 1: few labels change
little. Projected gradient with a step that is halved until the loss falls. NumPy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 80
ENOUGH = 1e-5
Floats = NDArray[np.float64]


def fit_weights(
    features: NDArray[np.float32], right: NDArray[np.bool_], shipped: Floats, *, strength: float, slope: float
) -> Floats:
    """(N,) weights. `features` (Q, C, N) are the normalised signals of C tools for each of Q sub-tasks, `right` (Q, C) says
    which of them can do it; each sub-task needs one. `slope` turns scores into logits.

    >>> useful, noise = np.array([[[3.0], [0.0]]] * 9), np.array([[[0.0], [2.0]]] * 9)
    >>> right = np.array([[True, False]] * 9)
    >>> x = np.concatenate([useful, noise], axis=2).astype(np.float32)
    >>> fit_weights(x, right, np.array([0.5, 0.5]), strength=4.0, slope=1.5).round(1).tolist()
    [0.7, 0.4]
    """
    factors = np.ones(len(shipped))
    loss, gradient = _loss(factors, features, right, shipped, strength, slope)
    step = 1.0 / (2 * strength + len(features))
    for _ in range(STEPS):
        tried = np.maximum(factors - step * gradient, 0.0)
        lower, next_gradient = _loss(tried, features, right, shipped, strength, slope)
        if lower > loss:
            step /= 2
            if step < 1e-9:
                break
            continue
        done = loss - lower <= ENOUGH * abs(loss)
        factors, loss, gradient = tried, lower, next_gradient
        if done:
            break
        step *= 1.5
    return shipped * factors


def _loss(
    factors: Floats,
    features: NDArray[np.float32],
    right: NDArray[np.bool_],
    shipped: Floats,
    strength: float,
    slope: float,
) -> tuple[float, Floats]:
    logits = slope * (features @ (shipped * factors).astype(np.float32)).astype(np.float64)
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    hit = np.where(right, chance, 0.0)
    total = np.maximum(hit.sum(axis=1, keepdims=True), 1e-12)
    missed = (chance - hit / total).astype(np.float32)
    loss = float(-np.log(total).sum()) + strength * float(((factors - 1) ** 2).sum())
    gradient = slope * shipped * np.einsum("qc,qcn->n", missed, features) + 2 * strength * (factors - 1)
    return loss, gradient
