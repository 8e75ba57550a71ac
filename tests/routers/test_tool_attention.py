"""Tool Attention: overlap, threshold, state, the two phases and its event, on a world with overlaps written by hand."""

from __future__ import annotations

import json

import pytest

from core.domain.catalog import Server
from core.domain.trace import Drop
from core.routers.attention import pool
from core.routers.tool_attention import ToolAttention
from core.routers.why import why_server, why_tool
from tests.cases import each
from tests.routers import scripted, worlds

ToolAttention = scripted.published(ToolAttention)

SEND = ('is_authenticated(scope="mail:write")', 'milestone_reached(name="confirmed")')
OVERLAPS = {"mail::send": 0.9, "mail::find": 0.6, "files::read": 0.5, "files::list": 0.3, "files::burn": 0.1}


@pytest.fixture
def context():
    """Five tools of falling overlap; sending needs a scope and a milestone, reading a search before it."""
    mail = Server("mail", tools=(worlds.tool("send", description="Sends.", preconditions=SEND), worlds.tool("find")))
    reader = worlds.tool("read", preconditions=('has_prior_tool_output(prefix="find")',))
    files = Server("files", tools=(reader, worlds.tool("list"), worlds.tool("burn")))
    catalog = worlds.catalog(mail, files, Server("empty"))
    return worlds.context(catalog, {}, OVERLAPS, tokens=[100, 200, 300, 400, 500])


def decide(context, **values):
    return ToolAttention().route("x", context, ToolAttention.parameters().replaced(values))


def ids(decision):
    return [decision.tools.ids[row] for row in decision.candidates]


def dropped(decision):
    return {decision.tools.ids[row]: decision.tool_at(row).dropped_by for row in range(len(decision.tools.ids))}


def test_all_that_overlap_enough_are_active_best_first(context):
    assert ids(decide(context)) == ["mail::send", "mail::find", "files::read", "files::list"]
    assert dropped(decide(context))["files::burn"] is Drop.BELOW_THRESHOLD


def test_the_active_set_has_at_most_k(context):
    decision = decide(context, n=2)
    assert ids(decision) == ["mail::send", "mail::find"]
    assert dropped(decision)["files::read"] is Drop.OUTRANKED
    assert decision.exposure.exposed == 300


def test_phase_2_is_the_active_definitions_and_phase_1_all_summaries(context):
    decision = decide(context)
    assert decision.exposure.exposed == 100 + 200 + 300 + 400
    assert decision.exposure.cached == pool(context.catalog.tools).tokens > 0
    assert decide(context, theta=0.95).exposure == decision.exposure.__class__(0, decision.exposure.cached)


@each(
    ("state", "held_back"),
    [
        ({"scopes": "mail:read"}, {"mail::send": 'it needs is_authenticated(scope="mail:write")'}),
        ({"scopes": "mail:*"}, {}),
        ({"milestones": ""}, {"mail::send": 'it needs milestone_reached(name="confirmed")'}),
        ({"outputs": "none"}, {"files::read": 'it needs has_prior_tool_output(prefix="find")'}),
        ({"outputs": "mail::find"}, {}),
        ({"scopes": "none", "milestones": "none"}, {"mail::send": f"it needs {SEND[0]} and {SEND[1]}"}),
    ],
)
def test_the_state_holds_back_what_it_does_not_satisfy_and_each_tool_says_why(context, state, held_back):
    decision = decide(context, **state)
    assert {decision.tools.ids[row]: remark for row, remark in decision.remarks.items()} == held_back
    assert {tool for tool, drop in dropped(decision).items() if drop is Drop.GATED} == set(held_back)
    for row, remark in decision.remarks.items():
        assert why_tool(decision, row).endswith(f"; {remark}.")


def test_the_stages_are_the_algorithms(context):
    stages = decide(context, scopes="none", n=2).stages
    assert [(stage.name, stage.kept, stage.of) for stage in stages] == [
        ("summaries", 5, 5), ("threshold", 4, 5), ("preconditions", 3, 4), ("active set", 2, 3),
    ]  # fmt: skip
    assert stages[2].note == (
        "State: scopes none; outputs all; milestones all. mail::send is held back: it needs "
        'is_authenticated(scope="mail:write").'
    )
    assert stages[3].note == "Top-2 by ISO, (7). Phase 2: 500 tokens of full definitions."


def test_where_nothing_overlaps_enough_it_says_what_came_nearest(context):
    decision = decide(context, theta=0.95)
    assert decision.candidates == ()
    assert decision.reason == (
        "No tool reaches the threshold; that of mail::send comes nearest, with 0.900; lower theta."
    )
    assert "no server is on the short-list" in why_server(decision, 0)
    assert "Below the threshold" in why_tool(decision, 0)


def test_where_the_state_holds_everything_back_it_says_what_is_missing(context):
    decision = decide(context, theta=0.8, scopes="none")
    assert decision.reason == (
        "The agent's state holds back the only tool above the threshold; mail::send: it needs "
        'is_authenticated(scope="mail:write").'
    )


def test_its_event_has_what_the_paper_lists(context):
    router = ToolAttention()
    decision = router.route("x", context, ToolAttention.parameters(n=2, scopes="none"))
    event = json.loads(json.dumps(router.event(decision), allow_nan=False))
    assert event.pop("latency_ms") == decision.timings_ms["total"]
    assert len(event.pop("query_hash")) == 32
    assert event == {
        "turn_id": decision.id,
        "candidates": ["mail::send", "mail::find", "files::read", "files::list"],
        "scores": {"mail::send": 0.9, "mail::find": 0.6, "files::read": 0.5, "files::list": 0.3},
        "gated_out_by_state": {"mail::send": f"it needs {SEND[0]}"},
        "active_set": ["mail::find", "files::read"],
        "phase1_tokens": decision.exposure.cached,
        "phase2_tokens": 500,
    }


def test_equal_questions_have_equal_hashes_and_no_event_holds_the_question(context):
    router = ToolAttention()
    events = [router.event(router.route(text, context)) for text in ("secret plan", "secret plan", "other")]
    assert events[0]["query_hash"] == events[1]["query_hash"] != events[2]["query_hash"]
    assert "secret" not in json.dumps(events[0])
