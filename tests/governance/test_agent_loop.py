"""The agent loop passes the same gate as every client: what is refused comes back word by word, and a person's own action approves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.agents.agent import AgentRun
from core.app import App
from core.calls.calls import CallService
from core.domain.limits import BreakerRules
from core.domain.outcome import OutcomeKind
from core.governance.budgets import Budget
from core.governance.governed_calls import GovernedCalls
from core.governance.policy import ApprovalRules
from core.governance.status import budgets
from core.planning.base import Action
from core.planning.plans import Executed
from core.planning.rules import RulesPlanner
from tests.agents.test_agent import CATALOG, TASK, Told, of
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import Scripted

LIVE = replace(TASK, live=True, may_write=True)
CALL = Action("execute", tool="parrot::echo", arguments={"words": "x"})
Start = Callable[..., AgentRun]


@pytest.fixture
def start(app: App, calls_of: Callable[[Scripted], CallService]) -> Start:
    import_text(app.catalog_editor, json.dumps(CATALOG), "birds")

    def begin(*kinds: OutcomeKind, planner: RulesPlanner | None = None) -> AgentRun:
        governed = GovernedCalls(app.governance, app.catalogs, calls_of(Scripted(*kinds)))
        return replace(app.agent, calls=governed, planners={"rules": planner or RulesPlanner()}).start(LIVE)

    return begin


def executed(run: AgentRun) -> list[Executed]:
    return of(Executed, list(run.events()))


def test_what_is_denied_is_the_tools_answer_and_the_next_candidate_is_tried(app: App, start: Start) -> None:
    policy(app, deny=("parrot::echo_again",))
    first, second = executed(start())
    assert (first.error, first.outcome, second.error) == ("not_allowed", None, "")
    assert json.loads(first.said)["why"] == "parrot::echo_again may not be used: the operator denies it."


def test_a_call_that_waits_for_a_person_stops_the_rules(app: App, start: Start) -> None:
    policy(app, approvals=ApprovalRules(above_usd=0.0015))
    (only,) = executed(start())
    (waiting,) = app.governance.waiting()
    assert (only.error, waiting.change.client) == ("approval_needed", "wayfare agent")
    app.governance.decide(waiting.change.id, approve=True, origin="test")
    assert [step.error for step in executed(start())] == [""]


def test_a_persons_action_approves_the_call_that_it_is(app: App, start: Start) -> None:
    policy(app, approvals=ApprovalRules(above_usd=0.0))
    planner = Told(CALL, replace(CALL, approved_by="console:ada"), CALL, Action("stop"))
    assert [step.error for step in executed(start(planner=planner))] == ["approval_needed", "", "approval_needed"]
    (approval,) = app.governance.approvals.recent()
    assert (approval.state, approval.decided) == ("used", "console:ada")


def test_its_calls_count_and_trip_breakers_like_any_other(app: App, start: Start) -> None:
    policy(app, budgets=(Budget(calls=3),), breaker=BreakerRules(failures=2, open_s=10))
    planner = Told(CALL, CALL, CALL, Action("stop"))
    run = start(OutcomeKind.CRASH, OutcomeKind.TIMEOUT, planner=planner)
    assert [step.error for step in executed(run)] == ["crash", "timeout", "server_paused"]
    (calls,) = budgets(app.governance, app.settings.now)
    assert (calls.client, calls.used, calls.left) == ("wayfare agent", 2, 1)


def test_the_tokens_of_its_results_count(app: App, start: Start) -> None:
    policy(app, budgets=(Budget(tokens=51),))
    planner = Told(CALL, CALL, CALL, Action("stop"))
    assert [step.error for step in executed(start(planner=planner))] == ["", "", "budget_spent"]
    (tokens,) = budgets(app.governance, app.settings.now)
    assert (tokens.used, tokens.reserved) == (2, 0)
