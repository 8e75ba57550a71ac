"""MCP-Zero: a structured request, the nearest servers, their tools by (s * t) * max(s, t)."""

import pytest

from core.domain.catalog import Server
from core.planning.base import ToolRequest
from core.routers.etom import McpZero
from tests.routers import scripted, worlds

McpZero = scripted.published(McpZero)

ASKED = {"q": ToolRequest("a file server", "read a file")}


@pytest.fixture
def world():
    """a is the nearest server, b the second, c the third with the nearest tool of all."""
    servers = [Server(name, tools=(worlds.tool("x"), worlds.tool("y"))) for name in "abc"]
    profile = {"a": 0.9, "b": 0.6, "c": 0.1}
    tools = {"a::x": 0.5, "a::y": -0.4, "b::x": 0.7, "b::y": 0.2, "c::x": 0.99}
    return scripted.context(
        worlds.catalog(*servers),
        {
            ("servers", "profile"): {"a file server": profile, "elsewhere": {"c": 0.8}},
            ("servers", "summary"): {"a file server": profile, "elsewhere": {"c": 0.8}},
            "own": {"read a file": tools},
        },
    )


def route(world, hint="", **settings):
    planner = scripted.Planner(request=ASKED)
    return McpZero({"rules": planner}).route("q", world, McpZero.parameters(**settings), server_hint=hint)


def test_the_request_is_looked_up_in_two_stages(world) -> None:
    decision = route(world, s=2, n=4)
    assert scripted.names(decision) == ["a::x", "b::x", "b::y", "a::y"]
    assert {scripted.dropped(decision)[tool] for tool in ("c::x", "c::y")} == {"not_shortlisted"}
    assert any("server: a file server tool: read a file" in stage.note for stage in decision.stages)


def test_the_score_is_the_product_times_the_stronger_one(world) -> None:
    decision = route(world, s=2, n=2)
    scores = dict(zip(decision.tools.ids, decision.tools.utility, strict=True))
    assert scores["a::x"] == pytest.approx(0.9 * 0.5 * 0.9)
    assert scores["b::x"] == pytest.approx(0.6 * 0.7 * 0.7)
    assert scores["a::y"] == 0  # a cosine below 0 is no similarity


def test_a_hint_is_the_requests_server(world) -> None:
    assert route(world, hint="elsewhere", s=1, n=1).winner.tool == "c::x"


def test_t_bounds_the_tools_of_all_servers_together(world) -> None:
    decision = route(world, s=2, t=1, n=4)
    assert scripted.names(decision) == ["a::x"]
    assert scripted.dropped(decision)["b::x"] == "not_retrieved"


def test_a_servers_profile_and_summary_count_alike() -> None:
    context = scripted.context(
        worlds.catalog(Server("a", tools=(worlds.tool("x"),))),
        {("servers", "profile"): {"a file server": {"a": 0.2}}, ("servers", "summary"): {"a file server": {"a": 0.6}}},
    )
    assert route(context).servers.utility.tolist() == pytest.approx([0.4])
