"""Who is let in: scopes, lists, rates, tokens, servers that are left alone, and the log of it all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.app import App
from core.domain.catalog import Tool
from core.domain.errors import Refusal, UnknownNameError, WayfareError
from core.domain.limits import BreakerRules
from core.domain.outcome import OutcomeKind
from core.governance.governance import GovernanceService
from core.governance.policy import ApprovalRules, Policy, Scope
from core.governance.status import Metrics, servers
from tests.governance.conftest import policy, refused, wanted
from tests.importing import import_text
from tests.world import document


def test_scopes_and_lists(app: App) -> None:
    app.governance.clients.make("bob", Scope(servers=("files",), read_only=True), origin="test")
    assert "outside its scope" in refused(app, wanted(app, client="bob")).why
    assert "only use tools that are declared read-only" in refused(app, wanted(app, "files::read", client="bob")).why
    with pytest.raises(Refusal, match="nothing may be used without"):
        app.governance.admission.enter("bob", "world", known=False)
    app.governance.clients.revoke("bob", origin="test")
    app.governance.clients.make("bob", Scope(pages=True), origin="test")
    with pytest.raises(Refusal, match="belongs to a client with a token"):
        app.governance.admission.enter("bob", "world", known=False)
    policy(app, deny=("raw::*",))
    assert "denies" in refused(app, wanted(app)).why
    policy(app, deny=(), allow=("files::*",))
    assert "not on the list" in refused(app, wanted(app)).why


def test_a_lost_server_is_left_alone_then_tried_once(app: App) -> None:
    clock_s = [0.0]
    governance = GovernanceService(
        app.store, app.catalogs, now=app.settings.now, clock=lambda: clock_s[0], redact=str, announce=print,
        lint_errors=app.lint_reports.errors,
    )  # fmt: skip
    governance.set_policy(Policy(breaker=BreakerRules(failures=2, open_s=10)), origin="test")
    older = governance.before(wanted(app))
    for _ in range(2):
        governance.after(governance.before(wanted(app)), OutcomeKind.CRASH, 0)
    with pytest.raises(Refusal, match="is paused") as error:
        governance.before(wanted(app))
    assert "12:00:10 UTC" in error.value.advice
    governance.before(wanted(app, "files::read"))
    assert [(row.server, row.state, row.wait_s) for row in servers(governance)] == [("raw", "open", 10.0)]
    clock_s[0] = 11.0
    trying = governance.before(wanted(app))
    with pytest.raises(Refusal, match="when the current try has ended"):
        governance.before(wanted(app))
    governance.after(older, OutcomeKind.CANCELLED, 0)  # begun before the losses: it says nothing of the trying call
    with pytest.raises(Refusal, match="when the current try has ended"):
        governance.before(wanted(app))
    governance.after(trying, OutcomeKind.OK, 0)
    assert not servers(governance)


def test_a_server_of_the_same_name_in_another_catalog_is_not_left_alone(app: App) -> None:
    import_text(app.catalog_editor, document(), "other")
    policy(app, breaker=BreakerRules(failures=1, open_s=10))
    here, there = wanted(app), wanted(app, catalog="other")
    app.governance.after(app.governance.before(here), OutcomeKind.CRASH, 0)
    app.governance.after(app.governance.before(there), OutcomeKind.OK, 0)
    assert "to raw of catalog world were lost" in refused(app, here).why
    assert app.governance.outlook(here).refusal is not None
    assert app.governance.outlook(there).refusal is None
    app.governance.request("ann", "other", Tool("raw", "prompts/get"))
    with pytest.raises(Refusal, match="is paused"):
        app.governance.request("ann", "world", Tool("raw", "prompts/get"))
    metrics = Metrics(app.store, app.governance, tuple, app.settings.now).text().decode()
    circuits = [line for line in metrics.splitlines() if line.startswith("wayfare_server_circuit{")]
    assert circuits == ['wayfare_server_circuit{catalog="world",server="raw",state="open"} 1.0']


def test_a_tool_that_its_catalog_has_just_lost_is_said_to_be_gone(app: App) -> None:
    lost = wanted(app)
    import_text(app.catalog_editor, document(tools=[{"name": "other"}]), "world")
    with pytest.raises(UnknownNameError, match="no tool 'echo'"):
        app.governance.before(lost)


def test_tokens_are_nowhere_in_the_store_and_revoked_at_once(
    app: App, opened: Callable[[], App], tmp_path: Path
) -> None:
    register = app.governance.clients
    token = register.make("ann", origin="test")
    operators = register.make("ada", Scope(pages=True), origin="test")
    assert (register.of_token(token).name, register.of_token(token, pages=True)) == ("ann", None)
    assert (register.of_token(operators), register.of_token(operators, pages=True).name) == (None, "ada")
    app.governance.after(app.governance.before(wanted(app, secret=token)), OutcomeKind.OK, 0)
    register.revoke("ann", origin="test")
    assert register.of_token(token) is None
    with pytest.raises(WayfareError, match="no client"):
        register.revoke("ann", origin="test")
    second = register.make("ann", origin="test")
    app.close()
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert token.encode() not in files
    assert second.encode() not in files
    assert opened().governance.clients.of_token(second).name == "ann"


def test_every_change_is_sealed(app: App) -> None:
    app.governance.clients.make("ann", origin="test")
    policy(app, approvals=ApprovalRules(writes=True))
    refused(app, wanted(app))
    app.governance.decide(app.governance.waiting()[0].change.id, approve=False, origin="test")
    lines: list[str] = []
    assert not app.store.events.audit(lines.append).problem
    entries = [(json.loads(line)[0], json.loads(line)[2].get("action")) for line in lines]
    assert ("RefusedRequest", None) in entries
    assert [entry for entry in entries if entry[0] != "RefusedRequest"][-4:] == [
        ("ClientChange", "made"),
        ("PolicyChange", None),
        ("ApprovalChange", "waiting"),
        ("ApprovalChange", "denied"),
    ]


def test_a_rate_says_when_it_goes_on(app: App) -> None:
    policy(app, per_minute=6.0)
    for _ in range(6):
        app.governance.admission.enter("ann", "world", known=False)
    with pytest.raises(Refusal, match=r"Go on in .*, at 12:00:\d\d UTC"):
        app.governance.admission.enter("ann", "world", known=False)
    with pytest.raises(Refusal, match="anonymous"):
        app.governance.admission.enter("bob", "world", known=False)  # another name is no other client
    app.governance.admission.enter("bob", "world", known=True)
