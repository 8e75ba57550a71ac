"""The axes of a sweep, the measures of its points, Optuna's search among them, and which parameter mattered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.domain.catalog import Server
from core.domain.errors import ParameterError
from core.domain.tasks import Step, Task
from core.lab.execution import expected_outcome
from core.lab.sweep import (
    AGAINST,
    COMPARED,
    OBJECTIVES,
    SECONDS,
    SOLVED,
    USD,
    Axis,
    changes,
    drawn,
    gains,
    grid,
    pareto_front,
    read_axis,
    warning,
)
from core.lab.sweeps import FEWEST, Search, importances
from core.routers.ehrr import Ehrr, EhrrParameters
from tests.cases import each
from tests.lab.test_execution import executed
from tests.routers import worlds

ALPHA, K, AUCTION = "alpha_t=0:1:0.25", "k=2:4", "auction=on,off"


def axes(*texts: str):
    return [read_axis(text, EhrrParameters) for text in texts]


def test_a_grid_has_both_ends_of_every_range_and_every_combination() -> None:
    points = grid(axes(ALPHA, K, AUCTION))
    assert len(points) == 5 * 3 * 2
    assert points[0] == {"alpha_t": 0.0, "k": 2, "auction": True}
    assert points[-1] == {"alpha_t": 1.0, "k": 4, "auction": False}
    assert [point["alpha_t"] for point in grid(axes("alpha_t=0:0.3:0.1"))] == [0.0, 0.1, 0.2, 0.3]


def test_drawn_points_lie_on_the_axes_and_follow_from_the_seed() -> None:
    space = axes("alpha_t=0.5:1", "kappa=0:100:50", "billing=per_call,per_attempt")
    points = drawn(space, 50, seed=3)
    assert points == drawn(space, 50, seed=3) != drawn(space, 50, seed=4)
    assert {point["kappa"] for point in points} == {0.0, 50.0, 100.0}
    assert {point["billing"] for point in points} == {"per_call", "per_attempt"}
    assert all(0.5 <= point["alpha_t"] <= 1 for point in points)
    assert len({point["alpha_t"] for point in points}) > 45
    stretched = [point["kappa"] for point in drawn(axes("kappa=0:1000"), 400, seed=3)]
    assert 150 < sum(value < 125 for value in stretched) < 250, (
        "half of the knob's track is below an eighth of its range"
    )


@each(
    ("text", "words"),
    [
        ("alpha_t", "NAME=LOW:HIGH:STEP"),
        ("=0:1:0.1", "NAME=LOW:HIGH:STEP"),
        ("nope=0:1:0.1", "no parameter 'nope'"),
        ("alpha_t=0:much:0.1", "not a number"),
        ("alpha_t=0:1:0.1:5", "LOW:HIGH:STEP"),
        ("alpha_t=0:inf", "LOW:HIGH"),
        ("alpha_t=1:0:0.1", "above its end"),
        ("alpha_t=0:1:0", "step"),
        ("alpha_t=0:1:1e-9", "too small"),
        ("alpha_t=0:9:1", "alpha_t = 9.0 is outside 0.0 to 2.0"),
        ("billing=never", "billing"),
        ("k=1:3:0.5", "whole number"),
    ],
)
def test_a_wrong_axis_is_named(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        read_axis(text, EhrrParameters)


def test_a_grid_needs_steps_and_ends_somewhere() -> None:
    with pytest.raises(ParameterError, match="has no step"):
        grid(axes("alpha_t=0:1"))
    with pytest.raises(ParameterError, match="The grid has"):
        grid(axes("alpha_t=0:1:0.001", "kappa=0:1000:0.5"))


def three_tools():
    """A right tool that fails half the time, a wrong tool before it, and a right tool on a slow server."""
    near = Server("near", conn_s=1.0, post_accept_failure=0.5, tools=(
        worlds.tool("wrong", latency_s=2.0, success=1.0, price_usd=0.1),
        worlds.tool("right", latency_s=3.0, success=1.0, price_usd=0.2),
    ))  # fmt: skip
    far = Server("far", conn_s=10.0, post_accept_failure=0.0, tools=(worlds.tool("also", latency_s=5.0, success=0.9),))
    return worlds.context(worlds.catalog(near, far), {}, {})


def test_the_expected_outcome_by_hand() -> None:
    task = Task("t", "t", relevant=("near::right", "far::also"))
    outcome = expected_outcome(task, [[0, 1, 2]], three_tools())
    assert outcome.solved == pytest.approx(0.5 + 0.5 * 0.9)
    assert outcome.usd == pytest.approx(0.1 + 0.2)  # the third has no price
    assert outcome.s == pytest.approx((1 + 2) + 3 + 0.5 * (10 + 5))
    assert expected_outcome(task, [[]], three_tools()).solved == 0.0
    halves = expected_outcome(replace(task, plan=STEPS[:2]), [[1, 2], [2]], three_tools())
    assert halves.s == pytest.approx((1 + 3) + 0.5 * (10 + 5) + (0.5 * 10 + 5))  # half have connected to far before
    for plan in ((), STEPS):  # the fourth is not tried, however many steps are left
        chain = replace(task, plan=plan)
        four, three = (expected_outcome(chain, [rows], three_tools()) for rows in ([0, 0, 0, 1], [0, 0, 0]))
        assert (four, four.solved) == (three, 0.0)


STEPS = (Step("near::right", equal=("near::wrong",)), Step("far::also", needs=(0,)), Step("near::right", needs=(0,)))


@each(
    ("plan", "parts"),
    [
        ((), [(0, 1, 2)]),
        (STEPS, [(0, 1), (2, 1, 0)]),
        (STEPS, [(2, 1), (1, 0, 2), (0, 1, 2)]),
        (STEPS[:2], [(1,), (2,), (2, 1)]),
        (STEPS[:2], [(1, 2), (2,)]),
    ],
)
def test_the_expected_outcome_is_what_playing_comes_to(plan: tuple[Step, ...], parts: list[tuple[int, ...]]) -> None:
    query = " and ".join(("find the report", "mail it to Bo", "note the date")[: len(parts)])
    context, task = three_tools(), Task("t", query, relevant=("near::right", "far::also"), plan=plan)
    plain = Ehrr().route("t", context, worlds.table_v(n=3))
    decisions = iter([replace(plain, candidates=rows) for rows in parts])
    played = executed([task], lambda _: next(decisions), context, seeds=20_000, value_usd=0.0, s_per_usd=1.0)
    expected = expected_outcome(task, parts, context)
    assert played.success_rate.low - 0.005 < expected.solved < played.success_rate.high + 0.005
    assert played.usd_per_task.mean == pytest.approx(expected.usd, rel=0.02)
    assert -played.value.mean == pytest.approx(expected.usd + expected.s, rel=0.02)


def test_the_front_has_what_nothing_else_beats() -> None:
    rows = [(0.9, 2, 1), (0.9, 1, 1), (0.5, 0.5, 1), (0.5, 0.5, 2), (0.9, 1, 1), (1.0, 9, 9)]
    assert pareto_front([dict(zip(OBJECTIVES, row, strict=True)) for row in rows]) == [1, 2, 4, 5]
    assert pareto_front([]) == []


def searched(gain: float, noise: float, **more: float) -> dict[str, object]:
    """A search result with this gain in success over the present setting, 0.5, at equal costs."""
    against = {name: [more.get(name, 0.0), noise] for name in COMPARED} | {SOLVED: [gain, noise]}
    return {SOLVED: 0.5 + gain, USD: 1.0 + more.get(USD, 0.0), SECONDS: 1.0, AGAINST: against}


def test_differences_within_noise_are_neither_a_front_nor_a_gain() -> None:
    present = searched(0.0, 0.0)
    small = [searched(0.01 * n, 0.1, usd_per_task=0.001 * n) for n in range(1, 9)]
    assert len(pareto_front([{k: v for k, v in point.items() if k != AGAINST} for point in (present, *small)])) == 9
    assert pareto_front([present, *small]) == [0]
    assert pareto_front([present, *small, searched(0.3, 0.1, usd_per_task=0.2)]) == [0, 9]
    assert pareto_front([present, searched(0.3, 0.1)]) == [1]
    expected = {
        (0.3, 0.1, 0.0): True, (0.05, 0.1, 0.0): False, (0.3, 0.1, -0.2): False, (0.3, 0.1, -0.05): True,
    }  # fmt: skip
    results = {(gain, noise, mrr): gains(searched(gain, noise, mrr=mrr), SOLVED) for gain, noise, mrr in expected}
    assert results == expected
    values = np.linspace(0.0, 0.5, 40)
    for difference, why in ((0.2, ""), (0.0, "does not gain beyond noise"), (-0.2, "does not gain beyond noise")):
        improved = {name: values + difference + 0.01 * np.sin(np.arange(40)) for name in COMPARED}
        results = changes(dict.fromkeys(COMPARED, values), improved, COMPARED, tests=40)
        assert warning(results, SOLVED) == why
    lossy = {SOLVED: values + 0.2, "mrr": values - 0.2, USD: values - 0.2, SECONDS: values}
    results = changes(dict.fromkeys(COMPARED, values), lossy, COMPARED)
    assert {warning(results, name) for name in (SOLVED, USD)} == {"loses RR beyond noise"}


def test_a_search_begins_at_the_present_setting() -> None:
    for present in ({"alpha_t": 0.02, "k": 5}, {"alpha_t": 0.02, "k": 50}, {"alpha_t": None, "k": 5}):
        search = Search(axes("alpha_t=0:1", "k=1:9"), present, seed=1)
        points = []
        for point in search.points(3):
            points.append(point)
            search.tell({SOLVED: 0.1, USD: 1.0, SECONDS: 1.0})
        assert points[0] == present
        assert len(points) == 3


def test_a_search_proposes_the_same_points_when_it_is_told_the_same() -> None:
    def proposed(seed: int) -> list[dict[str, object]]:
        search = Search(axes("alpha_t=0:1", "k=1:9", AUCTION), {"alpha_t": 0.02, "k": 50, "auction": True}, seed=seed)
        points = []
        for point in search.points(25):
            search.tell(
                {"success_rate": -abs(float(point["alpha_t"]) - 0.3), "usd_per_task": point["k"], "s_per_task": 1.0}
            )
            points.append(point)
        return points

    assert proposed(1) == proposed(1) != proposed(2)
    assert all(0 <= point["alpha_t"] <= 1 and 1 <= point["k"] <= 9 for point in proposed(1)[1:])


AXES = (Axis("alpha", "", (), 0.0, 1.0), Axis("k", "", (1, 2, 3)), Axis("mode", "", ("off", "on")))


def points(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    values = [
        {"alpha": float(rng.random()), "k": int(rng.integers(1, 4)), "mode": str(rng.choice(["off", "on"]))}
        for _ in range(count)
    ]
    return [{"values": point, SOLVED: point["alpha"], USD: 2.0 if point["mode"] == "on" else 1.0} for point in values]


def test_the_knob_that_an_objective_follows_mattered_most() -> None:
    results = points(80)
    solved, usd = importances(AXES, results, SOLVED), importances(AXES, results, USD)
    assert (next(iter(solved)), next(iter(usd))) == ("alpha", "mode")
    assert abs(sum(solved.values()) - 1) < 1e-9
    assert solved["alpha"] > 0.5


def test_too_few_points_and_a_flat_objective_say_nothing() -> None:
    assert importances(AXES, points(FEWEST - 1), SOLVED) == {}
    assert importances(AXES, [{**point, SOLVED: 1.0} for point in points(20)], SOLVED) == {}
