"""What every entry of ROUTERS promises."""

import json
import math
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest

from core.domain.catalog import Server
from core.domain.decision import DROPS, KEPT, Decision, Drop
from core.errors import WayfareError
from core.routers import ROUTERS
from core.routers.base import Router

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOSTILE = '<script>alert("x")</script> \u202e\x00\x1b[31m {{7*7}} `rm -rf` **bold** \u200b</td>'
UNUSABLE = [math.nan, math.inf, -math.inf, -1.0]
SERVER_KEYS = ["server", "similarity", "cost_s", "utility", "shortlisted", "posted_price_usd", "ask_usd", "accepted"]
TOOL_KEYS = ["tool", "similarity", "cost_s", "time_cost_s", "money_cost_s"]
TOOL_KEYS += ["utility", "price_usd", "affordable", "rank", "dropped_by"]


@pytest.fixture(params=list(ROUTERS))
def router(request):
    """Each router with a clock that stands still."""
    return ROUTERS[request.param](clock=lambda: 0.0, now=lambda: NOON)


@pytest.fixture
def busy(worlds):
    """Seven servers of three tools, some of them dear; similarities all differ."""
    servers = [
        Server(f"s{s}", tools=tuple(worlds.tool(f"t{t}", price_usd=0.01 * t * s, latency_s=0.1 * t) for t in range(3)))
        for s in range(7)
    ]
    catalog = worlds.catalog(*servers)
    of_server = {server.name: 0.9 - 0.1 * row for row, server in enumerate(catalog.servers)}
    return worlds.scene(catalog, of_server, {tool.id: 0.95 - 0.02 * row for row, tool in enumerate(catalog.tools)})


def columns(decision: Decision):
    """Every column of both traces by name."""
    traces = {"servers": decision.servers, "tools": decision.tools}
    return {(name, f.name): getattr(trace, f.name) for name, trace in traces.items() for f in fields(trace)}


