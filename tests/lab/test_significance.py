"""Intervals, the paired test and its correction: by hand, and on a thousand worlds whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.domain.significance import compared, effect_size, holm, randomisation_p, tasks_needed

WORLDS, TASKS = 1_000, 400


def worlds(gain: float, seed: int, tasks: int = TASKS) -> np.ndarray:
    """(tasks, WORLDS) differences of two routers that solve each task or not. Both solve 70 % of the tasks; if one router is
    better by `gain`, it solves that many more of its losses."""
    rng = np.random.default_rng(seed)
    samples = rng.random((tasks, WORLDS))
    unshared = 0.05  # share of the tasks that only one router solves
    return (samples < unshared + gain).astype(float) - (samples > 1 - unshared)


def test_false_alarms_at_5_percent_are_within_their_interval() -> None:
    alarms = int((randomisation_p(worlds(0.0, seed=1), draws=1_999) <= 0.05).sum())
    assert abs(alarms - 0.05 * WORLDS) < 2.6 * math.sqrt(0.05 * 0.95 * WORLDS)  # 99 % of such counts


def test_a_router_that_is_better_by_3_points_is_found_as_often_as_the_needed_tasks_promise() -> None:
    differences = worlds(0.03, seed=2)
    power = (randomisation_p(differences, draws=1_999) <= 0.05).mean()
    effect = 0.03 / math.sqrt(0.13 - 0.03**2)  # mean over deviation, of a difference that is +1 in 8 %, -1 in 5 %
    needed = tasks_needed(effect)
    assert needed == 1126
    assert power == pytest.approx(0.5 * (1 + math.erf((effect * math.sqrt(TASKS) - 1.96) / math.sqrt(2))), abs=0.05)
    assert (randomisation_p(worlds(0.03, 5, needed), draws=999) <= 0.05).mean() == pytest.approx(0.8, abs=0.05)


def test_few_tasks_are_tested_exactly() -> None:
    one_way = np.ones((5, 1))
    assert randomisation_p(one_way).tolist() == [2 / 32]
    assert randomisation_p(np.array([[1.0], [-1.0], [0.0]])).tolist() == [1.0]


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.5, 0.03]) == pytest.approx((0.09, 0.04, 0.5, 0.09))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert holm([]) == ()


def test_where_nothing_differs_there_is_no_effect_and_no_number_of_tasks() -> None:
    assert effect_size(np.zeros(5)) is None
    assert effect_size(np.full(20, 1 - 1 / 3)) is None, "all differ alike, and the deviation is rounding"
    assert tasks_needed(None) is None
    assert tasks_needed(0.0) is None


def test_all_pairs_are_compared_and_counted() -> None:
    a, b, c = np.array([1.0, 0, 0, 1]), np.array([1.0, 1, 1, 0]), np.array([1.0, 0, 0, 1])
    pairs = compared([a, b, c], "hit@1")
    assert [(pair.a, pair.b, pair.difference, pair.won, pair.lost, pair.same) for pair in pairs] == [
        (0, 1, 0.25, 2, 1, 1),
        (0, 2, 0.0, 0, 0, 4),
        (1, 2, -0.25, 1, 2, 1),
    ]
    assert pairs[1].p == pairs[1].p_holm == 1.0
    assert pairs[0].low < 0.25 < pairs[0].high
    assert compared([a], "hit@1") == ()
