"""The model by the environment, from the app and the command line: the used planner, its costs, and the state after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.app import App, Settings, open_app
from core.cli import main
from core.domain.errors import PlannerError

QUESTION = "Will it rain in Oslo on Friday?"


@pytest.fixture
def app(db: Path) -> Iterator[App]:
    with open_app(Settings.from_environment(db=db)) as app:
        yield app


def route(app: App, planner: str, router: str = "prag"):
    return app.routing.route(QUESTION, router=router, parameters=app.routing.parameters(router, {"planner": planner}))


def test_without_a_model_rules_speak_nothing_was_taken_and_asking_for_one_is_one_sentence(app):
    assert app.routing.route(QUESTION).planner == "none"  # this router asks no planner
    assert route(app, "rules").planner == "rules"
    assert app.routing.planner_usage() is None
    with pytest.raises(PlannerError, match=r"^No model is set; set WAYFARE_LLM_MODEL.* or choose planner=rules\.$"):
        route(app, "model")


@pytest.mark.usefixtures("model")
def test_with_a_model_the_decision_says_who_spoke_and_the_console_what_it_took(endpoint, app):
    endpoint.reactions = [endpoint.answer({"description": "weather forecast for a place and date"})]
    decision = route(app, "model")
    assert decision.planner == "gpt-4o-mini"
    assert "weather forecast for a place and date" in decision.stages[0].note
    assert route(app, "rules").planner == "rules"
    usage = app.routing.planner_usage()
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.failed) == (1, 100, 20, 0)
    assert usage.cost_usd == pytest.approx(27e-6)


@pytest.mark.usefixtures("model")
def test_invented_tools_are_refused_counted_and_the_decision_stands(endpoint, app):
    parameters = {"planner": "model", "decompose": False}
    endpoint.reactions = [endpoint.answer({"tools": ["nobody::has_it"], "reason": "Best."})]
    decision = app.routing.route(QUESTION, router="react", parameters=app.routing.parameters("react", parameters))
    assert decision.candidates
    assert "Named but not offered: 1." in decision.stages[-1].note
    assert app.routing.planner_usage().invented == 2  # a server and a tool


@pytest.mark.usefixtures("model")
def test_a_failure_in_the_middle_of_a_decision_loses_nothing(endpoint, app):
    decision = route(app, "rules")
    parts = endpoint.answer({"parts": [{"text": "one", "needs": []}, {"text": "two", "needs": []}]})
    endpoint.reactions = [parts, endpoint.fail(500)]
    with pytest.raises(PlannerError, match=r"^The model 'gpt-4o-mini' at .* after 3 attempts"):
        route(app, "model", "react")
    usage = app.routing.planner_usage()
    assert (usage.calls, usage.failed) == (1, 1)
    assert app.routing.decision(decision.id) is decision
    assert route(app, "rules") is decision


@pytest.mark.usefixtures("model")
def test_the_command_line_names_who_spoke(endpoint, db, capsys):
    endpoint.reactions = [endpoint.answer({"description": "weather forecast"})]
    main(["route", QUESTION, "--router", "prag", "--set", "planner=model", "--db", str(db)])
    assert "Planner: gpt-4o-mini." in capsys.readouterr().out
