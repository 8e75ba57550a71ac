"""A person beside the agent loop: waiting proposals, actions in the planner's place, and ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.agents.agent import AgentTask
from core.agents.supervised_agent import SupervisedAgent
from core.app import App
from core.calls.calls import CallService
from core.domain.outcome import ToolCall
from core.governance.governed_calls import GovernedCalls
from core.governance.refusals import Permit, Wanted
from core.planning.base import Action
from core.planning.plans import Executed, Stopped, turn_tokens
from tests.agents.test_agent import CATALOG, ECHO
from tests.importing import import_text
from tests.world import Scripted

Begin = Callable[..., SupervisedAgent]
WAIT_S = 30.0


@pytest.fixture
def begin(app: App, calls_of: Callable[[Scripted], CallService]) -> Begin:
    import_text(app.catalog_editor, json.dumps(CATALOG), "birds")

    def started(meanwhile: Callable[[ToolCall], None] = lambda _: None, **options: bool) -> SupervisedAgent:
        calls = calls_of(Scripted(meanwhile=meanwhile))
        return SupervisedAgent(
            replace(app.agent, calls=GovernedCalls(app.governance, app.catalogs, calls)),
            AgentTask(ECHO, "birds", live=True),
            **options,
        )

    return started


def test_a_person_acts_in_the_planners_place_and_lets_it_go_on(begin: Begin) -> None:
    run = begin(paused=True)
    assert run.wait(WAIT_S)
    proposed = run.proposal.action
    (other_tool,) = {"parrot::echo", "parrot::echo_again"} - {proposed.tool}
    assert (proposed.kind, proposed.arguments) == ("execute", {"words": "good day"})
    run.answer(Action("execute", "I prefer this one.", other_tool, {"words": "hm"}))
    while not (run.done or ((proposal := run.proposal) and proposal.turn.attempts)):
        assert run.wait(WAIT_S)
    assert run.proposal.action.kind == "stop"
    run.go_on()
    while not run.done:
        run.wait(WAIT_S)
    executed, stopped = run.events[1:]
    assert isinstance(executed, Executed)
    assert (executed.tool, executed.words, executed.arguments) == (
        other_tool,
        "I prefer this one.",
        {"words": "hm"},
    )
    assert isinstance(stopped, Stopped)
    assert stopped.done
    turns = turn_tokens(run.events)
    assert [turn.do for turn in turns] == ["execute", "stop"]
    assert all(0 < turn.exposed < turn.baseline and turn.model == 0 for turn in turns)


def test_what_was_answered_waits_no_more_and_is_waited_for_no_more(begin: Begin) -> None:
    call_begun, goes_on = threading.Event(), threading.Event()

    def held(_: ToolCall) -> None:
        call_begun.set()
        goes_on.wait(WAIT_S)

    run = begin(held, paused=True)
    assert run.wait(WAIT_S)
    run.answer(run.proposal.action)
    assert run.proposal is None
    assert not run.wait(0.0)
    assert call_begun.wait(WAIT_S)
    run.answer(Action("stop", "Pressed twice."))  # nothing waits, so the answer is dropped
    run.go_on()
    goes_on.set()
    while not run.done:
        run.wait(WAIT_S)
    assert run.events[-1].words != "Pressed twice."


def test_the_end_comes_before_the_next_action(begin: Begin) -> None:
    runs: list[SupervisedAgent] = []

    def end(_: ToolCall) -> None:
        runs[0].end()

    runs.append(begin(end, paused=True))
    assert runs[0].wait(WAIT_S)
    runs[0].go_on()
    while not runs[0].done:
        runs[0].wait(WAIT_S)
    assert [type(event).__name__ for event in runs[0].events] == ["Routed", "Executed"]
    assert runs[0].problem == "Ended by hand."


def test_an_end_while_a_call_is_admitted_cancels_it(app: App, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    run, admit = begin(paused=True), app.governance.before

    def before(wanted: Wanted) -> Permit:
        run.end()
        return admit(wanted)

    monkeypatch.setattr(app.governance, "before", before)
    assert run.wait(WAIT_S)
    run.answer(run.proposal.action)
    while not run.done:
        run.wait(WAIT_S)
    assert run.run._call is not None
    assert run.run._call.cancel_event.is_set()
