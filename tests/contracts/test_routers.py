"""Contract of every entry of ROUTERS."""

import math
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from core.domain.catalog import Server
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from core.routers import ROUTERS
from core.routers.base import Router
from tests.cases import each
from tests.contracts.checks import NOON, check_whole, each_router, same
from tests.routers import worlds

UNUSABLE = [math.nan, math.inf, -math.inf, -1.0]
TRY_KEYS = ["tool", "p", "cost_usd", "reached"]
BY_ORDER = {"expected_value"}  # their candidates are an order of tries


@each_router
def test_an_entry_says_what_it_is(router):
    assert isinstance(router, Router)
    assert ROUTERS[router.id] is type(router)
    assert all(text.strip() for text in (router.title, router.paper, router.summary))
    assert "\n" not in router.summary


@each_router
def test_parameters_of_another_router_are_refused(router, busy):
    with pytest.raises(TypeError, match=f"takes {router.parameters.__name__}, not Parameters"):
        router.route("x", busy, Parameters())


@each_router
def test_a_router_is_declared_with_the_type_of_its_parameters(router):
    bases = (base for kind in type(router).__mro__ for base in vars(kind).get("__orig_bases__", ()))
    assert get_args(next(bases)) == (router.parameters,)


@each_router
def test_the_same_input_gives_the_same_decision_under_a_new_id(router, busy):
    first, second = router.route("x", busy), router.route("x", busy)
    assert same(first, second)
    assert first.id != second.id
    assert first.at == NOON


@each_router
def test_no_input_is_changed(router, busy):
    inputs = [
        busy.matcher.answer.servers,
        busy.matcher.answer.tools,
        busy.tool_tokens,
        busy.tool_server,
        busy.tool_order,
    ]
    inputs += [getattr(busy.statistics.servers, f.name) for f in fields(busy.statistics.servers)]
    inputs += [getattr(busy.statistics.tools, f.name) for f in fields(busy.statistics.tools)]
    before = [array.copy() for array in inputs]
    router.route("x", busy)
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(inputs, before, strict=True))


@each_router
def test_read_only_inputs_do(router, busy):
    for array in (busy.matcher.answer.servers, busy.matcher.answer.tools, busy.statistics.servers.success):
        array.setflags(write=False)
    check_whole(router.route("x", busy), busy)


@each_router
def test_a_busy_catalog_gives_at_most_n_candidates_and_a_winner(router, busy):
    decision = router.route("x", busy, router.parameters(n=2))
    check_whole(decision, busy)
    assert len(decision.candidates) == 2
    assert decision.winner.tool == decision.tools.ids[decision.candidates[0]]
    assert decision.winner.tool in decision.reason


@each_router
def test_an_empty_catalog_gives_an_empty_decision_with_a_reason(router):
    context = worlds.context(worlds.catalog(), {}, {})
    decision = router.route("x", context)
    check_whole(decision, context)
    assert (decision.candidates, decision.winner) == ((), None)
    assert decision.tokens == {"baseline": 0, "exposed": 0, "cached": 0}
    assert (decision.shortlist(), decision.evaluated_tools()) == ((), ())


@each_router
def test_servers_without_tools_give_an_empty_decision_with_a_reason(router):
    context = worlds.context(worlds.catalog(Server("a"), Server("b")), {"a": 0.9}, {})
    decision = router.route("x", context)
    check_whole(decision, context)
    assert decision.winner is None
    assert decision.reason == "The catalog has no tools; import or discover a catalog that has some."


@each_router
def test_one_tool_wins(router):
    context = worlds.context(worlds.catalog(Server("a", tools=(worlds.tool("x"),))), {"a": 0.8}, {"a::x": 0.8})
    decision = router.route("x", context)
    check_whole(decision, context)
    assert decision.winner.tool == "a::x"


@each_router
def test_where_nothing_is_similar_the_decision_is_still_whole(router, busy):
    busy.matcher.answer.servers[:], busy.matcher.answer.tools[:] = 0.0, 0.0
    check_whole(router.route("x", busy), busy)


@each("bad", UNUSABLE)
@each_router
def test_declared_figures_that_are_no_figures_reach_no_utility(router, bad):
    tool = worlds.tool("x", latency_s=bad, success=bad, price_usd=bad)
    server = Server(
        "a", tools=(tool, worlds.tool("y")), ask_usd=bad, conn_s=bad, call_s=bad, success=bad, success_variance=bad,
        post_accept_failure=bad,
    )  # fmt: skip
    context = worlds.context(worlds.catalog(server, Server("b", tools=(worlds.tool("z"),))), {"a": 0.8}, {"a::x": 0.8})
    decision = router.route("x", context)
    check_whole(decision, context)
    assert decision.winner.tool == "a::x"


