"""Scenarios over the catalogs at hand: progress, cancelling, what is recorded."""

import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.events import OutcomeEvent
from core.domain.task import Task
from core.errors import CatalogError, ParameterError
from core.lab.scenario_measures import SETTINGS
from core.scenarios import Cancelled, planned

SEARCH = "web search"


@pytest.fixture
def searching(console):
    """A console with one server that searches, and a scenario over it."""
    catalog = Catalog("mine", (Server("web", tools=(Tool("web", "search", "Search the web."),)),))
    console.library.save(catalog, "test")
    return lambda **settings: console.scenarios.world(
        "ideal", catalog="mine", tasks=[Task("t", SEARCH, relevant=("web::search",))], **settings
    )


def test_progress_is_told_up_to_the_end_over_all_runs(console, searching) -> None:
    told = []
    plan = planned(["prag", "sonar"], SETTINGS[:1])
    runs = console.scenarios.run(searching(steps=100), plan, progress=lambda done, of: told.append((done, of)))
    assert [run.router for run in runs] == ["prag", "sonar"]
    assert told == [(0, 200), (64, 200), (100, 200), (100, 200), (164, 200), (200, 200)]
    assert console.store.activity.latest_sequence() == 0


def test_a_run_can_be_stopped(console, searching) -> None:
    stop, told = threading.Event(), []

    def progress(done, of):
        told.append(done)
        stop.set()

    with pytest.raises(Cancelled):
        console.scenarios.run(searching(steps=1000), planned(["prag"]), progress=progress, cancel=stop)
    assert told == [0]


def test_live_calls_are_recorded_and_teach_the_operators_book_nothing(console, searching) -> None:
    before = console.statistics("mine").servers.success.copy()
    told = []
    (run,) = console.scenarios.run(
        searching(steps=2),
        planned(["prag"], SETTINGS[:1]),
        live=True,
        progress=lambda done, of: told.append((done, of)),
    )
    assert (run.mode, run.to_json()["mode"], len(run.injected)) == ("live", "live", 2)
    assert told == [(0, 2), (1, 2), (2, 2)]  # after every call
    console.store.events.flush()
    made = list(console.store.events.outcomes("mine"))
    assert [(call.injected, call.origin) for call in made] == [(text, "scenario") for text in run.injected]
    assert [call.latency_s for call in made] == run.network_s.tolist()
    assert np.array_equal(console.statistics("mine").servers.success, before)
    assert console.connections() == ()  # the scenario's connections are its own


def test_a_live_run_can_be_stopped_at_a_call(console, searching) -> None:
    stop = threading.Event()
    with pytest.raises(Cancelled):
        console.scenarios.run(
            searching(steps=50), planned(["prag"], SETTINGS[:1]), live=True, cancel=stop, watch=lambda *_: stop.set()
        )
    console.store.events.flush()
    assert console.store.activity.call_count() == 2  # the second was under way


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


def test_without_a_labelled_task_there_is_nothing_to_measure(console, searching) -> None:
    with pytest.raises(CatalogError, match="relevant"):
        console.scenarios.world("ideal", catalog="mine", tasks=[Task("t", SEARCH)])
    with pytest.raises(CatalogError, match="--tasks"):
        console.scenarios.world("ideal", catalog="mine")


def called(server, kind, latency_s, *, simulated=False):
    """The event of a call to a server of the catalog `pair`."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return OutcomeEvent(
        "", moment, None, "pair", server, "search", kind, latency_s, None, 1, None, simulated, "", "test"
    )


def test_without_a_profile_sonar_reads_the_latencies_of_real_calls(console) -> None:
    servers = (Server(name, tools=(Tool(name, "search", "Search the web."),)) for name in ("a", "b"))
    console.library.save(Catalog("pair", tuple(servers)), "test")

    def decided():
        return console.route(SEARCH, catalog="pair", router="sonar", record=False)

    assert (decided().winner.server, "No latency is known for 2 of 2" in decided().stages[3].note) == ("a", True)
    console.library.observe(called("a", "ok", 5.0, simulated=True))
    assert decided().winner.server == "a"  # what was simulated says nothing
    console.library.observe(called("b", "ok", 0.02))
    console.library.observe(called("a", "crash", 0.1))
    recent_s = console.library.scene("pair").network.recent_s(2)
    assert recent_s[:, 1].tolist() == [1.0, 0.02]  # it never answered: an outage, however soon that was clear
    assert np.isnan(recent_s[:, 0]).all()
    assert decided().winner.server == "b"
