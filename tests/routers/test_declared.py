"""Declared figures that cannot be used, prices set by hand, and asks worked out from prices."""

import math

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.statistics import Source
from core.routers.projection import StatisticsProjection
from tests.cases import each

UNUSABLE = [math.nan, math.inf, -math.inf, -0.5]


def snapshot(*servers, overrides=()):
    return StatisticsProjection(Catalog("c", servers), overrides=overrides).snapshot()


def priced(name, *prices, ask=None):
    return Server(name, ask_usd=ask, tools=tuple(Tool(name, f"t{i}", price_usd=p) for i, p in enumerate(prices)))


@each("bad", UNUSABLE)
@each(
    ("declared", "column", "source", "prior"),
    [
        ("conn_s", "conn_s", "conn_source", 0.3),
        ("call_s", "call_s", "call_source", 1.0),
        ("success", "success", "success_source", 0.9),
        ("post_accept_failure", "post_accept_failure", "failure_source", 0.02),
    ],
)
def test_an_unusable_figure_of_a_server_is_a_prior_and_marked_as_one(bad, declared, column, source, prior):
    figures = snapshot(Server("a", **{declared: bad})).servers
    assert getattr(figures, column).tolist() == [prior]
    assert getattr(figures, source).tolist() == [Source.PRIOR]


@each("bad", UNUSABLE)
@each(("declared", "column", "prior"), [("latency_s", "latency", 1.0), ("success", "success", 0.9)])
def test_an_unusable_figure_of_a_tool_is_a_prior_and_marked_as_one(bad, declared, column, prior):
    figures = snapshot(Server("a", tools=(Tool("a", "x", **{declared: bad}),))).tools
    assert getattr(figures, declared).tolist() == [prior]
    assert getattr(figures, f"{column}_source").tolist() == [Source.PRIOR]


@each("bad", [*UNUSABLE, None])
def test_an_unusable_price_is_no_price_and_an_unusable_ask_no_ask(bad):
    got = snapshot(priced("a", bad, ask=bad))
    assert math.isnan(got.tools.price_usd[0])
    assert math.isnan(got.servers.ask_usd[0])
    assert (got.tools.price_source[0], got.servers.ask_source[0]) == (Source.PRIOR, Source.PRIOR)


def test_a_declared_zero_is_a_declaration():
    tool = Tool("a", "x", latency_s=0.0, success=0.0, price_usd=0.0)
    got = snapshot(
        Server("a", conn_s=0.0, call_s=0.0, success=0.0, post_accept_failure=0.0, ask_usd=0.0, tools=(tool,))
    )
    s, t = got.servers, got.tools
    for column in (
        s.conn_s,
        s.call_s,
        s.success,
        s.post_accept_failure,
        s.ask_usd,
        t.latency_s,
        t.success,
        t.price_usd,
    ):
        assert column.tolist() == [0.0]
    for source in (s.conn_source, s.call_source, s.success_source, s.failure_source, s.ask_source, t.price_source):
        assert source.tolist() == [Source.DECLARED]


@each(
    ("prices", "median"),
    [((0.01,), 0.01), ((0.01, 0.05), 0.03), ((0.09, 0.01, 0.02), 0.02), ((None, 0.04, None), 0.04)],
)
def test_an_ask_nobody_declared_is_the_median_of_the_tools_prices(prices, median):
    assert snapshot(priced("a", *prices)).servers.ask_usd[0] == pytest.approx(median)


def test_a_price_set_by_hand_replaces_the_declared_one_and_moves_the_median(edit):
    got = snapshot(priced("a", 0.01, 0.02, 0.03), overrides=[edit("a", "t0", 0.9)])
    assert got.tools.price_usd.tolist() == [0.9, 0.02, 0.03]
    assert got.tools.price_source.tolist() == [Source.EDITED, Source.DECLARED, Source.DECLARED]
    assert got.servers.ask_usd[0] == pytest.approx(0.03)


def test_an_edit_that_was_cleared_later_gives_the_declared_price_back(edit):
    got = snapshot(priced("a", 0.01), overrides=[edit("a", "t0", 0.2), edit("a", "t0", None)])
    assert (got.tools.price_usd[0], got.tools.price_source[0]) == (0.01, Source.DECLARED)


def test_an_edit_of_what_the_catalog_no_longer_has_is_passed_over(edit):
    got = snapshot(
        priced("a", 0.01), overrides=[edit("a", "gone", 0.2), edit("gone", "t0", 0.2), edit("gone", "", 0.2)]
    )
    assert got.tools.price_usd.tolist() == [0.01]
    assert got.servers.ask_usd.tolist() == [0.01]
