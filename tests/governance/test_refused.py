"""Refusals are kept with client, call, reason and advice; once for many repetitions, and sealed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.app import App
from core.domain.errors import Refusal
from core.domain.events import ActivityFilter
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules, Scope
from core.governance.status import budgets
from tests.cases import each
from tests.governance.conftest import Clock, policy, refused, wanted


def kept(app: App, **where: Any) -> list[dict[str, Any]]:
    """The log's rows, oldest first."""
    app.store.events.flush()
    return app.store.activity.refused(ActivityFilter(**where)).to_dict("records")[::-1]


def test_each_kind_says_what_would_allow_it(app: App) -> None:
    app.governance.clients.make("bob", Scope(servers=("files",), per_minute=1.0), origin="test")
    policy(app, approvals=ApprovalRules(above_usd=0.0015), budgets=(Budget(client="eve", calls=0),))
    refused(app, wanted(app))
    refused(app, wanted(app, client="bob"))
    refused(app, wanted(app, "files::read", client="eve"))
    app.governance.admission.enter("bob", "world", known=True)
    with pytest.raises(Refusal):
        app.governance.admission.enter("bob", "world", known=True)
    with pytest.raises(Refusal):
        app.governance.admission.describe("bob", "world", wanted(app).tool)
    assert [(row["client"], row["error"], row["tool"]) for row in kept(app)] == [
        ("ann", "approval_needed", "echo"),
        ("bob", "not_allowed", "echo"),
        ("eve", "budget_spent", "read"),
        ("bob", "rate_limited", ""),
    ]
    assert "is reset at 2026-03-02" in kept(app, server="files")[0]["advice"]
    assert not kept(app, text="no such text")
    assert not app.store.events.audit().problem


def test_a_client_that_repeats_itself_is_counted(app: App, clock: Clock) -> None:
    policy(app, deny=("raw::*",))
    for _ in range(4):
        refused(app, wanted(app))
    clock.pass_s(31)
    refused(app, wanted(app))
    assert [row["repeated"] for row in kept(app)] == [0, 3]


def test_a_count_is_written_when_the_client_comes_no_more(app: App, clock: Clock) -> None:
    policy(app, deny=("raw::*",))
    for _ in range(4):
        refused(app, wanted(app))
    refused(app, wanted(app, client="bob"))
    app.governance.refused.write_due()
    assert [row["repeated"] for row in kept(app)] == [0, 0]  # the client may go on
    clock.pass_s(31)
    app.governance.before(wanted(app, "files::read", client="cid"))  # any call of another client writes it
    app.governance.refused.write_due()
    counts = [(row["client"], row["repeated"]) for row in kept(app)]
    assert counts == [("ann", 0), ("bob", 0), ("ann", 2)]  # four refusals of ann: two records and two more


def test_a_console_that_stops_writes_its_counts(opened: Callable[[], App], app: App) -> None:
    policy(app, deny=("raw::*",))
    for _ in range(3):
        refused(app, wanted(app))
    app.close()
    assert [row["repeated"] for row in kept(opened())] == [0, 1]


def test_looking_ahead_keeps_nothing_and_reserves_nothing(app: App) -> None:
    call = ToolCall("raw", "echo", {}, catalog="world")
    policy(app, approvals=ApprovalRules(writes=True))
    assert app.governed.outlook(call).reasons == ("it may write",)
    policy(app, approvals=ApprovalRules(), deny=("raw::*",))
    assert app.governed.outlook(call).refusal.error == "not_allowed"
    assert not kept(app)
    assert not app.governance.waiting()


def test_a_persons_call_is_governed_and_a_simulated_one_is_not(app: App) -> None:
    policy(app, deny=("raw::*",), budgets=(Budget(client="operator", calls=1),))
    call, other = (ToolCall(server, tool, {}, catalog="world") for server, tool in (("raw", "echo"), ("mail", "send")))
    with pytest.raises(Refusal, match="denies"):
        app.governed.by_person(call, mode=CallMode.REAL, origin="console")
    app.governed.by_person(call, mode=CallMode.DRAWN, origin="console").report()
    app.governed.by_person(other, mode=CallMode.REAL, origin="console").report()
    with pytest.raises(Refusal, match="0 of 1 calls are left"):
        app.governed.by_person(other, mode=CallMode.REAL, origin="cli").report()
    assert [(row["client"], row["origin"]) for row in kept(app)] == [("operator", "console"), ("operator", "cli")]


@each("name", ["operator", "wayfare agent"])
def test_nobody_takes_wayfares_own_names(app: App, name: str) -> None:
    with pytest.raises(Refusal, match="Wayfare's own"):
        app.governance.admission.enter(name, "world", known=False)
    with pytest.raises(Exception, match="Wayfare's own name"):
        app.governance.clients.make(name, origin="test")


def test_an_experiments_call_is_settled_or_has_no_leave(app: App) -> None:
    policy(app, budgets=(Budget(client="operator", calls=1, usd=1.0),))
    call = ToolCall("raw", "echo", {}, catalog="world")
    settle = app.governed.leave(call, "scenario")
    assert app.governed.leave(call, "scenario") is None
    settle(OutcomeKind.TIMEOUT)
    usd, calls = budgets(app.governance, app.settings.now)
    assert (usd.used, usd.reserved, calls.used) == (0, 0, 1)
    assert [row["origin"] for row in kept(app)] == ["scenario"]
