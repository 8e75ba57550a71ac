"""A tool that writes loses to a tool that reads and fits a fifth as well, if the question asks to know; rivals and their reasons."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from core.decisions.case import ManyTasks
from core.domain.catalog import Catalog, Server, Tool, ToolHints
from core.domain.params import Parameters
from core.planning.rules import RulesPlanner
from core.routers.baselines import RagMcp
from core.routers.context import Query
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.presets import applied
from core.routers.side_effects import writing_tools
from core.routers.why import fit_note, why_tool
from tests.routers import worlds

HINTS = {"post": ToolHints(read_only=False), "search": ToolHints(read_only=True)}
TOOLS = tuple(worlds.tool(name, price_usd=0.001, latency_s=0.1, hints=hints) for name, hints in HINTS.items())
CATALOG = worlds.catalog(Server("a", "A", tools=TOOLS))
ASKED, ORDERED = "what did Maria write to me", "write to Maria"


def decided(text: str, reading: float, parameters: Parameters, router=Ehrr):
    return router().route(text, worlds.context(CATALOG, {"a": 0.9}, {"a::post": 0.9, "a::search": reading}), parameters)


@pytest.mark.parametrize("text", [ASKED, ORDERED])
def test_it_loses_to_one_that_fits_a_fifth_as_well_and_only_where_the_question_asks_to_know(text: str) -> None:
    asks = text == ASKED
    for reading, parameters, winner in (
        (0.25, EhrrParameters(), "a::search" if asks else "a::post"),
        (0.15, EhrrParameters(), "a::post"),
        (0.25, EhrrParameters(reads_first=False), "a::post"),
        (0.25, applied(EhrrParameters, "paper"), "a::post"),
        (0.25, EhrrParameters(similarity="views"), "a::post"),
    ):
        decision = decided(text, reading, parameters)
        assert decision.winner is not None
        assert decision.winner.tool == winner
        assert [decision.tools.ids[row] for row in decision.writing] == (["a::post"] if asks else [])
        context = worlds.context(CATALOG, {"a": 0.9}, {"a::post": 0.9, "a::search": reading})
        many = ManyTasks([Query(text, "", context.matcher, RulesPlanner())], lambda _, world=context: world)
        assert decision.tools.ids[int(many.winners([parameters])[0, 0])] == winner


def test_it_is_marked_and_said_under_every_router() -> None:
    assert "It writes, and the question asks to know: its fit counts a fifth." in why_tool(
        decided(ASKED, 0.15, EhrrParameters()), 0
    )
    flat = decided(ASKED, 0.15, RagMcp.parameters(), RagMcp)
    assert why_tool(flat, 0).endswith("It writes, and the question asks to know.")
    assert flat.to_json()["writing"] == ["a::post"]
    note = fit_note(decided(ASKED, 0.6, EhrrParameters()))
    assert note == " a::post is likelier to fit, 90 % against 60 %, but it writes, and the question asks to know."
    single = decided(ASKED, 0.3, EhrrParameters(n=1))  # the tool that writes is not even a candidate
    assert (
        fit_note(single)
        == " a::post is likelier to fit, 90 % against 30 %, but it writes, and the question asks to know."
    )


def test_the_likeliest_tools_are_among_the_rivals_and_the_reason_names_the_main_cause() -> None:
    cheap = tuple(worlds.tool(f"t{place}", price_usd=0.0, latency_s=0.1) for place in range(12))
    dear = Server("dear", "D", tools=(worlds.tool("best", price_usd=0.5, latency_s=0.1), worlds.tool("flaky", price_usd=0.0, latency_s=9.0, success=0.01)))  # fmt: skip
    catalog = worlds.catalog(
        Server("near", "N", tools=cheap), dear, Server("far", "F", tools=(worlds.tool("other", price_usd=0.0),))
    )
    fits = {"dear::best": 0.73, "dear::flaky": 0.6, "far::other": 0.65, "near::t0": 0.5} | {
        f"near::t{place}": 0.02 for place in range(1, 12)
    }
    context = worlds.context(catalog, {"near": 0.95, "dear": 0.9, "far": 0.1}, fits)
    decision = Ehrr().route("x", context, EhrrParameters(k=2, p_bs=1.0))
    rivals = [decision.tools.ids[row] for row in decision.rivals(8)]
    assert len(rivals) == 8
    assert rivals[0] == "near::t0"
    assert {"dear::best", "dear::flaky", "far::other"} <= set(rivals)
    reasons = {name: why_tool(decision, decision.tools.ids.index(name)) for name in decision.tools.ids}
    assert reasons["dear::best"].startswith(
        "Not worth a try, its price of 500 m$ a call costs more than a fit of 73 % brings: "
    )
    assert reasons["dear::flaky"].startswith(
        "Not worth a try, one attempt succeeds with only 0.98 %, so a result costs more than a fit of 60 % brings: "
    )
    assert reasons["far::other"].startswith("Not considered: far ranks 3rd of 3 servers")
    low = worlds.context(catalog, {"near": 0.95, "dear": 0.9}, {"dear::best": 0.06})
    hardly = why_tool(Ehrr().route("x", low, EhrrParameters(k=2, p_bs=1.0, auction=False)), 12)
    assert hardly.startswith("Hardly fits (6 %), so a try is not worth its cost: ")


def test_only_the_tools_that_are_looked_at_are_read() -> None:
    unread = cast("Any", object())  # reading any of its texts fails
    catalog = Catalog("many", (Server("a", tools=(Tool("a", "send_mail"), unread, Tool("a", "list_mails"))),))
    assert writing_tools(catalog, np.array([2, 0])).tolist() == [False, True]
    with pytest.raises(AttributeError):
        writing_tools(catalog, np.arange(3))
