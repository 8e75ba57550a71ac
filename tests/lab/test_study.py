"""What mattered in a search: the knob that the objective follows, and none where it follows nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.lab.search import FEWEST, importances
from core.lab.sweep import SOLVED, USD, Axis

AXES = (Axis("alpha", "", (), 0.0, 1.0), Axis("k", "", (1, 2, 3)), Axis("mode", "", ("off", "on")))


def points(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    drawn = [
        {"alpha": float(rng.random()), "k": int(rng.integers(1, 4)), "mode": str(rng.choice(["off", "on"]))}
        for _ in range(count)
    ]
    return [{"values": one, SOLVED: one["alpha"], USD: 2.0 if one["mode"] == "on" else 1.0} for one in drawn]


def test_the_knob_that_an_objective_follows_mattered_most() -> None:
    found = points(80)
    solved, usd = importances(AXES, found, SOLVED), importances(AXES, found, USD)
    assert (next(iter(solved)), next(iter(usd))) == ("alpha", "mode")
    assert abs(sum(solved.values()) - 1) < 1e-9
    assert solved["alpha"] > 0.5


def test_too_few_points_and_a_flat_objective_say_nothing() -> None:
    assert importances(AXES, points(FEWEST - 1), SOLVED) == {}
    assert importances(AXES, [{**one, SOLVED: 1.0} for one in points(20)], SOLVED) == {}


def test_it_is_the_best_points_that_are_looked_at() -> None:
    found = points(120)
    for one in found:
        values = one["values"]
        one[SOLVED] = 1 + values["k"] / 10 if values["mode"] == "on" else values["alpha"]
    solved = importances(AXES, found, SOLVED)
    assert solved["alpha"] < min(solved["k"], solved["mode"]), "alpha tells the worst apart, not the best"
