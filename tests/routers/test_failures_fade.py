"""What failures have taught fades: figures go back to where they stood after the last success, the later the longer they lasted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from core.domain.catalog import Catalog
from core.domain.events import OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.routers.ema import Rates, Running
from core.routers.projection import StatisticsProjection
from tests.cases import each

HALF_LIFE_S = 60.0
Event = Callable[..., OutcomeEvent]


class World:
    """A projection, and outcomes by the second."""

    def __init__(self, catalog: Catalog, event: Event, **rates: Any) -> None:
        self.projection = StatisticsProjection(
            catalog, rates=Rates(half_life_s=HALF_LIFE_S, fading="failures", **rates)
        )
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
    learnt, measured_s = world.success(1), world.figures().call_s
    assert world.success(1e6) == learnt  # what works stays measured
    world.call(2, "timeout", latency_s=30.0)
    low = world.success(2)
    assert low < learnt
    assert world.success(2 + HALF_LIFE_S) == pytest.approx((low + learnt) / 2)
    assert world.success(1e9) == pytest.approx(learnt)
    assert world.projection.snapshot(world.at(1e9)).servers.call_s[0] == pytest.approx(measured_s)


def test_the_half_life_is_as_long_as_the_failures_have_lasted(world: World) -> None:
    before = world.success(0)
    for second in (0, 100, 1000):
        world.call(second, "not_connected")
    low = world.success(1000)
    assert world.success(2000) == pytest.approx((low + before) / 2)
    world.call(2000, "ok")
    again = world.success(2000)
    world.call(2001, "crash")
    assert world.success(2001 + HALF_LIFE_S) == pytest.approx(
        (world.success(2001) + again) / 2
    )  # a new run of failures


def test_nothing_changes_with_time_where_nothing_failed(world: World) -> None:
    world.call(0, "ok")
    assert not world.projection.fades
    assert world.projection.snapshot(world.at(5)) is world.projection.snapshot(world.at(5_000))
    world.call(1, "crash")
    assert world.projection.fades


def test_a_server_that_answers_a_check_stands_where_it_stood_before_it_failed(world: World) -> None:
    world.call(0, "ok")
    before = world.projection.snapshot(world.at(0)).servers.success.tolist()
    for second in range(1, 16):
        world.call(second, "not_connected")
    world.projection.answered("a", world.at(20))
    assert world.projection.snapshot(world.at(20)).servers.success.tolist() == before
    assert not world.projection.fades
    world.projection.answered("nobody", world.at(20))


def test_rejected_arguments_lower_the_tool_alone_and_by_a_quarter_of_a_failure(world: World) -> None:
    before = world.projection.snapshot(world.at(0))
    world.call(1, OutcomeKind.INVALID_ARGUMENTS.value)
    after = world.projection.snapshot(world.at(1))
    assert after.tools.success[0] == pytest.approx((1 - 0.15 / 4) * before.tools.success[0])
    assert after.tools.calls.tolist() == before.tools.calls.tolist()
    assert after.servers.success.tolist() == before.servers.success.tolist()


@each("kind", [OutcomeKind.NOT_TRIED, OutcomeKind.CANCELLED])
def test_a_call_that_was_not_tried_changes_nothing(kind: OutcomeKind, two_servers: Catalog, event: Event) -> None:
    world = World(two_servers, event)
    before = world.projection.snapshot(world.at(0))
    world.call(1, kind.value)
    assert world.projection.snapshot(world.at(1)) is before
