"""EHRR (8) with Lemma 2, the decay of figures with time, and failures that fade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog
from core.domain.events import OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Source
from core.routers.ema import Rates, Running, ema
from core.routers.projection import StatisticsProjection
from tests.cases import each

promise = settings(derandomize=True, max_examples=60)
probability = st.floats(0.0, 1.0)
rate = st.floats(0.01, 0.99)
START = Running(success=0.9, success_variance=0.01, post_accept_failure=0.02, call_s=1.0, conn_s=0.3)


def every_path(start, smoothing, p, steps):
    """x_t of every sequence of `steps` Bernoulli(p) outcomes with its probability: the exact distribution."""
    for outcomes in product((0, 1), repeat=steps):
        x, chance = start, 1.0
        for z in outcomes:
            x, chance = ema(x, z, smoothing), chance * (p if z else 1 - p)
        yield x, chance


@promise
@given(probability, rate, probability, st.integers(1, 7))
def test_lemma_2_the_variance_after_t_steps_is_the_solved_recursion(start, smoothing, p, steps):
    mean = sum(x * chance for x, chance in every_path(start, smoothing, p, steps))
    variance = sum((x - mean) ** 2 * chance for x, chance in every_path(start, smoothing, p, steps))
    limit = smoothing / (2 - smoothing) * p * (1 - p)
    assert variance == pytest.approx(limit * (1 - (1 - smoothing) ** (2 * steps)), abs=1e-9)


def test_a_connection_that_took_no_time_is_a_connection():
    server = START.after(y=True, latency_s=1.0, fail=False, connect_s=0.0, rates=Rates())
    assert server.conn_s == pytest.approx(0.85 * 0.3)
    assert server.connects == 1


HALF_LIFE_S = 100.0
spans = st.floats(0.0, 1e6)
failures = st.lists(
    st.tuples(st.sampled_from(["ok", "crash", "timeout", "tool_error"]), st.floats(0.0, 500.0), st.floats(0.0, 30.0)),
    max_size=20,
)


@pytest.fixture
def at(event):
    """An event at a number of seconds from the start."""

    def make(seconds, *args, **kwargs):
        outcome = event(*args, **kwargs)
        return replace(outcome, at=outcome.at + timedelta(seconds=seconds))

    return make


@pytest.fixture
def moment(event):
    """A time by its seconds from the start."""
    return lambda seconds: event().at + timedelta(seconds=seconds)


def fading(catalog, half_life_s=HALF_LIFE_S, **rates):
    return StatisticsProjection(catalog, rates=Rates(half_life_s=half_life_s, **rates))


@promise
@given(failures, spans)
def test_with_one_the_fold_is_decay_then_equation_8_call_by_call(two_servers, event, calls, later):
    projection, time = fading(two_servers), event().at
    r, var, pfail, call_s = want = 0.8, 0.04, 0.1, 0.5
    start, observed = want, False
    for kind, gap, latency_s in calls:
        time += timedelta(seconds=gap)
        projection.observe(replace(event("a", "x", kind, latency_s), at=time))
        remaining = 0.5 ** (gap / HALF_LIFE_S) if observed else 1.0
        r, var, pfail, call_s = (s + remaining * (x - s) for x, s in zip(want, start, strict=True))
        y, fail = float(kind == "ok"), float(kind in ("crash", "timeout"))
        want = (
            0.85 * r + 0.15 * y, 0.85 * var + 0.15 * (y - r) ** 2, 0.85 * pfail + 0.15 * fail, 0.85 * call_s + 0.15 * latency_s,
        )  # fmt: skip
        observed = True
    remaining = 0.5 ** (later / HALF_LIFE_S)
    s = projection.snapshot(time + timedelta(seconds=later)).servers
    actual = s.success[0], s.success_variance[0], s.post_accept_failure[0], s.call_s[0]
    assert actual == pytest.approx([b + remaining * (x - b) for x, b in zip(want, start, strict=True)], abs=1e-6)
    assert s.decayed[0] == pytest.approx(1 - remaining if observed else 0.0, abs=1e-6)


def test_after_a_half_life_every_figure_is_half_way_back_and_says_so(two_servers, at, moment):
    projection = fading(two_servers)
    projection.observe(at(0, "a", "x", "crash", 9.0, 3.0))
    fresh, later = projection.snapshot(moment(0)), projection.snapshot(moment(HALF_LIFE_S))
    started = StatisticsProjection(two_servers).snapshot()
    for layer, names in (
        ("servers", ("success", "success_variance", "post_accept_failure", "call_s", "conn_s")),
        ("tools", ("success", "latency_s")),
    ):
        for name in names:
            measured, halfway, start = (getattr(getattr(s, layer), name) for s in (fresh, later, started))
            assert halfway == pytest.approx((measured + start) / 2), name
            assert measured[0] != start[0], name
    assert later.servers.decayed.tolist() == later.servers.conn_decayed.tolist() == [0.5, 0.0]
    assert later.tools.decayed.tolist() == [0.5, 0.0, 0.0]
    assert (later.servers.success_source[0], later.servers.calls[0]) == (Source.MEASURED, 1)
    assert later.version == fresh.version == 1


def test_a_connection_fades_from_its_own_last_time(two_servers, at, moment):
    projection = fading(two_servers)
    projection.observe(at(0, "a", "x", connect_s=1.0))
    projection.observe(at(HALF_LIFE_S, "a", "x", connect_s=None))
    s = projection.snapshot(moment(2 * HALF_LIFE_S)).servers
    assert (s.decayed[0], s.conn_decayed[0]) == (0.5, 0.75)
    assert s.conn_s[0] == pytest.approx(0.2 + 0.25 * 0.15 * (1.0 - 0.2))


def test_looking_ahead_counts_the_time_that_has_passed(two_servers, at):
    projection = fading(two_servers)
    projection.observe(at(0, "a", "x", "crash", 9.0, 2.0))
    outcome = at(70, "a", "x", "ok", 1.0, 0.1)
    ahead = projection.after(outcome)
    projection.observe(outcome)
    assert ahead == (projection.server(0), projection.tool(0))


def test_the_version_after_the_last_call_of_each_is_kept(two_servers, at):
    projection = StatisticsProjection(two_servers)
    for server, tool in (("a", "x"), ("b", "z"), ("a", "y")):
        projection.observe(at(0, server, tool))
    s, t = projection.snapshot().servers, projection.snapshot().tools
    assert (s.seen_version.tolist(), t.seen_version.tolist()) == ([3, 2], [1, 3, 2])


FADING_S = 60.0
Event = Callable[..., OutcomeEvent]


class World:
    """A projection, and outcomes by the second."""

    def __init__(self, catalog: Catalog, event: Event, **rates: Any) -> None:
        self.projection = StatisticsProjection(catalog, rates=Rates(half_life_s=FADING_S, fading="failures", **rates))
        self._event = event

    def at(self, second: float) -> datetime:
        return self._event().at + timedelta(seconds=second)

    def call(self, second: float, kind: str, latency_s: float = 0.5) -> None:
        self.projection.observe(replace(self._event(), at=self.at(second), kind=kind, latency_s=latency_s))

    def success(self, second: float) -> float:
        return float(self.projection.snapshot(self.at(second)).servers.success[0])

    def figures(self) -> Running:
        return self.projection.server(0)


@pytest.fixture
def world(two_servers: Catalog, event: Event) -> World:
    return World(two_servers, event)


def test_figures_go_back_to_those_of_the_last_success_and_not_to_the_declared_ones(world: World) -> None:
    world.call(0, "tool_error")
    world.call(1, "ok", latency_s=3.0)
    success, measured_s = world.success(1), world.figures().call_s
    assert world.success(1e6) == success  # a working server keeps its measured figure
    world.call(2, "timeout", latency_s=30.0)
    low = world.success(2)
    assert low < success
    assert world.success(2 + FADING_S) == pytest.approx((low + success) / 2)
    assert world.success(1e9) == pytest.approx(success)
    faded = world.projection.snapshot(world.at(1e9))
    assert faded.servers.call_s[0] == pytest.approx(measured_s)
    assert world.projection.snapshot(world.at(1e9 + 1)) is faded  # nothing is left to fade


def test_the_half_life_is_as_long_as_the_failures_have_lasted(world: World) -> None:
    start = world.success(0)
    for second in (0, 100, 1000):
        world.call(second, "not_connected")
    low = world.success(1000)
    assert world.success(2000) == pytest.approx((low + start) / 2)
    world.call(2000, "ok")
    high = world.success(2000)
    world.call(2001, "crash")
    assert world.success(2001 + FADING_S) == pytest.approx((world.success(2001) + high) / 2)  # a new run of failures


def test_a_server_that_answers_a_check_stands_where_it_stood_before_it_failed(world: World) -> None:
    world.call(0, "ok")
    success = world.projection.snapshot(world.at(0)).servers.success.tolist()
    for second in range(1, 16):
        world.call(second, "not_connected")
    world.projection.answered("a", world.at(20))
    assert world.projection.snapshot(world.at(20)).servers.success.tolist() == success
    assert not world.projection.fades
    world.projection.answered("nobody", world.at(20))


def test_a_check_gives_back_the_figures_of_the_last_success_also_if_everything_fades(two_servers, at, moment):
    projection = fading(two_servers)
    projection.observe(at(0, "a", "x", "ok", 9.0))
    learnt = projection.server(0).success, projection.tool(0).call_s
    projection.observe(at(1, "a", "x", "not_connected"))
    projection.answered("a", moment(2))
    assert (projection.server(0).success, projection.tool(0).call_s) == learnt


def test_rejected_arguments_lower_the_tool_alone_and_by_a_quarter_of_a_failure(world: World) -> None:
    fresh = world.projection.snapshot(world.at(0))
    world.call(1, OutcomeKind.INVALID_ARGUMENTS.value)
    rejected = world.projection.snapshot(world.at(1))
    assert rejected.tools.success[0] == pytest.approx((1 - 0.15 / 4) * fresh.tools.success[0])
    assert rejected.tools.calls.tolist() == fresh.tools.calls.tolist()
    assert rejected.servers.success.tolist() == fresh.servers.success.tolist()


@each("kind", [OutcomeKind.NOT_TRIED, OutcomeKind.CANCELLED])
def test_a_call_that_was_not_tried_changes_nothing(kind: OutcomeKind, two_servers: Catalog, event: Event) -> None:
    world = World(two_servers, event)
    snapshot = world.projection.snapshot(world.at(0))
    world.call(1, kind.value)
    assert world.projection.snapshot(world.at(1)) is snapshot
