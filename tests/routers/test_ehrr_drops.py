"""Drops of tools, the order of stages, and the reason of an empty result."""

import pytest

from core.domain.catalog import Server
from core.domain.trace import Drop
from core.routers.ehrr import Ehrr
from tests.routers import worlds

CHEAP, DEAR, PROHIBITIVE = 0.001, 0.5, 9.0


@pytest.fixture
def routed():
    def run(*servers, of_server=None, of_tool=None, **parameters):
        catalog = worlds.catalog(*servers)
        context = worlds.context(catalog, of_server or {}, of_tool or {})
        return Ehrr().route("x", context, worlds.table_v(**parameters))

    return run


@pytest.fixture
def tool():
    return worlds.tool


def dropped(decision):
    return {decision.tools.ids[row]: decision.tool_at(row).dropped_by for row in range(len(decision.tools.ids))}


def test_every_kind_of_drop_in_one_decision(routed, tool):
    decision = routed(
        Server("far", tools=(tool("a", price_usd=CHEAP),)),
        Server("greedy", ask_usd=PROHIBITIVE, tools=(tool("b", price_usd=CHEAP),)),
        Server("fair", ask_usd=CHEAP, tools=(tool("c", price_usd=DEAR), tool("d"), tool("e"))),
        of_server={"greedy": 0.9, "fair": 0.8},
        of_tool={"fair::d": 0.9, "fair::e": 0.5},
        k=2,
        n=1,
    )
    assert dropped(decision) == {
        "far::a": Drop.NOT_SHORTLISTED,
        "greedy::b": Drop.REJECTED,
        "fair::c": Drop.NOT_AFFORDABLE,
        "fair::d": None,
        "fair::e": Drop.OUTRANKED,
    }


def test_no_server_accepts(routed, tool):
    greedy = [Server(name, ask_usd=PROHIBITIVE, tools=(tool("a"),)) for name in ("one", "two", "three")]
    decision = routed(*greedy, k=2)
    assert decision.candidates == ()
    assert decision.reason.startswith("None of the 2 short-listed servers accepted the posted price; raise ")


def test_the_accepted_servers_have_no_tools(routed, tool):
    decision = routed(Server("bare"), Server("full", tools=(tool("a"),)), of_server={"bare": 0.9}, k=1)
    assert decision.candidates == ()
    assert decision.reason == "The accepted servers have no tools; raise k."


def test_no_tool_is_affordable(routed, tool):
    decision = routed(Server("s", ask_usd=CHEAP, tools=(tool("a", price_usd=DEAR),)))
    assert decision.candidates == ()
    assert decision.reason.startswith(
        "No tool on the accepted servers is affordable at its server's posted price; raise "
    )


def test_no_tool_is_worth_a_call(routed, tool):
    decision = routed(
        Server("s", ask_usd=CHEAP, tools=(tool("a"), tool("b", price_usd=DEAR))),
        of_tool={"s::a": 0.1, "s::b": 1.0},
        worthwhile=True,
    )
    assert dropped(decision) == {"s::a": Drop.NOT_WORTH, "s::b": Drop.NOT_AFFORDABLE}
    assert decision.reason.startswith(
        f"No tool is worth a call: s::a has the highest utility, {decision.tool_at(0).utility:.3g}, "
    )


def test_the_only_candidate_says_so(routed, tool):
    decision = routed(Server("s", tools=(tool("a", latency_s=0.0, success=1.0),), conn_s=0.0), of_tool={"s::a": 0.9})
    assert decision.reason == "s::a has the highest utility, 0.900, and is the only candidate."


def test_two_tools_of_one_id_keep_a_row_each(routed, tool):
    decision = routed(Server("a", tools=(tool("b::c"),)), Server("a::b", tools=(tool("c"), tool("d"))))
    assert decision.tools.ids == ("a::b::c", "a::b::c", "a::b::d")


def test_the_tools_evaluated_are_those_of_the_short_list_ranked_ones_first(routed, tool):
    decision = routed(
        Server("far", tools=(tool("a"),)),
        Server("near", ask_usd=CHEAP, tools=(tool("b", price_usd=DEAR), tool("c"), tool("d"))),
        of_server={"near": 0.9},
        of_tool={"near::b": 1.0, "near::d": 0.9},
        k=1,
    )
    assert [decision.tools.ids[row] for row in decision.evaluated_tools()] == ["near::d", "near::c", "near::b"]
    short = decision.trace()
    assert [row["tool"] for row in short["tools"]] == ["near::d", "near::c", "near::b"]
    assert [row["server"] for row in short["servers"]] == ["near"]
