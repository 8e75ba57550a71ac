"""ETOM's orchestrators: a question is decomposed, each part gets a tool or is rejected; and ReAct's cycles."""

import pytest

from core.domain.catalog import Server
from core.planning.base import SubQuery
from core.relevance.text_views import profile
from core.routers.etom import Hybrid, McpZero, React, Toolshed
from core.routers.orchestrator import REFUSED
from tests.routers import scripted, worlds

Hybrid, McpZero, React, Toolshed = map(scripted.published, (Hybrid, McpZero, React, Toolshed))

PARTS = {"both": (SubQuery("find"), SubQuery("send", needs=(0,)))}
FULL = ("tools", "full")
PROFILE = ("servers", "profile")


@pytest.fixture(params=[React, Toolshed, McpZero, Hybrid], ids=lambda router: router.id)
def orchestrator(request):
    """Each of the four."""
    return request.param


@pytest.fixture
def catalog():
    """A server that finds and a server that sends."""
    tools = {"web": ("search", "crawl"), "mail": ("send", "draft")}
    return worlds.catalog(
        *(
            Server(name, f"{name} server", tools=tuple(worlds.tool(t, description=t) for t in tools[name]))
            for name in tools
        )
    )


@pytest.fixture
def context(catalog):
    """For every query "find" means the web, "send" means mail, and no server can "fly"."""
    servers = {"find": {"web": 0.8, "mail": 0.3}, "send": {"mail": 0.9, "web": 0.2}, "fly": {"web": 0.05}}
    tools = {
        "find": {"web::search": 0.9, "web::crawl": 0.7, "mail::send": 0.1},
        "send": {"mail::send": 0.8, "mail::draft": 0.6, "web::search": 0.2},
        "fly": {"web::search": 0.06},
    }
    # Hybrid looks "<server>: <tool>" up, and asks an undivided question as one
    texts = {**tools, **{f"{text}: {text}": row for text, row in tools.items()}, "both": tools["find"]}
    places = {PROFILE: servers, ("servers", "summary"): servers, FULL: tools, "own": texts}
    return scripted.context(catalog, {**places, "match": tools})


def test_each_part_is_looked_up_by_itself_and_gets_its_share(orchestrator, context) -> None:
    decision = orchestrator({"rules": scripted.Planner(parts=PARTS)}).route(
        "both", context, orchestrator.parameters(n=4)
    )
    ids = decision.tools.ids
    assert [(step.query, step.needs) for step in decision.steps] == [("find", ()), ("send", (0,))]
    assert [[ids[row] for row in step.candidates] for step in decision.steps] == [
        ["web::search", "web::crawl"],
        ["mail::send", "mail::draft"],
    ]
    assert set(scripted.names(decision)) == set(ids)


def test_what_nothing_can_do_is_rejected_where_it_may_be(orchestrator, context) -> None:
    """Level 5: {server: "no", tool: "no"}."""
    planner = {"rules": scripted.Planner(select={"fly": ()})}
    decision = orchestrator(planner).route("fly", context, orchestrator.parameters(refuse=True))
    assert decision.winner is None
    assert decision.reason.startswith(REFUSED)
    assert "refused" in scripted.dropped(decision).values()
    assert orchestrator(planner).route("fly", context).winner is not None  # by default somebody else decides


def test_one_rejected_part_does_not_reject_the_rest(orchestrator, context) -> None:
    planner = scripted.Planner(parts={"both": (SubQuery("find"), SubQuery("fly"))}, select={"fly": ()})
    decision = orchestrator({"rules": planner}).route("both", context, orchestrator.parameters(refuse=True, n=2))
    assert scripted.names(decision) == ["web::search"]
    assert [len(step.candidates) for step in decision.steps] == [1, 0]
    assert decision.steps[1].reason == "Told to take 0."


def test_a_models_choice_comes_first_and_retrieval_fills_up(orchestrator, context) -> None:
    model = scripted.Planner("big", select={"find": ("web::crawl",)})
    parameters = orchestrator.parameters(planner="model", n=2)
    decision = orchestrator({"model": model}).route("find", context, parameters)
    assert scripted.names(decision) == ["web::crawl", "web::search"]
    assert decision.planner == "big"
    assert decision.stages[-1].by == "big"


def test_the_fit_that_is_judged_is_the_cosine_with_name_and_description(orchestrator, context) -> None:
    """A planner's limit is calibrated on it, so a router's own score must not take its place."""

    class Judge(scripted.Planner):
        def select(self, question, cards, count):
            self.scores = {card.id: card.score for card in cards}
            return super().select(question, cards, count)

    judge = Judge()
    orchestrator({"rules": judge}).route("send", context, orchestrator.parameters(refuse=True))
    assert judge.scores["mail::send"] == 0.8


def test_react_looks_only_into_the_servers_that_it_picked(context) -> None:
    decision = React({"rules": scripted.Planner()}).route("find", context, React.parameters(s=1, n=4))
    assert scripted.names(decision) == ["web::search", "web::crawl"]
    assert set(scripted.dropped(decision).values()) == {"not_shortlisted"}


def test_a_model_picks_reacts_servers_by_their_names_and_descriptions(catalog, context) -> None:
    class Reasoning(scripted.Planner):
        def select(self, question, cards, count):
            if {card.id for card in cards} <= {"web", "mail"}:
                self.read = {card.id: card.text for card in cards}
                return super().select(question, [card for card in cards if card.id == "mail"], count)
            return super().select(question, cards, count)

    model = Reasoning("big")
    decision = React({"model": model}).route("find", context, React.parameters(planner="model", s=1))
    assert model.read == {server.name: profile(server) for server in catalog.servers}
    assert decision.winner.tool == "mail::send"
