"""A decision's view for an editor of the agent's state."""

from __future__ import annotations

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.execution import AgentState
from core.routers.attention import state_view
from core.routers.tool_attention import ToolAttention
from tests.routers import worlds

CONFIRMED, MAIL = 'milestone_reached(name="confirmed")', 'is_authenticated(scope="mail:write")'
OVERLAPS = {"mail::send": 0.9, "mail::find": 0.6, "mail::burn": 0.6, "mail::odd": 0.5, "mail::far": 0.1}


@pytest.fixture
def context():
    needs = {"send": (MAIL, CONFIRMED), "burn": (CONFIRMED,), "odd": ("an old gate",), "far": (MAIL,)}
    tools = [worlds.tool(name, preconditions=needs.get(name, ())) for name in ("send", "find", "burn", "odd", "far")]
    return worlds.context(worlds.catalog(Server("mail", tools=tuple(tools))), {}, OVERLAPS)


def view(context, catalog=None, **values):
    decision = ToolAttention().route("x", context, ToolAttention.parameters().replaced(values))
    return state_view(decision, catalog or context.catalog)


def test_it_names_what_the_catalogs_preconditions_ask_for(context):
    state = view(context)
    assert state.named == AgentState(frozenset({"mail:write"}), frozenset(), frozenset({"confirmed"}))
    assert state.guarded == 4
    assert state.state == AgentState(frozenset("*"), frozenset("*"), frozenset("*"))


def test_each_tool_that_is_held_back_lacks_what_does_not_hold(context):
    held_back = view(context, scopes="mail:*", milestones="none").held_back
    assert [(tool.tool, tool.iso, tool.lacks) for tool in held_back] == [
        ("mail::send", 0.9, (CONFIRMED,)),
        ("mail::burn", 0.6, (CONFIRMED,)),
        ("mail::odd", 0.5, ("an old gate",)),
    ]


def test_a_rank_is_that_among_the_candidates_and_none_beyond_the_k(context):
    assert [tool.rank for tool in view(context, milestones="none").held_back] == [1, 2, 2]
    assert [tool.rank for tool in view(context, milestones="none", n=1).held_back] == [1, None, None]


def test_a_tool_that_the_catalog_has_lost_since_is_left_out(context):
    catalog = Catalog("c", (Server("mail", tools=(Tool("mail", "burn", preconditions=(MAIL,)),)),))
    (held_back,) = view(context, catalog, scopes="none", milestones="none").held_back
    assert (held_back.tool, held_back.lacks) == ("mail::burn", (MAIL,))


def test_a_decision_that_did_not_look_at_the_state_says_so(context):
    state = view(context, milestones="none", preconditions=False)
    assert (state.checked, state.held_back) == (False, ())
    assert view(context).checked
