"""The agent loop over a small catalog: routing, calls, refusals, returned errors, their order, and costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

import pytest

from core.agents.agent import AgentRun, AgentTask
from core.app import App
from core.calls.calls import CallService
from core.catalogs.decision_log import DecisionLog
from core.decisions.routing import RoutingService
from core.domain.outcome import OutcomeKind
from core.governance.governed_calls import GovernedCalls
from core.planning.base import Action, SubQuery, Turn
from core.planning.model import ModelPlanner
from core.planning.model_endpoint import Message, Reply
from core.planning.plans import AgentEvent, Executed, Routed, Stopped
from core.planning.rules import RulesPlanner
from tests.importing import import_text
from tests.world import Scripted

READ_ONLY = {"annotations": {"readOnlyHint": True}}
WORDS = {"inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}}
CATALOG = {
    "servers": [
        {"name": "parrot", "description": "Echo words.", "success": 1.0, "tools": [
            {"name": "echo", "description": "Echo words.", "price_usd": 0.001, **READ_ONLY, **WORDS},
            {"name": "echo_again", "description": "Echo words again.", "price_usd": 0.002, **READ_ONLY, **WORDS},
        ]},
        {"name": "mail", "description": "Send letters.", "tools": [
            {"name": "send", "description": "Send a letter.", "price_usd": 0.0}, ]},
        {"name": "free", "description": "Paint fences.", "tools": [{"name": "paint", "description": "Paint a fence."}]},
    ]
}  # fmt: skip
ECHO = "Echo words 'good day'"
TASK = AgentTask(ECHO, "birds")
Start = Callable[..., AgentRun]
T = TypeVar("T")


class InParts(RulesPlanner):
    """Rules, but for the parts of the question."""

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        return (SubQuery("Echo words"), SubQuery("Send a letter", (0,)))


class Told(RulesPlanner):
    """Rules with scripted actions, one after another."""

    def __init__(self, *actions: Action) -> None:
        self.actions = list(actions)
        self.turns: list[Turn] = []

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        return (SubQuery(question),)

    def act(self, turn: Turn) -> Action:
        self.turns.append(turn)
        return self.actions.pop(0)


class Priced:
    """A model that takes 1 cent and 120 tokens an answer. No two answers are equal."""

    model = "small"

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, message: Message) -> Reply:
        self.asked += 1
        replies = {
            "parts": {"parts": [{"text": f"Echo words {self.asked}", "needs": []}]},
            "description": {"description": "Echo words."},
            "actionreply": {"action": "stop", "tool": "", "arguments_json": "", "subtask": "", "words": "Enough."},
        }
        return Reply(json.dumps(replies[message.name]), 100, 20, 0.01)


@pytest.fixture
def start(app: App, calls_of: Callable[[Scripted], CallService]) -> Start:
    """Begins a run. Its calls end as scripted, then well."""
    import_text(app.catalog_editor, json.dumps(CATALOG), "birds")

    def begin(task: AgentTask, *kinds: OutcomeKind, planner: RulesPlanner | None = None) -> AgentRun:
        planners = {"rules": planner or RulesPlanner()}
        agent = replace(
            app.agent, calls=GovernedCalls(app.governance, app.catalogs, calls_of(Scripted(*kinds))), planners=planners
        )
        return agent.start(task)

    return begin


def of(kind: type[T], events: list[AgentEvent]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def test_a_sub_task_is_routed_called_and_stopped_and_all_of_it_is_recorded(app: App, start: Start) -> None:
    run = start(replace(TASK, live=True))
    routed, executed, stopped = run.events()
    assert (executed.tool, executed.arguments, executed.said) == ("parrot::echo_again", {"words": "good day"}, "done")
    assert (stopped.done, run.calls_usd, run.unpriced) == (True, 0.002, 0)
    app.store.events.flush()
    decision = app.store.activity.decision(routed.decision.id)
    assert (decision.origin, decision.client) == ("agent", "wayfare agent")
    (call,) = app.store.activity.decision_outcomes(routed.decision.id)
    assert (call.origin, call.client, call.simulated) == ("agent", "wayfare agent", False)


def test_an_error_is_given_back_and_the_next_candidate_tried(start: Start) -> None:
    failed, succeeded = of(Executed, list(start(replace(TASK, live=True), OutcomeKind.TOOL_ERROR).events()))
    assert (failed.tool, failed.error) == ("parrot::echo_again", "tool_error")
    assert (succeeded.tool, succeeded.error) == ("parrot::echo", "")


def test_what_came_back_is_put_before_the_planner_word_by_word(start: Start) -> None:
    call = Action("execute", "I echo.", "parrot::echo", {"words": "x"})
    planner = Told(call, call, Action("route", "Other words.", query="Send a letter"), Action("stop", "Enough."))
    events = list(start(replace(TASK, live=True), OutcomeKind.TIMEOUT, planner=planner).events())
    assert [type(event) for event in events] == [Routed, Executed, Executed, Routed, Stopped]
    assert [(a.tool, a.error, a.said) for a in planner.turns[-1].attempts] == [
        ("parrot::echo", "timeout", "done"),
        ("parrot::echo", "", "done"),
    ]
    assert [turn.rounds_left for turn in planner.turns] == [3, 2, 1, 0]
    assert [tool.id for tool in planner.turns[-1].offered] == ["mail::send"]
    assert [event.words for event in events] == ["", "I echo.", "I echo.", "Other words.", "Enough."]


def test_no_more_rounds_than_allowed(start: Start) -> None:
    failing = [OutcomeKind.TOOL_ERROR] * 5
    run = start(replace(TASK, live=True, rounds=1), *failing)
    events = list(run.events())
    assert len(of(Executed, events)) == 1
    assert not events[-1].done
    assert events[-1].words == "Not done within 1 rounds."


def test_a_tool_that_may_write_is_not_called_unless_it_is_allowed(start: Start) -> None:
    task = replace(TASK, question="Send a letter", live=True)
    events = list(start(task).events())
    (refused,) = of(Executed, events)
    assert (refused.error, refused.outcome) == ("may_write", None)
    assert "does not say that it only reads" in refused.said
    assert not events[-1].done
    (called,) = of(Executed, list(start(replace(task, may_write=True)).events()))
    assert called.outcome is not None


@pytest.mark.parametrize(
    ("tool", "arguments", "error", "said"),
    [
        ("parrot::sing", {}, "tool_not_available", "parrot::echo"),
        ("parrot", {}, "tool_not_available", "parrot::echo"),
        ("parrot::echo", None, "invalid_arguments", "not one JSON object"),
        ("parrot::echo", {}, "invalid_arguments", "words is required"),
    ],
)
def test_what_cannot_be_called_is_said_and_not_called(app: App, start: Start, tool, arguments, error, said) -> None:
    action = Action("execute", tool=tool, arguments=arguments)
    parameters = app.routing.parameters("tool_attention", {"theta": 0.0})
    task = replace(TASK, live=True, router="tool_attention", parameters=parameters)
    run = start(task, planner=Told(action, Action("stop")))
    (refused,) = of(Executed, list(run.events()))
    assert (refused.error, refused.outcome) == (error, None)
    assert said in refused.said


def test_the_budget_is_never_exceeded_and_what_is_unpriced_is_not_free(start: Start) -> None:
    dear, cheap = of(Executed, list(start(replace(TASK, live=True, budget_usd=0.0015)).events()))
    assert (dear.error, dear.outcome) == ("over_budget", None)
    assert cheap.tool == "parrot::echo"
    run = start(replace(TASK, question="Paint a fence", live=True, may_write=True, budget_usd=1.0))
    (unpriced,) = of(Executed, list(run.events()))
    assert (unpriced.error, run.calls_usd) == ("over_budget", 0.0)
    run = start(replace(TASK, live=True, budget_usd=0.3))
    run.calls_usd = 0.1 + 0.2 - 0.002  # 0.1 + 0.2 is a little more than 0.3
    (exact,) = of(Executed, list(run.events()))
    assert (exact.tool, exact.error, run.left_usd) == ("parrot::echo_again", "", 0.0)


def test_a_missing_argument_is_named_and_stops_the_step_and_those_that_need_it(start: Start) -> None:
    events = list(start(replace(TASK, live=True, may_write=True), planner=InParts()).events())
    missing, dependent = of(Stopped, events)
    assert not of(Executed, events)
    assert missing.words.startswith("parrot::echo_again needs words (a quoted text)")
    assert dependent.words == "It needs what step 1 should have brought."


def test_no_candidate_is_given_back_with_the_reason(app: App, start: Start) -> None:
    parameters = app.routing.parameters("tool_attention", {"similarity": "views", "theta": 0.99})
    routed, stopped = start(replace(TASK, router="tool_attention", parameters=parameters)).events()
    assert not routed.decision.candidates
    assert stopped.words == routed.decision.reason


def test_runs_at_once_are_charged_for_their_own_questions_alone(app: App, start: Start) -> None:
    """Each run asks three times: for the parts, in the router, and for the action. The third run only routes."""
    assert start(TASK).model_usd == 0.0
    model = ModelPlanner(Priced())
    planners = {"rules": RulesPlanner(), "model": model}
    agent = replace(
        app.agent,
        planners=planners,
        routing=RoutingService(app.catalogs, DecisionLog(app.store), planners, app.simulated_networks),
    )
    parameters = app.routing.parameters("prag", {"planner": "model"})
    task = AgentTask("", "birds", router="prag", parameters=parameters, planner="model", budget_usd=0.05)
    runs = [agent.start(replace(task, question=f"Echo words {number}")) for number in range(2)]
    runs.append(agent.start(replace(task, planner="rules", question="Echo words 'good day'")))
    for _ in zip_longest(*(run.events() for run in runs)):
        model.summarise("somebody else asks meanwhile")
    assert [run.model_usd for run in runs] == pytest.approx([0.03, 0.03, 0.01])
    assert [run.model_tokens for run in runs] == [360, 360, 120]
    assert runs[0].left_usd == pytest.approx(0.02)
    assert model.usage.calls == 8
