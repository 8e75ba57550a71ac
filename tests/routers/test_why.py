"""The sentences on the result of a server or a tool, on Tables I and II, and on a better fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.domain.catalog import Server
from core.domain.trace import DROPS, Drop
from core.routers import ROUTERS
from core.routers.ehrr import Ehrr
from core.routers.why import fit_note, why_server, why_tool
from tests.cases import each
from tests.routers import worlds


@pytest.fixture(scope="module")
def decision():
    return Ehrr().route("x", worlds.tables_context(), worlds.table_v())


@pytest.fixture(scope="module")
def one_server():
    """The decision with one server on the short-list and one candidate."""
    return Ehrr().route("x", worlds.tables_context(), worlds.table_v(k=1, n=1))


def test_an_accepting_server_says_what_it_was_offered_and_what_it_asks(decision):
    sentence = "offered 24.9 m$ a call it accepts, because its ask price of 10 m$ is within it."
    assert why_server(decision, 0) == f"s1 ranks 1st with utility 0.572; {sentence}"


def test_a_rejecting_server_says_both_prices(decision):
    assert (
        why_server(decision, 1) == "s2 rejects in the auction: it asks 50 m$ a call, and the posted price is 35.1 m$."
    )


def test_a_server_off_the_short_list_says_its_rank_and_the_last_that_made_it(one_server):
    assert why_server(one_server, 1) == (
        "s2 ranks 2nd of 2 servers with utility 0.517; the short-list takes 1, and the last on it, s1, has 0.572."
    )


# tau_1 by hand: 0.0025 * 0.75 + 0.0225 ln(1 + 1.2 / (0.95 * 0.709)) = 24.893 m$, and 30 - 24.893 = 5.107
@each(
    ("tool", "sentence"),
    [
        (0, "Not affordable: s1::t11 costs 30 m$ a call, 5.11 m$ more than the posted price of 24.9 m$ offered to s1."),
        (1, "Chosen: utility 0.516 is the highest of 2 affordable tools on accepted servers, 0.032 ahead of s1::t13."),
        (2, "Candidate 2 of 2: utility 0.483, 0.032 behind s1::t12."),
        (3, "Not considered: s2 rejects in the auction: it asks 50 m$ a call, and the posted price is 35.1 m$."),
    ],
)
def test_every_tool_of_the_tables_says_why(decision, tool, sentence):
    assert why_tool(decision, tool) == sentence


def test_a_utility_that_rounds_to_nothing_has_no_sign(decision):
    tools = replace(decision.tools, utility=-1e-4 * abs(decision.tools.utility))
    assert "-0.000" not in " ".join(why_tool(replace(decision, tools=tools), row) for row in range(4))


def test_an_outranked_tool_says_its_place_and_the_last_candidate(one_server):
    assert why_tool(one_server, 2) == (
        "Outranked: utility 0.483 puts s1::t13 2nd; the last of 1 candidates, s1::t12, has 0.516."
    )


TOOLS = (worlds.tool("slow", price_usd=0.001, latency_s=30.0), worlds.tool("quick", price_usd=0.001, latency_s=0.1))
CATALOG = worlds.catalog(Server("a", "A", tools=TOOLS))


def decided(slow: float, quick: float, *, router=Ehrr, **values):
    context = worlds.context(CATALOG, {"a": 0.9}, {"a::slow": slow, "a::quick": quick})
    return router().route("do it", context, router.parameters().replaced(values))


def test_it_names_the_likelier_tool_and_what_decided_instead() -> None:
    note = fit_note(decided(0.9, 0.3, alpha_t=0.25))
    assert note == " a::slow is likelier to fit, 90 % against 30 %; time and price decided under these parameters."


@each(("cause", "similarity", "of_servers", "listed"), [
    ("the similarity of views", (0.3, 0.9), (0.5, 0.5), True), ("the similarity of views", (0.9, 0.3), (0.3, 0.9), False),
    ("time and price", (0.9, 0.3), (0.3, 0.9), True),
])  # fmt: skip
def test_time_and_price_decided_only_if_similarity_did_not(cause, similarity, of_servers, listed) -> None:
    result = decided(0.9, 0.3, alpha_t=0.25)
    tools = replace(result.tools, similarity=np.array(similarity), server_row=np.array([0, 1]))
    servers = replace(
        result.servers, names=("a", "b"), similarity=np.array(of_servers), shortlisted=np.array([listed, True])
    )
    assert f"; {cause} decided" in fit_note(replace(result, tools=tools, servers=servers))


@each("router", ROUTERS.values())
def test_a_tool_is_the_only_one_left_only_where_none_is_outranked(router) -> None:
    for values in ({}, {"n": 1}):
        result = decided(0.9, 0.8, router=router, **values)
        is_alone = "the only tool that is left" in why_tool(result, result.candidates[0])
        assert not (is_alone and DROPS.index(Drop.OUTRANKED) in result.tools.dropped), values
