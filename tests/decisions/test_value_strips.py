"""Expected value under other values: strips, counterfactuals, room and planes are what the router itself decides there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from core.decisions.curves import value_plane
from core.decisions.expected_value import BEST, VALUES, ValueCase, counterfactual, figure_now, room, strips
from core.decisions.layer import FIGURES, FIT, Supposed, layered
from core.decisions.strips import Strip
from core.domain.catalog import ToolHints
from core.routers.expected_value import ExpectedValue, ExpectedValueParameters, prospects
from tests.decisions import instances
from tests.routers import worlds


def drawn(seed: int) -> ValueCase:
    """Up to 18 tools, a few of them rivals, under any prices."""
    rng = np.random.default_rng(seed)
    catalog = instances.catalog(rng, 6, 3)
    catalog = replace(
        catalog,
        servers=tuple(
            replace(s, tools=tuple(replace(t, hints=ToolHints(read_only=bool(rng.random() < 0.5))) for t in s.tools))
            for s in catalog.servers
        ),
    )
    context = worlds.context(catalog, {}, {})
    count = len(catalog.tools)
    context.matcher.answer = instances.Match(np.zeros(len(catalog.servers)), rng.random(count) ** 3)
    likeness = np.where(rng.random((count, count)) < 0.06, 0.95, 0.2)
    likeness = np.maximum(likeness, likeness.T)
    context.matcher.likeness = lambda rows: likeness[np.ix_(rows, rows)]
    parameters = ExpectedValueParameters(
        worth_usd=float(rng.choice([0.05, 0.3, 2.0])), wrong_usd=float(rng.choice([0.0, 0.002, 0.05])),
        unsafe_usd=float(rng.choice([0.0, 0.01])), kappa=float(rng.choice([50.0, 1000.0])), n=int(rng.integers(1, 4)),
    )  # fmt: skip
    prospect_rows = prospects(context.matcher.answer.tools, context)
    return ValueCase(context, prospect_rows, context.matcher.likeness, parameters)


def grid(strip: Strip) -> list[float]:
    """Values over the range, denser at its low end, and on both sides of each breakpoint."""
    span = strip.high - strip.low
    steps = np.linspace(0.01, 0.99, 12)
    values = [strip.low + span * step for step in (*steps, *steps**5)]
    for left, right in pairwise(strip.segments):
        near = min(1e-7 * span, (left.high - left.low) / 3, (right.high - right.low) / 3)
        values += [right.low - near, right.low + near]
    return values


def test_the_router_decides_as_the_segment_says() -> None:
    for seed in range(6):
        case = drawn(seed)
        by_name = strips(case)
        for name in VALUES:
            decisions = {}
            for value in grid(by_name[name]):
                candidates = (
                    ExpectedValue().route("x", case.context, replace(case.parameters, **{name: value})).candidates
                )
                segment = by_name[name].at(value)
                assert decisions.setdefault(segment, candidates) == candidates, (seed, name, value)
                assert segment.winner == (case.context.tool_ids[candidates[0]] if candidates else None), (
                    seed,
                    name,
                    value,
                )
            changes = [decisions[segment] for segment in by_name[name].segments]
            assert all(left != right for left, right in pairwise(changes)), (seed, name)


def test_the_number_of_tries() -> None:
    for seed in range(6):
        case = drawn(seed)
        tries = strips(case)["n"]
        for value in range(1, 10):
            candidates = ExpectedValue().route("x", case.context, replace(case.parameters, n=value)).candidates
            assert tries.at(value).winner == (case.context.tool_ids[candidates[0]] if candidates else None)


def test_the_margin_is_what_another_beginning_would_lose() -> None:
    """One try only: the best tool's value less the next tool's, or less 0."""
    for seed in range(10):
        case = drawn(seed)
        case = replace(case, parameters=replace(case.parameters, n=1), computed={})
        values = np.sort(np.append(case.known.tries(case.parameters).value_usd(case.parameters.worth_usd), 0.0))
        segment = strips(case)["worth_usd"].at(case.parameters.worth_usd)
        lead = values[-1] - values[-2] if segment.winner else 0.0
        assert np.isclose(segment.margin, lead)


SEEDS = (0, 3, 6, 9, 12, 14)  # of drawn cases in which each figure and each knob can win


def first(case: ValueCase, *supposed: Supposed, **values: float) -> str | None:
    parameters = case.parameters.replaced(values)
    decision = ExpectedValue().route("x", layered(case.context, supposed), parameters)
    return decision.winner.tool if decision.winner else None


def test_an_applied_change_makes_the_tool_the_first_try_and_a_smaller_one_does_not() -> None:
    applied_names = set[str]()
    for seed in SEEDS:
        case = drawn(seed)
        by_name, leader = strips(case), first(case)
        for row, tool in enumerate(case.context.tool_ids):
            if tool == leader:
                continue
            outcome = counterfactual(case, by_name, row)
            for change in outcome.changes:
                if change.of_knob:
                    value = int(change.then) if change.name == "n" else change.then
                    assert first(case, **{change.name: value}) == tool
                    continue
                applied_names.add(change.name)
                assert first(case, Supposed(tool, change.name, change.then)) == tool
                short = change.then + 1e-5 * (change.now - change.then)
                assert first(case, Supposed(tool, change.name, short)) != tool
                for share in (0.3, 0.7):
                    further = change.then + share * (BEST[change.name] - change.then)
                    assert first(case, Supposed(tool, change.name, further)) == tool
            for name in set(outcome.blocked) & set(FIGURES):
                figure = figure_now(case, row, name)
                for share in (0.25, 0.6, 1.0):
                    assert first(case, Supposed(tool, name, figure + share * (BEST[name] - figure))) != tool
    assert applied_names == set(FIGURES)


def test_the_first_try_stays_first_as_far_as_its_room_goes() -> None:
    for seed in SEEDS:
        case = drawn(seed)
        slack = room(case)
        if slack is None:
            assert first(case) is None
            continue
        limits = (slack.price_usd, slack.latency_s, slack.success, slack.fit)
        for name, limit in zip(FIGURES, limits, strict=True):
            figure = figure_now(case, case.context.tool_ids.index(slack.tool), name)
            assert limit is not None
            assert first(case, Supposed(slack.tool, name, limit)) == slack.tool
            beyond = (
                limit + 1e-4 * (limit - figure) + (1e-5 if limit >= figure and name not in {FIT, "success"} else -1e-5)
            )
            assert first(case, Supposed(slack.tool, name, max(beyond, 0.0))) != slack.tool


@pytest.mark.parametrize("axes", [("worth_usd", "kappa"), ("wrong_usd", "n")])
def test_each_cell_of_a_plane_is_what_the_router_decides(axes: tuple[str, str]) -> None:
    case = replace(drawn(3), refused="")
    low, high = np.array([0.02, 0.2, 0.9]), np.array([2.0, 3.0]) if axes[1] == "n" else np.array([20.0, 3000.0])
    cells = value_plane(case, *axes, low, high)
    for up, y in enumerate(high.tolist()):
        for across, x in enumerate(low.tolist()):
            row = int(cells.winner[up, across])
            value = int(y) if axes[1] == "n" else y
            assert (case.context.tool_ids[row] if row >= 0 else None) == first(case, **{axes[0]: x, axes[1]: value})
            assert cells.margin[up, across] >= 0
