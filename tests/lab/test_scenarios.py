"""Scenarios over the catalogs at hand: progress, cancelling, what is recorded."""

import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from core.catalogs.background_jobs import Stopped
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import CatalogError, ParameterError
from core.domain.events import OutcomeEvent
from core.domain.tasks import Task
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import SETTINGS

SEARCH = "web search"


@pytest.fixture
def searching(app):
    """An app with one server that searches, and a scenario over it."""
    catalog = Catalog("mine", (Server("web", tools=(Tool("web", "search", "Search the web."),)),))
    app.catalogs.save(catalog, "test")
    return lambda **settings: app.scenarios.world(
        "ideal", catalog="mine", tasks=[Task("t", SEARCH, relevant=("web::search",))], **settings
    )


def test_progress_is_told_up_to_the_end_over_all_runs(app, searching) -> None:
    told = []
    plan = planned(["prag", "sonar"], SETTINGS[:1])
    runs = app.scenarios.run(searching(steps=100), plan, progress=lambda done, of: told.append((done, of)))
    assert [run.router for run in runs] == ["prag", "sonar"]
    assert told == [(0, 200), (64, 200), (100, 200), (100, 200), (164, 200), (200, 200)]
    assert app.store.activity.latest_sequence() == 0


def test_a_run_can_be_stopped(app, searching) -> None:
    stop, told = threading.Event(), []

    def progress(done, of):
        told.append(done)
        stop.set()

    with pytest.raises(Stopped):
        app.scenarios.run(searching(steps=1000), planned(["prag"]), progress=progress, cancel=stop)
    assert told == [0]


def test_live_calls_are_recorded_and_teach_the_operators_book_nothing(app, searching) -> None:
    before = app.catalogs.statistics("mine").servers.success.copy()
    told = []
    (run,) = app.scenarios.run(
        searching(steps=2),
        planned(["prag"], SETTINGS[:1]),
        live=True,
        progress=lambda done, of: told.append((done, of)),
    )
    assert (run.mode, run.to_json()["mode"], len(run.injected)) == ("live", "live", 2)
    assert told == [(0, 2), (1, 2), (2, 2)]  # after every call
    app.store.events.flush()
    made = list(app.store.events.outcomes("mine"))
    assert [(call.injected, call.origin) for call in made] == [(text, "scenario") for text in run.injected]
    assert [call.latency_s for call in made] == run.network_s.tolist()
    assert np.array_equal(app.catalogs.statistics("mine").servers.success, before)
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
    assert (sonar.s, sonar.t, sonar.a, ehrr.k) == (3, 6, 0.25, 9)  # what is set comes before the setting
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
    assert decided().winner.server == "a"  # what was simulated says nothing
    app.catalogs.observe(called("b", "ok", 0.02))
    app.catalogs.observe(called("a", "crash", 0.1))
    recent_s = app.catalogs.context("pair").network.recent_s(2)
    assert recent_s[:, 1].tolist() == [1.0, 0.02]  # it never answered: an outage, however soon that was clear
    assert np.isnan(recent_s[:, 0]).all()
    assert decided().winner.server == "b"
