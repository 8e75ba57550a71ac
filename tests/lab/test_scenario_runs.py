"""Runs of a scenario are stored under all that they follow from, and read again as they were."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from core.domain.catalog import Catalog, Connection, Server, Tool
from core.domain.errors import StoreError
from core.domain.events import Override
from core.domain.tasks import Task
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import SETTINGS

SEARCH = "web search"
TOOLS = (Tool("web", "search", "Search the web.", price_usd=0.002),)
SERVERS = (Server("other"), Server("web", tools=TOOLS))


@pytest.fixture
def searching(app):
    """An app with one server that searches, and a scenario over it."""

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
    assert (steps.servers, steps.tools) == (("web",), ("search",))  # those that were called
    np.testing.assert_array_equal(steps.server, np.zeros(5))
    np.testing.assert_array_equal(steps.network_s, run.network_s)
    assert app.store.activity.latest_sequence() == 0


def test_a_run_that_differs_in_an_input_is_another_one(app, searching) -> None:
    def other(**changes):
        return kept(app, searching(**changes))

    dearer = (Server("other"), Server("web", tools=(replace(TOOLS[0], price_usd=0.003),)))
    moved = (Server("other"), Server("web", tools=TOOLS, connection=Connection("http", url="http://elsewhere.test")))
    first = other()
    found = [
        first, other(profile="hybrid"), other(servers=dearer), other(words="web search, please"), other(seed=1),
        other(steps=6), other(lead_in=9), other(predicted="x"), other(raw_questions=True),
        kept(app, searching(), {"a": 0.25}),
    ]  # fmt: skip
    assert len({run.id for run in found}) == len(found) == app.store.scenario_runs.count()
    assert found[2].catalog_fingerprint != first.catalog_fingerprint == found[1].catalog_fingerprint
    assert other().id == other(servers=moved).id == first.id  # how a server is reached is no input
    assert app.store.scenario_runs.count() == len(found)


def test_a_price_set_by_hand_makes_another_catalog(app, searching) -> None:
    first = kept(app, searching())
    app.catalogs.set_override(Override("mine", "web", "search", "price_usd", 0.5, datetime.now(UTC)))
    again = app.scenarios.world("ideal", catalog="mine", tasks=[Task("t", SEARCH, relevant=("web::search",))], steps=5)
    assert kept(app, again).catalog_fingerprint != first.catalog_fingerprint


def test_a_live_run_is_another_one_than_the_simulated(app, searching) -> None:
    world = searching()
    (run,) = app.scenarios.run(world, planned(["sonar"], SETTINGS[:1]))
    (row, live) = app.scenarios.keep(world, [run, replace(run, mode="live")])
    assert (row.mode, live.mode, app.store.scenario_runs.count()) == ("simulated", "live", 2)


def test_a_world_without_a_name_is_not_kept(app, searching) -> None:
    with pytest.raises(StoreError, match="no name"):
        app.scenarios.keep(replace(searching(), conditions=None), [])
