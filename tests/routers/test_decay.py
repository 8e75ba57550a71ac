"""Decay: with a half-life figures go back to where they stood before the first call; without one nothing changes."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.statistics import Source
from core.routers.ema import Rates
from core.routers.projection import StatisticsProjection

HALF_LIFE_S = 100.0
promise = settings(derandomize=True, max_examples=40)
spans = st.floats(0.0, 1e6)
failures = st.lists(
    st.tuples(st.sampled_from(["ok", "crash", "timeout", "tool_error"]), st.floats(0.0, 500.0), st.floats(0.0, 30.0)),
    max_size=20,
)


@pytest.fixture
def at(event):
    """An event at a number of seconds from the start."""

    def make(seconds, *args, **kwargs):
        made = event(*args, **kwargs)
        return replace(made, at=made.at + timedelta(seconds=seconds))

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
    projection, now = fading(two_servers), event().at
    r, var, pfail, call_s = want = 0.8, 0.04, 0.1, 0.5
    start, seen = want, False
    for kind, gap, latency_s in calls:
        now += timedelta(seconds=gap)
        projection.observe(replace(event("a", "x", kind, latency_s), at=now))
        left = 0.5 ** (gap / HALF_LIFE_S) if seen else 1.0
        r, var, pfail, call_s = (s + left * (x - s) for x, s in zip(want, start, strict=True))
        y, fail = float(kind == "ok"), float(kind in ("crash", "timeout"))
        want = (
            0.85 * r + 0.15 * y, 0.85 * var + 0.15 * (y - r) ** 2, 0.85 * pfail + 0.15 * fail, 0.85 * call_s + 0.15 * latency_s,
        )  # fmt: skip
        seen = True
    left = 0.5 ** (later / HALF_LIFE_S)
    s = projection.snapshot(now + timedelta(seconds=later)).servers
    got = s.success[0], s.success_variance[0], s.post_accept_failure[0], s.call_s[0]
    assert got == pytest.approx([b + left * (x - b) for x, b in zip(want, start, strict=True)], abs=1e-6)
    assert s.decayed[0] == pytest.approx(1 - left if seen else 0.0, abs=1e-6)


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
            then, now, start = (getattr(getattr(s, layer), name) for s in (fresh, later, started))
            assert now == pytest.approx((then + start) / 2), name
            assert then[0] != start[0], name
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


def test_an_outcome_that_comes_late_makes_nothing_older(two_servers, at, moment):
    projection = fading(two_servers)
    projection.observe(at(50, "a", "x", "crash"))
    known = projection.server(0)
    projection.observe(at(0, "a", "x", "crash"))
    assert projection.server(0).success == pytest.approx(0.85 * known.success)
    assert projection.snapshot(moment(50)).servers.decayed[0] == 0.0
    assert projection.snapshot(moment(0)).servers.decayed[0] == 0.0


def test_without_a_moment_figures_are_those_at_the_latest_outcome(two_servers, at, moment):
    projection = fading(two_servers)
    projection.observe(at(0, "a", "x", "crash"))
    projection.observe(at(HALF_LIFE_S, "b", "z"))
    assert projection.snapshot().servers.decayed.tolist() == [0.5, 0.0]
    assert projection.snapshot() is projection.snapshot(moment(HALF_LIFE_S))


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
