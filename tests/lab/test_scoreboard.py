"""The scoreboard: equal to a sweep of the same setting, and the questions with another first tool."""

from __future__ import annotations

from typing import Any

import pytest

from core.app import App
from core.domain.errors import UnknownNameError
from core.domain.feedback import By
from core.domain.outcome import CallMode, ToolCall
from core.domain.params import SIMULATED_TOO, NetworkMoment
from core.domain.tasks import Task
from core.domain.units import price
from core.lab.lab_runs import WRITTEN
from core.lab.points import TasksAsked
from core.lab.scoreboard import LABELS, MEASURES, REQUESTS
from core.lab.sweep import SECONDS, USD
from core.network.profiles import Profile
from core.network.states import HighLatency
from tests.cases import each
from tests.dashboard.harness import app_with

TESTBED, TASKS = "search-15", "tasks of the testbed"
OWN = {"servers": [{"name": "files", "tools": [{"name": "read", "description": "Reads a file."}, {"name": "say"}]}]}
PAID = {
    "servers": [{"name": "files", "ask_usd": 0.002, "tools": [{"name": "read", "price_usd": 0.005, "success": 1.0}]}]
}

app = app_with({"own": OWN, "called": OWN, "paid": PAID}, scope="module")


def test_a_score_is_that_of_a_sweep_and_names_each_question_with_another_first_tool(app: App) -> None:
    defaults = app.routing.parameters("ehrr")
    tasks = [task for task in app.lab.read_tasks(app.lab.task_sets(TESTBED)[TASKS]) if task.relevant]
    for parameters in (defaults, defaults.replaced({"alpha_t": 0.3, "kappa": 500.0})):
        score = app.scoreboard.score(TASKS, catalog=TESTBED, router="ehrr", parameters=parameters)
        (swept,) = app.sweeps.measured(tasks, [parameters], catalog=TESTBED, router="ehrr", hints=True)
        assert score.now == {name: pytest.approx(swept[name]) for name in MEASURES}
        assert score.tasks == len(tasks)
    change = score.changed[0]
    task = next(task for task in tasks if change.query == (task.question or task.subtask))
    decision = app.routing.route(task.subtask, catalog=TESTBED, parameters=parameters, server_hint=task.server_hint)
    assert change.now == (decision.winner.tool if decision.winner else None)
    assert change.before != change.now


def test_under_a_simulated_network_its_figures_count_and_the_measured_ones_come_back(app: App) -> None:
    defaults = app.routing.parameters("ehrr")
    setting: dict[str, object] = {"catalog": TESTBED, "router": "ehrr", "parameters": defaults}
    measured = app.scoreboard.score(TASKS, **setting)
    moments = [NetworkMoment("fluctuating", at_s) for at_s in (0.0, 600.0)]
    simulated = [app.scoreboard.score(TASKS, **setting, network=moment) for moment in moments]
    assert len({score.now[SECONDS] for score in (measured, *simulated)}) == 3
    task = app.lab.read_tasks(app.lab.task_sets(TESTBED)[TASKS])[0]
    decision = app.routing.route(task.subtask, catalog=TESTBED, server_hint=task.server_hint, network=moments[1])
    asked_tasks = TasksAsked(app.lab, [task], TESTBED, "ehrr", hints=True, network=moments[1])
    assert asked_tasks.first_and_measures(defaults)[0].tolist() == [*decision.candidates[:1]]
    assert app.scoreboard.score(TASKS, **setting) == measured


@each("network", [NetworkMoment("mine", 600.0), SIMULATED_TOO])
def test_a_network_that_changes_is_scored_anew_at_the_defaults_and_now(app: App, network: NetworkMoment) -> None:
    """By an edit of its profile, or by a simulated call."""
    app.networks.save(Profile("mine"))
    app.feedback.label("what is in it", "files::read", right=True, catalog="called")
    setting: dict[str, Any] = {"catalog": "called", "router": "ehrr", "network": network}
    defaults = app.routing.parameters("ehrr")
    score = app.scoreboard.score(LABELS, **setting, parameters=defaults)
    assert app.scoreboard.ready(LABELS, **setting)
    app.networks.save(Profile("mine", default=(HighLatency(base_ms=5000, spread_ms=0),)))
    app.calls.run(ToolCall("files", "read", {}, catalog="called"), mode=CallMode.DRAWN)
    assert not app.scoreboard.ready(LABELS, **setting)
    changed = app.scoreboard.score(LABELS, **setting, parameters=defaults)
    assert changed.before == changed.now != score.now


def test_an_own_catalog_is_scored_over_its_labels_and_example_requests(app: App) -> None:
    assert app.scoreboard.task_sets("own") == []
    app.feedback.label("what is in it", "files::read", right=True, catalog="own")
    app.requests.add_by_hand("own", "files::read", ["show me the notes"], By())
    assert app.scoreboard.task_sets("own") == [LABELS, REQUESTS]
    for name in (LABELS, REQUESTS):
        assert not app.scoreboard.ready(name, "own", "ehrr")
        score = app.scoreboard.score(name, catalog="own", router="ehrr", parameters=app.routing.parameters("ehrr"))
        assert (score.tasks, score.changed) == (1, ())
        assert app.scoreboard.ready(name, "own", "ehrr")
    app.feedback.label("and in that", "files::say", right=True, catalog="own")
    score = app.scoreboard.score(LABELS, catalog="own", router="ehrr", parameters=app.routing.parameters("ehrr"))
    assert score.tasks == 2
    with pytest.raises(UnknownNameError, match="choose among your labels, example requests"):
        app.scoreboard.score("others", catalog="own", router="ehrr", parameters=app.routing.parameters("ehrr"))


def test_calls_of_unknown_prices_are_unpriced_and_not_free(app: App) -> None:
    app.feedback.label("read it", "files::read", right=True, catalog="own")
    parameters = app.routing.parameters("ehrr", {"worthwhile": False})
    score = app.scoreboard.score(LABELS, catalog="own", router="ehrr", parameters=parameters)
    assert [price(means[USD]) for means in (score.before, score.now)] == ["unpriced", "unpriced"]


@each(("settlement", "usd"), [("price", 0.005), ("ask", 0.002)])
def test_money_is_what_a_call_pays(app: App, settlement: str, usd: float) -> None:
    app.feedback.label("read it", "files::read", right=True, catalog="paid")
    parameters = app.routing.parameters("ehrr", {"settlement": settlement, "worthwhile": False})
    score = app.scoreboard.score(LABELS, catalog="paid", router="ehrr", parameters=parameters)
    assert (score.before[USD], score.now[USD]) == pytest.approx((0.005, usd))


def test_tasks_that_are_written_again_under_the_same_name_are_scored_anew(app: App) -> None:
    parameters = app.routing.parameters("ehrr")
    for count in (1, 2):
        app.task_writing.keep("own", [Task(f"t{n}", f"read {n}", relevant=("files::read",)) for n in range(count)])
        assert not app.scoreboard.ready(WRITTEN, "own", "ehrr")
        assert app.scoreboard.score(WRITTEN, catalog="own", router="ehrr", parameters=parameters).tasks == count
