"""Budgets over a store: under threads and after a kill, at the limit, what is given back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from core.app import App
from core.domain.errors import Refusal
from core.domain.outcome import Outcome, OutcomeKind
from core.governance.budgets import Amount, Budget
from core.governance.governed_calls import GovernedCall
from core.governance.policy import ApprovalRules
from core.governance.refusals import Permit
from core.governance.status import Metrics, budgets
from core.store import Store
from core.store.connection import COMMAND
from tests.governance.conftest import Clock, open_app, policy, refused, wanted
from tests.importing import import_text
from tests.world import document, spending


def test_fifty_threads_never_overspend(app: App) -> None:
    policy(app, budgets=(Budget(client="", usd=0.02, calls=30),))  # ten calls at 0.002 USD
    most, lock, errors = [0], threading.Lock(), list[str]()
    permits = list[Permit]()
    start = threading.Barrier(50)

    def work(number: int) -> None:
        start.wait()
        for _ in range(3):
            try:
                permit = app.governance.before(wanted(app, client=f"client {number % 7}", n=number))
            except Refusal as error:
                errors.append(error.error)
                continue
            with lock:
                permits.append(permit)
                (status, _) = budgets(app.governance, app.settings.now)
                most[0] = max(most[0], round((status.used + status.reserved) / 0.002))
            app.governance.after(permit, OutcomeKind.OK, 10)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(permits), most[0], set(errors)) == (10, 10, {"budget_spent"})
    usd, calls = budgets(app.governance, app.settings.now)
    assert (usd.used, usd.left, usd.reserved) == (pytest.approx(0.02), pytest.approx(0, abs=1e-9), 0)
    assert (calls.used, calls.left) == (10, 20)


def test_a_budget_is_charged_what_a_decision_agreed_on(app: App) -> None:
    policy(app, budgets=(Budget(client="ann", usd=0.03),))
    plain = wanted(app)
    agreed = replace(plain, call=replace(plain.call, payment_usd=0.025))
    app.governance.after(app.governance.before(agreed), OutcomeKind.OK, 10)
    assert budgets(app.governance, app.settings.now)[0].used == pytest.approx(0.025)
    assert refused(app, agreed).error == "budget_spent"
    app.governance.before(plain)


def test_a_budget_that_is_used_up_leaves_nothing(app: App) -> None:
    policy(app, budgets=(Budget(client="ann", usd=0.8),))
    plain = wanted(app)
    for _ in range(8):  # 0.8 less eight times 0.1 is 1.1e-16
        call = replace(plain, call=replace(plain.call, payment_usd=0.1))
        app.governance.after(app.governance.before(call), OutcomeKind.OK, 10)
    assert budgets(app.governance, app.settings.now)[0].left == 0
    assert "$0 of $0.8" in refused(app, plain).why


def test_what_a_killed_process_reserved_is_settled_at_the_next_start(opened: Callable[[], App], app: App) -> None:
    policy(app, budgets=(Budget(client="ann", calls=3, tokens=1000),))
    app.governance.after(app.governance.before(wanted(app)), OutcomeKind.OK, 40)
    app.governance.before(wanted(app))  # never settled: as if the process had been killed
    app.close()
    reopened = opened()
    assert reopened.governance.settled_at_start == 1
    calls, tokens = budgets(reopened.governance, reopened.settings.now)
    assert (calls.used, calls.reserved, calls.left, tokens.used) == (2, 0, 1, 140)


def test_a_call_is_settled_before_its_report_is_there(app: App) -> None:
    calls = list[GovernedCall]()
    started = threading.Event()

    def counted(_outcome: Outcome, limit: int) -> int:
        started.wait(30)
        assert not calls[0].handle.done
        return limit // 2

    calls.append(app.governed.start(wanted(app), origin="agent", counted=counted))
    started.set()
    assert calls[0].handle.report().outcome.kind is OutcomeKind.OK
    (row,) = spending(app.store)
    assert (row.id, row.tokens) == (calls[0].permit.reserved.id, 50)


def test_what_is_not_used_is_given_back_and_days_begin_anew(app: App, clock: Clock) -> None:
    policy(app, budgets=(Budget(usd=0.002, tokens=100),), unpriced_usd=0.002)
    app.governance.after(
        app.governance.before(wanted(app)), OutcomeKind.TIMEOUT, 0
    )  # no tool answered: it costs nothing
    app.governance.after(app.governance.before(wanted(app, "mail::send")), OutcomeKind.OK, 30)  # unpriced
    refusal = refused(app, wanted(app))
    assert refusal.error == "budget_spent"
    assert "$0 of $0.002" in refusal.why
    assert "2026-03-02 00:00 UTC" in refusal.advice
    clock.pass_s(12 * 3600)
    assert app.governance.before(wanted(app)).tokens == 100
    clock.pass_s(-12 * 3600)  # it was ahead for a moment
    assert refused(app, wanted(app)).error == "budget_spent"


def test_a_command_admits_by_what_another_process_has_written(
    opened: Callable[[], App], app: App, tmp_path: Path, clock: Clock
) -> None:
    policy(app, budgets=(Budget(client="", calls=3),))
    app.close()

    def elsewhere(work: Callable[[App], object]) -> None:
        command.store._database._leave()
        with opened() as other:
            work(other)

    def approve_and_use(other: App) -> None:
        policy(other, approvals=ApprovalRules(writes=True))
        other.governance.decide(re.findall("[0-9a-f]{8}", refused(other, call).advice)[0], approve=True, origin="test")
        other.governance.before(call)

    with open_app(Store(tmp_path / "wayfare.duckdb", sharing=COMMAND), tmp_path, clock) as command:
        call = wanted(command)
        permit = command.governance.before(call)
        elsewhere(lambda other: other.governance.before(call))  # under way
        command.governance.before(call)
        (status,) = budgets(command.governance, clock)
        assert (status.used, status.reserved) == (1, 2)
        assert refused(command, call).error == "budget_spent"
        command.governance.after(permit, OutcomeKind.OK, 10)
        elsewhere(lambda other: policy(other, budgets=()))
        elsewhere(approve_and_use)
        assert refused(command, call).error == "approval_needed"


def test_results_are_cut_to_the_tokens_that_are_left(app: App) -> None:
    policy(app, budgets=(Budget(tokens=150),))
    first = app.governance.before(wanted(app))
    assert (first.tokens, app.governance.before(wanted(app)).tokens) == (100, 50)
    assert refused(app, wanted(app)).error == "budget_spent"
    app.governance.after(first, OutcomeKind.OK, 20)
    assert app.governance.read_on("ann", wanted(app).call.server_id, 60) == 60
    assert refused(app, wanted(app)).why.endswith("20 of 150 tokens are left.")


def test_budgets_go_by_catalog_and_server(app: App) -> None:
    import_text(app.catalog_editor, document(), "other")
    limits = (
        Budget(catalog="*", calls=2),
        Budget(catalog="world", server="raw", tokens=150),
        Budget(server="files", calls=1),
    )
    policy(app, budgets=limits)
    app.governance.after(app.governance.before(wanted(app)), OutcomeKind.OK, 90)
    source = wanted(app).call.server_id
    assert app.governance.read_on("ann", source._replace(catalog="other"), 1000) == 1000  # another server's tokens
    assert app.governance.read_on("ann", source, 55) == 55
    with pytest.raises(Refusal, match="a text of raw: 5 of 150 tokens"):
        app.governance.read_on("ann", source, 6, whole=True)
    app.governance.before(wanted(app, "files::read", catalog="other"))
    assert "0 of 1 calls" in refused(app, wanted(app, "files::read")).why  # a server's name in all catalogs together
    assert "0 of 2 calls" not in refused(app, wanted(app)).why
    amounts = {
        (status.catalog, status.server, status.unit): (status.used + status.reserved, status.left)
        for status in budgets(app.governance, app.settings.now)
    }
    assert amounts == {
        ("world", "", "calls"): (1, 1), ("other", "", "calls"): (1, 1), ("world", "raw", "tokens"): (145, 5), ("", "files", "calls"): (1, 0)
    }  # fmt: skip
    policy(app, budgets=(*limits, Budget(catalog="*", calls=9), Budget(catalog="*", calls=3, at_limit="ask")))
    metrics = Metrics(app.store, app.governance, tuple, app.settings.now).text().decode()
    lines = [line.partition("} ") for line in metrics.splitlines() if line.startswith("wayfare_budget_left{")]
    assert len({series for series, _, _ in lines}) == len(lines) == 6  # Prometheus takes no value twice
    assert 'wayfare_budget_left{at_limit="refuse",catalog="world",client="ann",server="",unit="calls"} 1.0' in metrics


def test_at_the_limit_cheaper_tools_go_on_or_a_person_decides(app: App) -> None:
    policy(app, budgets=(Budget(usd=0.0015, at_limit="cheaper"),))
    refusal = refused(app, replace(wanted(app), others=("raw::echo", "files::read")))
    assert "at most $0.0015 a call still fit: files::read." in refusal.advice
    app.governance.before(wanted(app, "files::read"))
    policy(app, budgets=(Budget(usd=0.001, at_limit="ask"),))
    assert "beyond the budget" in refused(app, wanted(app)).why
    (waiting,) = app.governance.waiting()
    app.governance.decide(waiting.change.id, approve=True, origin="test")
    app.governance.after(app.governance.before(wanted(app)), OutcomeKind.OK, 0)
    (status,) = budgets(app.governance, app.settings.now)
    assert (status.used + status.reserved, status.over, status.left) == (0.003, 0.002, 0)


def test_the_strictest_budget_that_is_short_decides_whatever_their_order(app: App) -> None:
    """Each is short of a call at 0.002 USD with 100 tokens; an approval passes only budgets that ask."""
    asks, cheaper = Budget(usd=0.001, at_limit="ask"), Budget(client="", usd=0.0015, at_limit="cheaper")
    refuses, no_calls = Budget(client="ann", tokens=49), Budget(calls=0, at_limit="cheaper")
    for limits, words in (
        ((asks, refuses), "49 of 49 tokens"),
        ((asks, cheaper), "$0.0015 of $0.0015"),
        ((asks, cheaper, refuses), "49 of 49 tokens"),
        ((asks, cheaper, no_calls), "0 of 0 calls"),  # no cheaper tool helps there
    ):
        for order in permutations(limits):
            policy(app, budgets=order)
            for request in (wanted(app), replace(wanted(app), approved_by="console")):
                refusal = refused(app, request)
                assert (refusal.error, words in refusal.why) == ("budget_spent", True), order
    assert not app.governance.waiting()


def test_what_was_approved_passes_no_budget_that_refuses_and_counts_in_all(opened: Callable[[], App], app: App) -> None:
    limits = (Budget(usd=0.001, at_limit="ask"), Budget(client="", usd=0.004), Budget(client="", tokens=160))
    policy(app, budgets=limits)
    for left, tokens in (("$0.001 of $0.001", 100), ("$0 of $0.001", 60)):
        assert f"{left} are left" in refused(app, wanted(app)).why
        (waiting,) = app.governance.waiting()
        app.governance.decide(waiting.change.id, approve=True, origin="test")
        permit = app.governance.before(wanted(app))
        assert permit.tokens == tokens
        app.governance.after(permit, OutcomeKind.OK, tokens)
    assert refused(app, replace(wanted(app), approved_by="console")).error == "budget_spent"
    rows = budgets(app.governance, app.settings.now)
    assert [(row.used, row.over, row.left) for row in rows] == [(0.004, 0.004, 0), (0.004, 0.004, 0), (160, 160, 0)]
    app.close()
    reopened = opened()
    assert budgets(reopened.governance, reopened.settings.now) == rows


def test_who_approved_a_call_within_a_budget_is_asked_again_when_it_goes_beyond(app: App) -> None:
    policy(app, approvals=ApprovalRules(writes=True), budgets=(Budget(client="", calls=1, at_limit="ask"),))
    assert "it may write. " in refused(app, wanted(app)).why
    assert "it may write. " in refused(app, wanted(app, n=2)).why
    for approval in app.governance.waiting():
        app.governance.decide(approval.change.id, approve=True, origin="test")
    app.governance.before(wanted(app))
    assert "it may write; it is beyond the budget of the day, 0 of 1 calls" in refused(app, wanted(app, n=2)).why
    (waiting,) = app.governance.waiting()
    app.governance.decide(waiting.change.id, approve=True, origin="test")
    app.governance.before(wanted(app, n=2))


def test_amounts_never_settle_above_what_was_reserved(app: App) -> None:
    permit = app.governance.before(wanted(app, tokens=60))
    app.governance.after(permit, OutcomeKind.OK, 10_000)
    (row,) = app.store.governance.spending("2026-03-01")
    assert Amount(row.usd, row.calls, row.tokens) == Amount(0.002, 1, 60)
