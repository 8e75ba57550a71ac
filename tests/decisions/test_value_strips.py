"""The strips of expected value are exact: the router itself, asked at many values, decides as its segment says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from core.decisions.expected_value import VALUES, ValueCase, strips
from core.decisions.strips import Strip
from core.domain.catalog import ToolHints
from core.routers.expected_value import ExpectedValue, ExpectedValueParameters, prospects
from tests.decisions import instances
from tests.routers import worlds


def drawn(seed: int) -> ValueCase:
    """Up to 18 tools, a few of them rivals, under any prices."""
    rng = np.random.default_rng(seed)
    made = instances.catalog(rng, 6, 3)
    made = replace(
        made,
        servers=tuple(
            replace(s, tools=tuple(replace(t, hints=ToolHints(read_only=bool(rng.random() < 0.5))) for t in s.tools))
            for s in made.servers
        ),
    )
    context = worlds.context(made, {}, {})
    count = len(made.tools)
    context.matcher.answer = instances.Match(np.zeros(len(made.servers)), rng.random(count) ** 3)
    likeness = np.where(rng.random((count, count)) < 0.06, 0.95, 0.2)
    likeness = np.maximum(likeness, likeness.T)
    context.matcher.likeness = lambda rows: likeness[np.ix_(rows, rows)]
    parameters = ExpectedValueParameters(
        worth_usd=float(rng.choice([0.05, 0.3, 2.0])), wrong_usd=float(rng.choice([0.0, 0.002, 0.05])),
        unsafe_usd=float(rng.choice([0.0, 0.01])), kappa=float(rng.choice([50.0, 1000.0])), n=int(rng.integers(1, 4)),
    )  # fmt: skip
    known = prospects(context.matcher.answer.tools, context)
    return ValueCase(context, known, context.matcher.likeness, parameters)


def grid(strip: Strip) -> list[float]:
    """Values over the range, denser at its low end, and on both sides of each breakpoint."""
    span = strip.high - strip.low
    steps = np.linspace(0.01, 0.99, 12)
    values = [strip.low + span * step for step in (*steps, *steps**5)]
    for one, other in pairwise(strip.segments):
        near = min(1e-7 * span, (one.high - one.low) / 3, (other.high - other.low) / 3)
        values += [other.low - near, other.low + near]
    return values


def test_the_router_decides_as_the_segment_says() -> None:
    for seed in range(6):
        case = drawn(seed)
        made = strips(case)
        for name in VALUES:
            decided = {}
            for value in grid(made[name]):
                found = ExpectedValue().route("x", case.context, replace(case.parameters, **{name: value})).candidates
                segment = made[name].at(value)
                assert decided.setdefault(segment, found) == found, (seed, name, value)
                assert segment.winner == (case.context.tool_ids[found[0]] if found else None), (seed, name, value)
            changes = [decided[segment] for segment in made[name].segments]
            assert all(one != other for one, other in pairwise(changes)), (seed, name)


def test_the_number_of_tries() -> None:
    for seed in range(6):
        case = drawn(seed)
        made = strips(case)["n"]
        for value in range(1, 10):
            found = ExpectedValue().route("x", case.context, replace(case.parameters, n=value)).candidates
            assert made.at(value).winner == (case.context.tool_ids[found[0]] if found else None)


def test_the_margin_is_what_another_beginning_would_lose() -> None:
    """One try only: the value of the best tool less that of the next, or of none."""
    for seed in range(10):
        case = drawn(seed)
        case = replace(case, parameters=replace(case.parameters, n=1), computed={})
        values = np.sort(np.append(case.known.tries(case.parameters).value_usd(case.parameters.worth_usd), 0.0))
        segment = strips(case)["worth_usd"].at(case.parameters.worth_usd)
        lead = values[-1] - values[-2] if segment.winner else 0.0
        assert np.isclose(segment.margin, lead)
