"""Every router's account of its decision: documents, timings, tokens, stages."""

import json
from dataclasses import replace
from itertools import count, pairwise

import pytest

from core.domain.catalog import Server
from core.domain.trace import DROPS
from core.routers import ROUTERS
from tests.cases import each
from tests.contracts.checks import each_router
from tests.routers import worlds

HOSTILE = '<script>alert("x")</script> \u202e\x00\x1b[31m {{7*7}} `rm -rf` **bold** \u200b</td>'
SERVER_KEYS = ["server", "similarity", "cost_s", "utility", "shortlisted", "posted_price_usd", "ask_usd", "accepted"]
TOOL_KEYS = ["tool", "similarity", "cost_s", "time_cost_s", "money_cost_s"]
TOOL_KEYS += ["utility", "price_usd", "payment_usd", "affordable", "rank", "dropped_by"]
FIT_KEYS = ["p_fit", "p_success"]
BY_ORDER = {"expected_value"}  # their candidates are an order of tries


@each_router
def test_the_document_is_the_one_that_scripts_rely_on(router, busy):
    document = router.route("x", busy).to_json()
    assert list(document)[:6] == ["router", "subtask", "parameters", "planner", "reason", "preset"]
    assert list(document)[6:11] == ["servers", "tools", "candidates", "tokens", "timings_ms"]
    fit = ["p_nothing_fits", "confidence"]
    order = ["order", "expected"] if router.id in BY_ORDER else []
    steps = [key for key in ("steps", "remarks") if key in document]
    assert list(document)[11:] == [*fit, *order, "stages", *steps]
    assert all({"name", "of", "note"} < set(stage) for stage in document["stages"])
    assert list(document["tokens"]) == ["baseline", "exposed", "cached"]
    assert list(document["timings_ms"]) == ["embed", "score", "total"]
    assert document["router"] == router.id
    assert document["parameters"] == router.parameters().values()
    assert len(document["servers"]) == len(busy.catalog.servers)
    assert len(document["tools"]) == len(busy.catalog.tools)


@each_router
def test_no_row_of_the_document_has_a_key_that_is_not_promised(router, busy):
    document = router.route("x", busy).to_json()
    of_network = ["network_score", "expertise"] if router.id == "sonar" else []
    assert list(document["servers"][0]) == SERVER_KEYS + of_network
    assert list(document["tools"][0]) == TOOL_KEYS + FIT_KEYS


@each("name", sorted(ROUTERS))
def test_how_likely_a_tool_fits_is_told_of_every_tool(busy, name):
    document = ROUTERS[name]().route("x", busy).to_json()
    assert 0 <= document["p_nothing_fits"] <= 1
    assert document["confidence"] in {"sure", "unsure", "nothing"}
    assert all(0 <= row["p_success"] <= row["p_fit"] <= 1 for row in document["tools"])
    fits = {row["tool"]: row["p_fit"] for row in document["tools"]}
    assert fits == dict(zip(busy.tool_ids, busy.matcher.answer.tools.tolist(), strict=True))


@each_router
def test_the_document_survives_json_with_its_types(router, busy):
    document = json.loads(json.dumps(router.route("x", busy).to_json(), allow_nan=False))
    tool = document["tools"][0]
    assert isinstance(tool["affordable"], bool)
    assert isinstance(tool["utility"], float)
    assert all(row["dropped_by"] is None or row["dropped_by"] in list(DROPS) for row in document["tools"])
    assert all((row["dropped_by"] is None) == (row["tool"] in document["candidates"]) for row in document["tools"])
    assert all(row["cost_s"] == pytest.approx(row["time_cost_s"] + row["money_cost_s"]) for row in document["tools"])


@each("name", list(ROUTERS))
def test_the_timings_are_those_of_the_clock(busy, name):
    ticks = count(10.0, 0.25)
    decision = ROUTERS[name](clock=lambda: next(ticks)).route("x", busy)
    times = decision.timings_ms
    assert times["total"] == times["embed"] + times["score"] == 250.0 * (next(ticks) - 10.25) / 0.25
    assert times["score"] >= 0


@each_router
def test_the_tokens_are_counted_on_the_definitions(router, busy):
    """Two candidates are put before the model, and what else the router's own way of showing tools takes."""
    tokens = router.route("x", busy, router.parameters(n=2)).tokens
    assert tokens["baseline"] == 10 * 21
    assert 0 < tokens["exposed"] <= tokens["baseline"]
    assert tokens["cached"] >= 0


@each_router
def test_the_stages_tell_how_many_went_on(router, busy):
    decision = router.route("x", busy, router.parameters(n=2))
    assert decision.stages
    assert all(0 <= stage.kept <= stage.of and stage.name and stage.what for stage in decision.stages)
    assert decision.stages[-1].kept == len(decision.candidates)
    assert all(
        following.of <= first.kept for first, following in pairwise(decision.stages) if first.what == following.what
    )


@each_router
def test_hostile_names_and_descriptions_come_back_as_they_are(router):
    tool = replace(worlds.tool(HOSTILE), description=HOSTILE)
    context = worlds.context(
        worlds.catalog(Server(HOSTILE, HOSTILE, tools=(tool,))), {HOSTILE: 0.8}, {f"{HOSTILE}::{HOSTILE}": 0.8}
    )
    document = router.route("x", context).to_json()
    assert document["candidates"] == [f"{HOSTILE}::{HOSTILE}"]
    assert document["servers"][0]["server"] == HOSTILE


@each("query", ["读取文件 🗂️ и отправь", "é" * 5_000, HOSTILE], ids=["unicode", "5000", "hostile"])
@each_router
def test_a_subtask_comes_back_as_it_was_given(router, busy, query):
    busy.matcher.read.clear()
    decision = router.route(query, busy)
    assert decision.query == query
    assert json.loads(json.dumps(decision.to_json(), allow_nan=False))["subtask"] == query
    assert busy.matcher.read
