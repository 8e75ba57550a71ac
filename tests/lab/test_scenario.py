"""NetMCP's experiment in small: five search servers, one network, several routers; and a run over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.app import App
from core.domain.feedback import By
from core.domain.outcome import OutcomeKind
from core.lab.scenarios.measures import Judge, changes, curves
from core.lab.scenarios.simulation import CachedPlanner, LookupCache, walk
from core.network.profiles import Profile
from core.network.states import HighJitter, Ideal, Outage
from core.network.traces import Traces
from core.planning.rules import RulesPlanner
from core.routers import ROUTERS
from core.routers.presets import DEFAULT_PRESET, applied
from tests.cases import each
from tests.lab import search_world as searching
from tests.lab.scenario_worlds import HYBRID, parameters_of, run


@each("router", ["prag", "ehrr"])
def test_the_same_seed_gives_the_same_run_and_another_does_not(world, router) -> None:
    nervous = replace(HYBRID, servers={**HYBRID.servers, "alpha": (HighJitter(), Outage())})
    first_run, second_run, other_run = (run(world(nervous, steps=90, seed=seed), router) for seed in (1, 1, 2))
    assert {**first_run.to_json(), "sl_ms": 0} == {**second_run.to_json(), "sl_ms": 0}
    for field in ("at", "task", "server", "tool", "network_s", "price_usd", "ok"):
        assert np.array_equal(getattr(first_run, field), getattr(second_run, field))
    assert not np.array_equal(first_run.network_s, other_run.network_s)


@each("router", ["sonar", "ehrr"])
def test_what_is_decided_does_not_depend_on_what_comes(world, router) -> None:
    long, short = run(world(HYBRID, steps=90), router), run(world(HYBRID, steps=40), router)
    assert np.array_equal(long.tool[:40], short.tool)


@each("router", ["prag", "ehrr"])
def test_a_price_that_was_set_by_hand_counts_for_every_router(world, router) -> None:
    cheap = world(Profile("ideal"), steps=3)
    statistics = cheap.context.statistics
    tools = replace(statistics.tools, price_usd=statistics.tools.price_usd / 2)
    cheap = replace(cheap, context=replace(cheap.context, statistics=replace(statistics, tools=tools)))
    assert [step.price_usd for step in walk(cheap, router, parameters_of(router))] == [0.0005] * 3


@each("form", ["defaults", "paper"])
@each("router", ["prag", "expected_value", "ehrr"])
def test_the_cache_changes_no_decision(world, router, form) -> None:
    """The steps without caches of matcher and planner; by the probability of fit, and by the views as in the papers."""
    remembered = world(HYBRID, steps=30)
    plain = replace(remembered, context=searching.context(), planners={"rules": RulesPlanner()})
    parameters = applied(ROUTERS[router].parameters, form.replace("defaults", DEFAULT_PRESET))
    for with_cache, without in zip(walk(remembered, router, parameters), walk(plain, router, parameters), strict=True):
        assert with_cache.decision.candidates == without.decision.candidates
        assert np.array_equal(with_cache.decision.tools.utility, without.decision.tools.utility)
        assert with_cache.kind is without.kind


def test_texts_are_looked_up_once_and_the_time_of_it_is_told_each_time() -> None:
    from core.lab.scenarios.simulation import CachedMatcher, LookupCache

    ticks = iter(range(100))
    cache = LookupCache(lambda: float(next(ticks)))
    words = searching.Words(searching.catalog())
    matcher = CachedMatcher(words, cache)
    assert np.array_equal(matcher.bm25("tools", "web"), matcher.bm25("tools", "web"))
    assert words.asked == ["web"]
    assert cache.saved_ms == 1000.0
    matcher.bm25("servers", "web")
    assert words.asked == ["web", "web"]
    fit, repeated, hinted = (matcher.fit("web", hint)[0] for hint in ("", "", "search"))
    assert fit is repeated
    assert hinted is not fit
    assert words.asked[2:] == ["web", "web"]


def test_an_outage_is_a_failed_call_and_teaches_ehrr_to_leave(world) -> None:
    """Without a lead-in EHRR meets one failure, and does not return."""
    never = Outage(start=1.0, shortest=10_000, longest=10_000)
    broken = world(Profile("p", servers={"alpha": (never,)}), lead_in=0)
    result = run(broken, "ehrr")
    assert (result.network_s >= 1).sum() == 1
    assert result.network_s[0] >= 1
    assert result.fr == pytest.approx(1 / 360)
    assert run(broken, "prag").fr == 1
    (step, *_) = walk(broken, "ehrr", parameters_of("ehrr"))
    assert (step.kind, step.price_usd) == (OutcomeKind.TIMEOUT, 0.0)


def test_outcomes_follow_the_catalogs_figures(world) -> None:
    fragile = world(Profile("ideal"), steps=800)
    servers = tuple(
        replace(s, post_accept_failure=0.2, tools=tuple(replace(t, success=0.5) for t in s.tools))
        for s in fragile.context.catalog.servers
    )
    fragile = replace(
        fragile, context=replace(fragile.context, catalog=replace(fragile.context.catalog, servers=servers))
    )
    kinds = [step.kind for step in walk(fragile, "prag", ROUTERS["prag"].parameters())]
    shares = {kind: kinds.count(kind) / len(kinds) for kind in set(kinds)}
    assert shares[OutcomeKind.CRASH] == pytest.approx(0.2, abs=0.05)
    assert shares[OutcomeKind.OK] == pytest.approx(0.4, abs=0.05)
    assert shares[OutcomeKind.TOOL_ERROR] == pytest.approx(0.4, abs=0.05)


def test_the_measures_are_those_of_the_steps(world) -> None:
    hybrid = world(HYBRID, steps=50)
    result = run(hybrid, "sonar")
    servers = [name.split("::")[0] for name in (hybrid.context.tool_ids[row] for row in result.tool)]
    assert result.ssr == np.mean([name in searching.SEARCH for name in servers])
    assert result.al_ms == pytest.approx(1e3 * hybrid.traces.latency_s[result.server, result.at].mean())
    assert result.ee == pytest.approx(Judge(hybrid).expertise[result.server].mean())
    assert result.sl_ms > 0


def test_a_router_that_names_nothing_is_wrong_and_makes_no_call(world, monkeypatch) -> None:
    class Silent(ROUTERS["prag"]):
        def decide(self, question, context, parameters):
            return replace(super().decide(question, context, parameters), candidates=())

    monkeypatch.setitem(ROUTERS, "silent", Silent)
    result = run(world(HYBRID, steps=10), "silent")
    assert (result.ssr, result.ee, result.al_ms, result.fr, result.cost_usd) == (0, 0, 0, 0, 0)
    assert set(result.server) == {-1}


def test_questions_and_what_prediction_says_can_be_given(world) -> None:
    class Silent(RulesPlanner):
        def predict_tool(self, question):
            return question

    decisions = {}
    for name, settings in {"sub": {}, "raw": {"raw_questions": True}, "said": {"predicted": "letter"}}.items():
        scenario = world(Profile("ideal"), steps=1, planner=Silent(), **settings)
        decisions[name] = next(walk(scenario, "prag", ROUTERS["prag"].parameters())).decision
    assert decisions["sub"].query == "web search for fresh results"
    assert decisions["raw"].query.startswith("who was number")
    assert decisions["said"].winner.server == "mailbox"


def test_an_own_catalog_is_asked_its_example_requests_if_it_has_more_of_them_than_labels(app: App) -> None:
    texts = ["show me the letter", "what does the note say"]
    app.requests.add_by_hand("world", "files::read", texts, By())
    world = app.scenarios.world("ideal", catalog="world", steps=4)
    assert sorted(task.subtask for task in world.tasks) == sorted(texts)
    assert {task.relevant for task in world.tasks} == {("files::read",)}


class Other(RulesPlanner):
    """A planner that predicts another tool."""

    name = "other"

    def predict_tool(self, question: str) -> str:
        return f"another tool than {question}"

    def rewrite(self, question: str) -> str:
        return f"other than {question}"


def test_planners_of_one_world_do_not_answer_for_each_other() -> None:
    cache = LookupCache()
    rules, fake = (CachedPlanner(planner, cache, planner.name) for planner in (RulesPlanner(), Other()))
    assert rules.predict_tool("q") != fake.predict_tool("q")
    assert rules.rewrite("q") != fake.rewrite("q")


def test_sonar_leaves_a_server_in_an_outage_and_comes_back_and_it_is_said_why(world) -> None:
    profile = Profile(
        "p", servers={"alpha": (Outage(start=0.03, shortest=3, longest=5),)}, default=(Ideal(base_ms=300),)
    )
    one_task = world(profile, seed=3)
    one_task = replace(one_task, order=np.zeros_like(one_task.order))
    result = run(one_task, "sonar")
    found_changes = changes(one_task, result)
    states = profile.assign(one_task.context.catalog.servers)
    (alpha,) = curves(one_task.traces, states, ["alpha"])
    moves = [change for change in found_changes if change.left == "alpha"]
    assert {change.time_s for change in moves if change.why == "alpha is down."} <= {
        begin for begin, _ in alpha.outages
    }
    assert sum(change.why == "alpha is down." for change in moves) >= 3
    assert sum(change.chosen == "alpha" for change in found_changes) >= 3
    assert not (one_task.traces.outage[result.server, result.at]).any()
    assert changes(one_task, run(one_task, "prag")) == ()


def test_curves_carry_states_and_outages() -> None:
    latency_s = np.array([[0.1, 1.0, 1.2, 0.1, 1.0], [0.1] * 5])
    servers = curves(Traces(("a", "b"), latency_s, 10.0), {"a": (Outage(), Ideal()), "b": (Ideal(),)})
    assert servers[0].outages == ((10, 30), (40, 50))
    assert (servers[0].states, servers[1].outages) == (("Intermittent outage", "Ideal"), ())
    assert servers[1].time_s.tolist() == [0, 10, 20, 30, 40]