@each("figures", [{"latency_s": 1e308, "success": 0.1}, {"price_usd": 1e308}], ids=["time", "price"])
@each_router
def test_an_absurdly_large_declared_figure_stays_a_number(router, figures):
    tools = (worlds.tool("x", **figures), worlds.tool("y"))
    context = worlds.context(worlds.catalog(Server("a", tools=tools)), {"a": 0.8}, {"a::y": 0.5})
    dear = {"kappa": 200.0} if "kappa" in router.parameters().values() else {}
    check_whole(router.route("x", context, router.parameters().replaced(dear)), context)


@each_router
def test_a_server_that_always_fails_stays_a_number(router):
    server = Server("a", success=0.0, post_accept_failure=1.0, tools=(worlds.tool("x", success=0.0),))
    context = worlds.context(worlds.catalog(server), {"a": 0.8}, {"a::x": 0.8})
    check_whole(router.route("x", context), context)


@each_router
def test_ties_go_by_name_however_the_catalog_is_ordered(router):
    servers = [Server(name, tools=(worlds.tool("y"), worlds.tool("x"))) for name in ("c", "a", "b")]
    catalog = worlds.catalog(*servers)
    context = worlds.context(catalog, dict.fromkeys("abc", 0.5), {tool.id: 0.5 for tool in catalog.tools})
    decision = router.route("q", context, router.parameters(n=6))  # no word of a tool
    assert [decision.tools.ids[row] for row in decision.candidates] == ["a::x", "a::y", "b::x", "b::y", "c::x", "c::y"]
    assert [decision.servers.names[row] for row in decision.servers_by_rank()] == ["a", "b", "c"]


@each_router
def test_ties_of_utility_go_to_the_higher_similarity(router):
    # With U = Sim - 0.25 C, beta = 1 and no fixed time: 0.75 - 0.25 * 2 = 0.5 - 0.25 * 1 = 0.25. Where time does not
    # count the more similar one wins anyway.
    tools = (worlds.tool("a", latency_s=1.0, success=1.0), worlds.tool("b", latency_s=2.0, success=1.0))
    server = Server("s", tools=tools, conn_s=0.0, post_accept_failure=0.0)
    context = worlds.context(worlds.catalog(server), {"s": 0.9}, {"s::a": 0.5, "s::b": 0.75})
    assert router.route("x", context).winner.tool == "s::b"


@each_router
def test_candidates_are_sorted_by_utility_then_similarity_then_name(router, busy):
    """Where they are an order of tries, this is what comes after the six that are planned."""
    decision = router.route("x", busy, router.parameters(n=20))
    check_whole(decision, busy)
    t = decision.tools
    planned = len(decision.tries.tries) if decision.tries is not None else 0
    assert planned == (6 if router.id in BY_ORDER else 0)
    keys = [(-t.utility[row], -t.similarity[row], t.ids[row]) for row in decision.candidates[planned:]]
    assert keys == sorted(keys)


@each("name", sorted(BY_ORDER))
@each("n", [1, 2, 6])
def test_an_order_of_tries_is_that_of_the_candidates(busy, name, n):
    router = ROUTERS[name]()
    decision = router.route("x", busy, router.parameters(n=n))
    check_whole(decision, busy)
    document, ids = decision.to_json(), [decision.tools.ids[row] for row in decision.candidates]
    assert len(ids) == n
    assert [entry["tool"] for entry in document["order"]] == [entry.tool for entry in decision.tries.tries] == ids
    assert all(list(entry) == TRY_KEYS for entry in document["order"])
    remaining = np.cumprod([1.0, *(1 - entry["p"] for entry in document["order"])])
    assert [entry["reached"] for entry in document["order"]] == pytest.approx(remaining[:-1])
    assert list(document["expected"]) == ["success", "usd", "s", "value_usd"]
    assert document["expected"]["success"] == pytest.approx(1 - remaining[-1])


@each_router
def test_space_around_a_subtask_and_a_hint_is_no_part_of_them(router, busy):
    busy.matcher.read.clear()
    decision = router.route("  read a file\n", busy, server_hint=" files ")
    assert (decision.query, decision.server_hint) == ("read a file", "files")
    assert "read a file" in busy.matcher.read
    assert all(text == text.strip() and hint == "files" for text, hint in busy.matcher.asked)


@each("query", ["", "   ", "\n\t", "\u3000"])
@each_router
def test_an_empty_subtask_is_refused_with_what_to_do(router, busy, query):
    with pytest.raises(WayfareError, match="sub-task is empty; say"):
        router.route(query, busy)


@each_router
def test_a_subtask_of_the_greatest_length_is_taken_and_a_longer_one_refused(router, busy):
    assert len(router.route("x" * 20_000, busy).query) == 20_000
    with pytest.raises(WayfareError, match=r"20,001 characters; shorten it to at most 20,000"):
        router.route("x" * 20_001, busy)
