"""Statistics: declared figures and prices, and the fold of outcomes into them."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server, Tool
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Source
from core.routers.ema import Priors, Rates
from core.routers.projection import StatisticsProjection
from tests.cases import each

calls = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "gone"]),
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from([k.value for k in OutcomeKind]),
        st.floats(0.0, 30.0),
        st.one_of(st.none(), st.floats(0.0, 5.0)),
        st.booleans(),
    ),
    max_size=25,
)


def arrays(snapshot):
    """Every column of a snapshot by name."""
    groups = {"servers": snapshot.servers, "tools": snapshot.tools}
    return {(g, f.name): getattr(figures, f.name) for g, figures in groups.items() for f in fields(figures)}


def copied(snapshot):
    return {name: column.copy() for name, column in arrays(snapshot).items()}


def same(snapshot, columns):
    actual = arrays(snapshot)
    return all(np.array_equal(actual[name], columns[name], equal_nan=True) for name in columns)


def naive_fold(events, rates):
    """EHRR (8) in plain loops for the catalog `two_servers`; the outcome kinds as the specification has them."""
    servers = {"a": [0.8, 0.04, 0.1, 0.5, 0.2, 0], "b": [0.9, 0.0, 0.02, 1.0, 0.3, 0]}
    tools = {"a::x": [0.7, 0.4, 0], "a::y": [0.9, 0.6, 0], "b::z": [0.9, 1.0, 0]}
    lr, lv, lp, ll = rates
    for e in events:
        tool = tools.get(f"{e.server}::{e.tool}")
        if e.simulated or e.kind in ("cancelled", "not_tried", "busy") or tool is None:
            continue
        if e.kind == "invalid_arguments":
            tool[0] *= 1 - lr / 4
            continue
        y = 1.0 if e.kind == "ok" else 0.0
        fail = 1.0 if e.kind in ("timeout", "crash", "not_connected") else 0.0
        r, var, pfail, call, conn, calls = servers[e.server]
        timed = ll if e.kind != "not_connected" else 0.0  # without a call there is no time to learn from
        servers[e.server] = [
            (1 - lr) * r + lr * y,
            (1 - lv) * var + lv * (y - r) ** 2,
            (1 - lp) * pfail + lp * fail,
            (1 - timed) * call + timed * e.latency_s,
            conn if e.connect_s is None else (1 - ll) * conn + ll * e.connect_s,
            calls + 1,
        ]
        tool[:] = [(1 - lr) * tool[0] + lr * y, (1 - timed) * tool[1] + timed * e.latency_s, tool[2] + 1]
    return servers, tools


def known_tools_only(rows):
    """Rows whose tool belongs to the server. Unknown tools have another test."""
    return [row for row in rows if row[0] == "gone" or (row[0] == "b") == (row[1] == "z")]


@settings(derandomize=True, max_examples=80)
@given(calls, st.tuples(*[st.floats(0.01, 0.99)] * 4))
def test_the_fold_is_equation_8_event_by_event(two_servers, event, rows, rates):
    events = [event(*row[:5], simulated=row[5]) for row in known_tools_only(rows)]
    projection = StatisticsProjection(two_servers, rates=Rates(*rates))
    for e in events:
        projection.observe(e)
    servers, tools = naive_fold(events, rates)
    statistics = projection.snapshot()
    s, t = statistics.servers, statistics.tools
    for row, want in enumerate(servers.values()):
        figures = [s.success, s.success_variance, s.post_accept_failure, s.call_s, s.conn_s, s.calls]
        assert [column[row] for column in figures] == pytest.approx(want, abs=1e-9)
    for row, want in enumerate(tools.values()):
        assert [column[row] for column in (t.success, t.latency_s, t.calls)] == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("old", ["a", "b"])
def test_an_older_snapshot_does_not_change(two_servers, event, old):
    projection = StatisticsProjection(two_servers)
    older = projection.snapshot()
    columns = copied(older)
    projection.observe(event(old, "x" if old == "a" else "z", "crash", 9.0, 2.0))
    assert same(older, columns)
    assert not same(projection.snapshot(), columns)
    assert (older.version, projection.snapshot().version) == (0, 1)


@each(("kind", "simulated"), [("ok", False), ("crash", False), ("cancelled", False), ("ok", True)])
def test_looking_ahead_gives_the_figures_that_folding_then_gives_and_changes_nothing(
    two_servers, event, kind, simulated
):
    projection = StatisticsProjection(two_servers)
    columns, outcome = copied(projection.snapshot()), event("a", "y", kind, 4.0, 0.7, simulated=simulated)
    ahead = projection.after(outcome)
    assert same(projection.snapshot(), columns)
    projection.observe(outcome)
    assert ahead == (projection.server(0), projection.tool(1))


def test_priors_stand_where_nothing_is_declared_and_only_there(two_servers):
    priors = Priors(success=0.5, variance=0.2, failure=0.3, call_s=7.0, conn_s=8.0)
    stats = StatisticsProjection(two_servers, priors=priors).snapshot()
    s = stats.servers
    figures = [s.success, s.success_variance, s.post_accept_failure, s.call_s, s.conn_s]
    assert [x[1] for x in figures] == [0.5, 0.2, 0.3, 7.0, 8.0]
    assert [x[0] for x in figures] == [0.8, 0.04, 0.1, 0.5, 0.2]
    assert (stats.tools.success.tolist(), stats.tools.latency_s.tolist()) == ([0.7, 0.9, 0.5], [0.4, 0.6, 7.0])


@each("kind", ["ok", "timeout", "crash"])
def test_a_call_that_an_injected_network_troubled_teaches_nothing(two_servers, event, kind):
    projection = StatisticsProjection(two_servers)
    columns = copied(projection.snapshot())
    troubled = replace(event(kind=kind, latency_s=9.0, connect_s=9.0), injected="delayed by 160 ms")
    projection.observe(troubled)
    assert same(projection.snapshot(), columns)
    assert projection.after(troubled) == (projection.server(0), projection.tool(0))


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
    statistics = snapshot(priced("a", bad, ask=bad))
    assert math.isnan(statistics.tools.price_usd[0])
    assert math.isnan(statistics.servers.ask_usd[0])
    assert (statistics.tools.price_source[0], statistics.servers.ask_source[0]) == (Source.PRIOR, Source.PRIOR)


def test_a_declared_zero_is_a_declaration():
    tool = Tool("a", "x", latency_s=0.0, success=0.0, price_usd=0.0)
    statistics = snapshot(
        Server("a", conn_s=0.0, call_s=0.0, success=0.0, post_accept_failure=0.0, ask_usd=0.0, tools=(tool,))
    )
    s, t = statistics.servers, statistics.tools
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
    statistics = snapshot(priced("a", 0.01, 0.02, 0.03), overrides=[edit("a", "t0", 0.9)])
    assert statistics.tools.price_usd.tolist() == [0.9, 0.02, 0.03]
    assert statistics.tools.price_source.tolist() == [Source.EDITED, Source.DECLARED, Source.DECLARED]
    assert statistics.servers.ask_usd[0] == pytest.approx(0.03)


def test_an_edit_that_was_cleared_later_gives_the_declared_price_back(edit):
    statistics = snapshot(priced("a", 0.01), overrides=[edit("a", "t0", 0.2), edit("a", "t0", None)])
    assert (statistics.tools.price_usd[0], statistics.tools.price_source[0]) == (0.01, Source.DECLARED)


def test_an_edit_of_what_the_catalog_no_longer_has_is_passed_over(edit):
    statistics = snapshot(
        priced("a", 0.01), overrides=[edit("a", "gone", 0.2), edit("gone", "t0", 0.2), edit("gone", "", 0.2)]
    )
    assert statistics.tools.price_usd.tolist() == [0.01]
    assert statistics.servers.ask_usd.tolist() == [0.01]
