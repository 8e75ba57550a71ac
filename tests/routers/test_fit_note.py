"""What is said where another tool fits much better than the one that won."""

from __future__ import annotations

from core.domain.catalog import Server
from core.routers.ehrr import Ehrr
from core.routers.rag_mcp import RagMcp
from core.routers.why import fit_note
from tests.routers import worlds

TOOLS = (worlds.tool("slow", price_usd=0.001, latency_s=30.0), worlds.tool("quick", price_usd=0.001, latency_s=0.1))
CATALOG = worlds.catalog(Server("a", "A", tools=TOOLS))


def decided(slow: float, quick: float, *, router=Ehrr, **values):
    context = worlds.context(CATALOG, {"a": 0.9}, {"a::slow": slow, "a::quick": quick})
    return router().route("do it", context, router.parameters().replaced(values))


def test_it_names_the_likelier_tool_and_what_decided_instead() -> None:
    note = fit_note(decided(0.9, 0.3, alpha_t=0.25))
    assert note.startswith(" a::slow is likelier to fit, 90 % against 30 %")


def test_nothing_is_said_where_the_winner_fits_about_as_well() -> None:
    assert fit_note(decided(0.5, 0.3, alpha_t=0.25)) == ""


def test_nothing_is_said_of_a_router_that_weighs_no_costs_or_where_nobody_won() -> None:
    assert fit_note(decided(0.9, 0.3, router=RagMcp)) == ""
    assert fit_note(decided(0.9, 0.3, alpha_t=2.0, kappa=1000.0, p_bs=0.0, p_ofs=0.0)) == ""
