"""Scenarios over the catalogs at hand: progress, stopping, live calls, and runs that are stored under all that they follow from."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from core.catalogs.background_jobs import Stopped
from core.domain.catalog import Catalog, Connection, Server, Tool
from core.domain.errors import CatalogError, ParameterError
from core.domain.events import OutcomeEvent
from core.domain.tasks import Task
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import SETTINGS

SEARCH = "web search"
TOOLS = (Tool("web", "search", "Search the web.", price_usd=0.002),)
SERVERS = (Server("other"), Server("web", tools=TOOLS))


@pytest.fixture
def searching(app):
    """An app with one search server, and a scenario over it."""

    app.catalogs.save(Catalog("mine", SERVERS), "test")

    def world(servers=SERVERS, profile="ideal", words=SEARCH, **settings):
        app.catalogs.save(Catalog("mine", servers), "test")
        task = Task("t", words, relevant=("web::search",))
        return app.scenarios.world(profile, catalog="mine", tasks=[task], source="t.jsonl", **{"steps": 5, **settings})

    return world


def kept(app, world, values=None):
    return app.scenarios.keep(world, app.scenarios.run(world, planned(["sonar"], SETTINGS[:1], values)))[0]


def test_a_kept_run_is_the_run(app, searching) -> None:
    world = searching(seed=3, lead_in=7, predicted="search")
    (run,) = app.scenarios.run(world, planned(["sonar"], SETTINGS[:1]))
    (row,) = app.scenarios.keep(world, [run])
    assert app.store.scenario_runs.newest(9) == (row,)
    assert (row.profile, row.catalog, row.tasks, row.seed, row.steps, row.lead_in) == (
        "ideal",
        "mine",
        "t.jsonl",
        3,
        5,
        7,
    )
    assert (row.predicted, row.mode, row.router, row.setting) == ("search", "simulated", "sonar", "s3t6")
    assert row.parameters == run.parameters
    assert (row.ssr, row.al_ms, row.fr, row.utility) == (run.ssr, run.al_ms, run.fr, None)
    steps = app.store.scenario_runs.steps(row.id)
    assert (steps.servers, steps.tools) == (("web",), ("search",))  # the called tools
    np.testing.assert_array_equal(steps.server, np.zeros(5))
    np.testing.assert_array_equal(steps.network_s, run.network_s)
    assert app.store.activity.latest_sequence() == 0


def test_a_run_that_differs_in_an_input_is_another_one(app, searching) -> None:
    def other(**changes):
        return kept(app, searching(**changes))

    dearer = (Server("other"), Server("web", tools=(replace(TOOLS[0], price_usd=0.003),)))
    moved = (Server("other"), Server("web", tools=TOOLS, connection=Connection("http", url="http://elsewhere.test")))
    original = other()
    runs = [
        original, other(profile="hybrid"), other(servers=dearer), other(words="web search, please"), other(seed=1),
        other(steps=6), other(lead_in=9), other(predicted="x"), other(raw_questions=True),
        kept(app, searching(), {"a": 0.25}),
    ]  # fmt: skip
    assert len({run.id for run in runs}) == len(runs) == app.store.scenario_runs.count()
    assert runs[2].catalog_fingerprint != original.catalog_fingerprint == runs[1].catalog_fingerprint
    assert other().id == other(servers=moved).id == original.id  # how a server is reached is no input
    assert app.store.scenario_runs.count() == len(runs)


def test_progress_is_told_up_to_the_end_over_all_runs(app, searching) -> None:
    progress = []
    plan = planned(["prag", "sonar"], SETTINGS[:1])
    runs = app.scenarios.run(searching(steps=100), plan, progress=lambda done, total: progress.append((done, total)))
    assert [run.router for run in runs] == ["prag", "sonar"]
    assert progress == [(0, 200), (64, 200), (100, 200), (100, 200), (164, 200), (200, 200)]
    assert app.store.activity.latest_sequence() == 0


def test_live_calls_are_recorded_and_teach_the_operators_book_nothing(app, searching) -> None:
    success = app.catalogs.statistics("mine").servers.success.copy()
    progress = []
    (run,) = app.scenarios.run(
        searching(steps=2),
        planned(["prag"], SETTINGS[:1]),
        live=True,
        progress=lambda done, total: progress.append((done, total)),
    )
    assert (run.mode, run.to_json()["mode"], len(run.injected)) == ("live", "live", 2)
    assert progress == [(0, 2), (1, 2), (2, 2)]  # after every call
    app.store.events.flush()
    outcomes = list(app.store.events.outcomes("mine"))
    assert [(call.injected, call.origin) for call in outcomes] == [(text, "scenario") for text in run.injected]
    assert [call.latency_s for call in outcomes] == run.network_s.tolist()
    assert np.array_equal(app.catalogs.statistics("mine").servers.success, success)
    assert app.pool.states() == ()  # the scenario's connections are its own


def test_a_live_run_can_be_stopped_at_a_call(app, searching) -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        app.scenarios.run(
            searching(steps=50), planned(["prag"], SETTINGS[:1]), live=True, cancel=stop, watch=lambda *_: stop.set()
        )
    app.store.events.flush()
    assert app.store.activity.call_count() == 2  # the second was under way


def test_a_plan_is_every_router_under_every_setting() -> None:
    plan = planned(["sonar", "ehrr", "naive_rag"], SETTINGS[:2], {"a": "0.25", "k": "9"})
    assert [(entry.router, entry.setting.name) for entry in plan][:3] == [
        ("sonar", "s3t6"),
        ("sonar", "s4t8"),
        ("ehrr", "s3t6"),
    ]
    sonar, _, ehrr = plan[0].parameters, plan[1], plan[2].parameters
    assert (sonar.s, sonar.t, sonar.a, ehrr.k) == (3, 6, 0.25, 9)  # explicit values override the setting
    assert planned(["ehrr"])[3].parameters.k == 6
    with pytest.raises(ParameterError, match="None of these routers"):
        planned(["prag"], SETTINGS, {"alpha_t": 1})


def test_without_a_labelled_task_there_is_nothing_to_measure(app, searching) -> None:
    with pytest.raises(CatalogError, match="relevant"):
        app.scenarios.world("ideal", catalog="mine", tasks=[Task("t", SEARCH)])
    with pytest.raises(CatalogError, match="--tasks"):
        app.scenarios.world("ideal", catalog="mine")


def called(server, kind, latency_s, *, simulated=False):
    """The event of a call to a server of the catalog `pair`."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return OutcomeEvent(
        "", moment, None, "pair", server, "search", kind, latency_s, None, 1, None, simulated, "", "test"
    )


def test_without_a_profile_sonar_reads_the_latencies_of_real_calls(app) -> None:
    servers = (Server(name, tools=(Tool(name, "search", "Search the web."),)) for name in ("a", "b"))
    app.catalogs.save(Catalog("pair", tuple(servers)), "test")

    def decided():
        by_words = app.routing.parameters("sonar", {"similarity": "views"})
        return app.routing.route(SEARCH, catalog="pair", router="sonar", parameters=by_words, record=False)

    assert (decided().winner.server, "No latency is known for 2 of 2" in decided().stages[3].note) == ("a", True)
    app.catalogs.observe(called("a", "ok", 5.0, simulated=True))
    assert decided().winner.server == "a"  # simulated calls do not count
    app.catalogs.observe(called("b", "ok", 0.02))
    app.catalogs.observe(called("a", "crash", 0.1))
    recent_s = app.catalogs.context("pair").network.recent_s(2)
    assert recent_s[:, 1].tolist() == [1.0, 0.02]  # it never answered: an outage, however soon that was clear
    assert np.isnan(recent_s[:, 0]).all()
    assert decided().winner.server == "b"