def same(one: Decision, other: Decision) -> bool:
    mine, theirs = columns(one), columns(other)
    arrays = [name for name in mine if isinstance(mine[name], np.ndarray)]
    if any(not np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f") for name in arrays):
        return False
    plain = ("catalog", "router", "subtask", "server_hint", "parameters", "planner", "reason", "candidates")
    return all(getattr(one, name) == getattr(other, name) for name in plain) and one.tokens == other.tokens


def check_whole(decision: Decision, scene):
    """What holds for any decision: one row for each server and tool, no NaN, candidates and ranks that agree."""
    got = columns(decision)
    assert {len(got[key]) for key in got if key[0] == "servers"} == {len(scene.catalog.servers)}
    assert {len(got[key]) for key in got if key[0] == "tools"} == {len(scene.catalog.tools)}
    for key in (("servers", "utility"), ("servers", "cost_s"), ("tools", "utility"), ("tools", "time_cost_s")):
        assert np.isfinite(got[key]).all(), key
    tools = decision.tools
    assert tools.dropped.tolist().count(KEPT) == len(decision.candidates)
    assert [int(tools.rank[row]) for row in decision.candidates] == list(range(1, len(decision.candidates) + 1))
    assert {int(code) for code in tools.dropped} <= {KEPT, *range(len(DROPS))}
    assert sorted(decision.servers.rank.tolist()) == list(range(1, len(scene.catalog.servers) + 1))
    assert decision.reason.endswith(".")
    json.dumps(decision.to_json(), allow_nan=False)


def test_an_entry_says_what_it_is(router):
    assert isinstance(router, Router)
    assert ROUTERS[router.id] is type(router)
    assert all(text.strip() for text in (router.title, router.paper, router.summary))
    assert "\n" not in router.summary


def test_the_same_input_gives_the_same_decision_under_a_new_id(router, busy):
    one, other = router.route("x", busy), router.route("x", busy)
    assert same(one, other)
    assert one.id != other.id
    assert one.at == NOON


def test_another_router_of_the_same_kind_decides_the_same(router, busy):
    assert same(router.route("x", busy), type(router)().route("x", busy))


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


def test_read_only_inputs_do(router, busy):
    for array in (busy.matcher.answer.servers, busy.matcher.answer.tools, busy.statistics.servers.success):
        array.setflags(write=False)
    check_whole(router.route("x", busy), busy)


def test_a_busy_catalog_gives_at_most_n_candidates_and_a_winner(router, busy):
    decision = router.route("x", busy, router.parameters(n=2))
    check_whole(decision, busy)
    assert len(decision.candidates) == 2
    assert decision.winner.tool == decision.tools.ids[decision.candidates[0]]
    assert decision.winner.tool in decision.reason


def test_an_empty_catalog_gives_an_empty_decision_with_a_reason(router, worlds):
    scene = worlds.scene(worlds.catalog(), {}, {})
    decision = router.route("x", scene)
    check_whole(decision, scene)
    assert (decision.candidates, decision.winner) == ((), None)
    assert decision.tokens == {"baseline": 0, "exposed": 0, "cached": 0}
    assert (decision.shortlist(), decision.evaluated_tools()) == ((), ())


def test_servers_without_tools_give_an_empty_decision_with_a_reason(router, worlds):
    scene = worlds.scene(worlds.catalog(Server("a"), Server("b")), {"a": 0.9}, {})
    decision = router.route("x", scene)
    check_whole(decision, scene)
    assert decision.winner is None
    assert decision.reason == "The catalog has no tools; import or discover a catalog that has some."


def test_one_tool_wins(router, worlds):
    scene = worlds.scene(worlds.catalog(Server("a", tools=(worlds.tool("x"),))), {"a": 0.8}, {"a::x": 0.8})
    decision = router.route("x", scene)
    check_whole(decision, scene)
    assert decision.winner.tool == "a::x"


def test_where_nothing_is_similar_the_decision_is_still_whole(router, busy):
    busy.matcher.answer.servers[:], busy.matcher.answer.tools[:] = 0.0, 0.0
    check_whole(router.route("x", busy), busy)


@pytest.mark.parametrize("bad", UNUSABLE)
def test_declared_figures_that_are_no_figures_reach_no_utility(router, worlds, bad):
    tool = worlds.tool("x", latency_s=bad, success=bad, price_usd=bad)
    server = Server(
        "a", tools=(tool, worlds.tool("y")), ask_usd=bad, conn_s=bad, call_s=bad, success=bad, success_variance=bad,
        post_accept_failure=bad,
    )  # fmt: skip
    scene = worlds.scene(worlds.catalog(server, Server("b", tools=(worlds.tool("z"),))), {"a": 0.8}, {"a::x": 0.8})
    decision = router.route("x", scene)
    check_whole(decision, scene)
    assert decision.winner.tool == "a::x"


@pytest.mark.parametrize("figures", [{"latency_s": 1e308, "success": 0.1}, {"price_usd": 1e308}], ids=["time", "price"])
def test_an_absurdly_large_declared_figure_stays_a_number(router, worlds, figures):
    tools = (worlds.tool("x", **figures), worlds.tool("y"))
    scene = worlds.scene(worlds.catalog(Server("a", tools=tools)), {"a": 0.8}, {"a::y": 0.5})
    dear = {"kappa": 200.0} if "kappa" in router.parameters().values() else {}
    check_whole(router.route("x", scene, router.parameters().replaced(dear)), scene)


def test_a_server_that_always_fails_stays_a_number(router, worlds):
    server = Server("a", success=0.0, post_accept_failure=1.0, tools=(worlds.tool("x", success=0.0),))
    scene = worlds.scene(worlds.catalog(server), {"a": 0.8}, {"a::x": 0.8})
    check_whole(router.route("x", scene), scene)


def test_ties_go_by_name_however_the_catalog_is_ordered(router, worlds):
    servers = [Server(name, tools=(worlds.tool("y"), worlds.tool("x"))) for name in ("c", "a", "b")]
    catalog = worlds.catalog(*servers)
    scene = worlds.scene(catalog, dict.fromkeys("abc", 0.5), {tool.id: 0.5 for tool in catalog.tools})
    decision = router.route("q", scene, router.parameters(n=6))  # no word of a tool
    assert [decision.tools.ids[row] for row in decision.candidates] == ["a::x", "a::y", "b::x", "b::y", "c::x", "c::y"]
    assert [decision.servers.names[row] for row in decision.servers_by_rank()] == ["a", "b", "c"]


def test_ties_of_utility_go_to_the_higher_similarity(router, worlds):
    # With U = Sim - 0.25 C, beta = 1 and no fixed time: 0.75 - 0.25 * 2 = 0.5 - 0.25 * 1 = 0.25. Where time does not
    # count the more similar one wins anyway.
    tools = (worlds.tool("a", latency_s=1.0, success=1.0), worlds.tool("b", latency_s=2.0, success=1.0))
    server = Server("s", tools=tools, conn_s=0.0, post_accept_failure=0.0)
    scene = worlds.scene(worlds.catalog(server), {"s": 0.9}, {"s::a": 0.5, "s::b": 0.75})
    assert router.route("x", scene).winner.tool == "s::b"


def test_candidates_are_sorted_by_utility_then_similarity_then_name(router, busy):
    decision = router.route("x", busy, router.parameters(n=20))
    t = decision.tools
    keys = [(-t.utility[row], -t.similarity[row], t.ids[row]) for row in decision.candidates]
    assert keys == sorted(keys)


@pytest.mark.parametrize("subtask", ["读取文件 🗂️ и отправь", "é" * 5_000, HOSTILE], ids=["unicode", "5000", "hostile"])
def test_a_subtask_comes_back_as_it_was_given(router, busy, subtask):
    decision = router.route(subtask, busy)
    assert decision.subtask == subtask
    assert json.loads(json.dumps(decision.to_json(), allow_nan=False))["subtask"] == subtask
    assert subtask in busy.matcher.read


def test_hostile_names_and_descriptions_come_back_as_they_are(router, worlds):
    tool = replace(worlds.tool(HOSTILE), description=HOSTILE)
    scene = worlds.scene(
        worlds.catalog(Server(HOSTILE, HOSTILE, tools=(tool,))), {HOSTILE: 0.8}, {f"{HOSTILE}::{HOSTILE}": 0.8}
    )
    document = router.route("x", scene).to_json()
    assert document["candidates"] == [f"{HOSTILE}::{HOSTILE}"]
    assert document["servers"][0]["server"] == HOSTILE


def test_space_around_a_subtask_and_a_hint_is_no_part_of_them(router, busy):
    decision = router.route("  read a file\n", busy, server_hint=" files ")
    assert (decision.subtask, decision.server_hint) == ("read a file", "files")
    assert "read a file" in busy.matcher.read
    assert set(busy.matcher.asked) <= {("read a file", "files")}


@pytest.mark.parametrize("subtask", ["", "   ", "\n\t", "\u3000"])
def test_an_empty_subtask_is_refused_with_what_to_do(router, busy, subtask):
    with pytest.raises(WayfareError, match="sub-task is empty; say"):
        router.route(subtask, busy)


def test_a_subtask_of_the_greatest_length_is_taken_and_a_longer_one_refused(router, busy):
    assert len(router.route("x" * 20_000, busy).subtask) == 20_000
    with pytest.raises(WayfareError, match=r"20,001 characters; shorten it to at most 20,000"):
        router.route("x" * 20_001, busy)


def test_the_document_is_the_one_that_scripts_rely_on(router, busy):
    document = router.route("x", busy).to_json()
    assert list(document)[:5] == ["router", "subtask", "parameters", "planner", "reason"]
    assert list(document)[5:] == ["servers", "tools", "candidates", "tokens", "timings_ms"]
    assert list(document["tokens"]) == ["baseline", "exposed", "cached"]
    assert list(document["timings_ms"]) == ["embed", "score", "total"]
    assert document["router"] == router.id
    assert document["parameters"] == router.parameters().values()
    assert len(document["servers"]) == len(busy.catalog.servers)
    assert len(document["tools"]) == len(busy.catalog.tools)


def test_every_row_of_the_document_has_the_promised_keys_in_order(router, busy):
    document = router.route("x", busy).to_json()
    for rows, promised in ((document["servers"], SERVER_KEYS), (document["tools"], TOOL_KEYS)):
        for row in rows:
            assert [key for key in row if key in promised] == promised


def test_no_row_of_the_document_has_a_key_that_is_not_promised(router, busy):
    document = router.route("x", busy).to_json()
    assert list(document["servers"][0]) == SERVER_KEYS
    assert list(document["tools"][0]) == TOOL_KEYS


def test_the_document_survives_json_with_its_types(router, busy):
    document = json.loads(json.dumps(router.route("x", busy).to_json(), allow_nan=False))
    tool = document["tools"][0]
    assert isinstance(tool["affordable"], bool)
    assert isinstance(tool["utility"], float)
    assert all(row["dropped_by"] is None or row["dropped_by"] in list(DROPS) for row in document["tools"])
    assert all((row["dropped_by"] is None) == (row["tool"] in document["candidates"]) for row in document["tools"])
    assert all(row["cost_s"] == pytest.approx(row["time_cost_s"] + row["money_cost_s"]) for row in document["tools"])


@pytest.mark.parametrize("name", list(ROUTERS))
def test_the_timings_are_those_of_the_clock(busy, name):
    ticks = count(10.0, 0.25)
    decision = ROUTERS[name](clock=lambda: next(ticks)).route("x", busy)
    times = decision.timings_ms
    assert times["total"] == times["embed"] + times["score"] == 250.0 * (next(ticks) - 10.25) / 0.25
    assert times["score"] >= 0


def test_the_tokens_are_counted_on_the_definitions(router, busy):
    """Two candidates are put before the model, and what else the router's own way of showing tools takes."""
    tokens = router.route("x", busy, router.parameters(n=2)).tokens
    assert tokens["baseline"] == 10 * 21
    assert 0 < tokens["exposed"] <= tokens["baseline"]
    assert tokens["cached"] >= 0


def test_the_stages_tell_how_many_went_on(router, busy):
    decision = router.route("x", busy, router.parameters(n=2))
    assert decision.stages
    assert all(0 <= stage.kept <= stage.of and stage.name and stage.what for stage in decision.stages)
    assert decision.stages[-1].kept == len(decision.candidates)


def test_the_catalog_may_be_of_a_thousand_tools(router, worlds):
    servers = [Server(f"s{s:03}", tools=tuple(worlds.tool(f"t{t}") for t in range(10))) for s in range(100)]
    scene = worlds.scene(worlds.catalog(*servers), {"s042": 0.9}, {"s042::t7": 0.9})
    decision = router.route("x", scene)
    check_whole(decision, scene)
    best = decision.tools.ids.index("s042::t7")
    if decision.tool_at(best).dropped_by is not Drop.PRUNED:  # a fixed list does not have every tool
        assert decision.winner.tool == "s042::t7"
