"""Under expected value a counterfactual that is applied makes the tool the first try, exactly at its limit; what is said to be
blocked is first with no value; the first try stays first as far as its room goes; and each cell of a plane is the router's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.decisions.curves import value_plane
from core.decisions.expected_value import BEST, ValueCase, counterfactual, figure_now, room, strips
from core.decisions.layer import FIGURES, FIT, Supposed, layered
from core.routers.expected_value import ExpectedValue
from tests.decisions.test_value_strips import drawn

SEEDS = (0, 3, 6, 9, 12, 14)  # of drawn cases in which each figure and each knob can win


def first(case: ValueCase, *supposed: Supposed, **values: float) -> str | None:
    parameters = case.parameters.replaced(values)
    decision = ExpectedValue().route("x", layered(case.context, supposed), parameters)
    return decision.winner.tool if decision.winner else None


def test_an_applied_change_makes_the_tool_the_first_try_and_a_smaller_one_does_not() -> None:
    seen = set[str]()
    for seed in SEEDS:
        case = drawn(seed)
        made, now = strips(case), first(case)
        for row, tool in enumerate(case.context.tool_ids):
            if tool == now:
                continue
            found = counterfactual(case, made, row)
            for change in found.changes:
                if change.of_knob:
                    value = int(change.then) if change.name == "n" else change.then
                    assert first(case, **{change.name: value}) == tool
                    continue
                seen.add(change.name)
                assert first(case, Supposed(tool, change.name, change.then)) == tool
                short = change.then + 1e-5 * (change.now - change.then)
                assert first(case, Supposed(tool, change.name, short)) != tool
                for share in (0.3, 0.7):
                    further = change.then + share * (BEST[change.name] - change.then)
                    assert first(case, Supposed(tool, change.name, further)) == tool
            for name in set(found.blocked) & set(FIGURES):
                at = figure_now(case, row, name)
                for share in (0.25, 0.6, 1.0):
                    assert first(case, Supposed(tool, name, at + share * (BEST[name] - at))) != tool
    assert seen == set(FIGURES)


def test_the_first_try_stays_first_as_far_as_its_room_goes() -> None:
    for seed in SEEDS:
        case = drawn(seed)
        found = room(case)
        if found is None:
            assert first(case) is None
            continue
        limits = (found.price_usd, found.latency_s, found.success, found.fit)
        for name, limit in zip(FIGURES, limits, strict=True):
            now = figure_now(case, case.context.tool_ids.index(found.tool), name)
            assert limit is not None
            assert first(case, Supposed(found.tool, name, limit)) == found.tool
            beyond = limit + 1e-4 * (limit - now) + (1e-5 if limit >= now and name not in {FIT, "success"} else -1e-5)
            assert first(case, Supposed(found.tool, name, max(beyond, 0.0))) != found.tool


@pytest.mark.parametrize("axes", [("worth_usd", "kappa"), ("wrong_usd", "n")])
def test_each_cell_of_a_plane_is_what_the_router_decides(axes: tuple[str, str]) -> None:
    case = replace(drawn(3), refused="")
    low, high = np.array([0.02, 0.2, 0.9]), np.array([2.0, 3.0]) if axes[1] == "n" else np.array([20.0, 3000.0])
    found = value_plane(case, *axes, low, high)
    for up, y in enumerate(high.tolist()):
        for across, x in enumerate(low.tolist()):
            row = int(found.winner[up, across])
            value = int(y) if axes[1] == "n" else y
            assert (case.context.tool_ids[row] if row >= 0 else None) == first(case, **{axes[0]: x, axes[1]: value})
            assert found.margin[up, across] >= 0
