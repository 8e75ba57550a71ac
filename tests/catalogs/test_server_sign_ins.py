"""Servers that ask for a sign-in: an operator signs in, calls renew the token, and nobody else gets it."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from core.app import App
from core.calls.health import HealthChecks
from core.catalogs.server_sign_ins import ServerSignIn, ServerSignIns
from core.domain.catalog import Imported, ServerId
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.servers.caller import McpCaller
from core.servers.pool import SessionPool
from core.servers.secrets import GRANT, client_secret_name
from tests.authorization_server import Guarded, guarded_server
from tests.importing import import_text
from tests.world import open_test_app

CONSOLE = "http://127.0.0.1:8501"
HOW = "The operator signs in on the Catalog page, or with `wayfare signin tickets --catalog mine`."


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """The server `tickets` and its authorization server."""
    with guarded_server() as servers:
        yield servers


@pytest.fixture
def opened(guarded: Guarded, path: Path) -> Iterator[App]:
    """An app with the catalog `mine`, which knows the server's address and no tool."""
    with open_test_app(path) as app:
        import_text(app.catalog_editor, configuration(guarded.url), "mine")
        yield app


def configuration(url: str, **fields: Any) -> str:
    """A client configuration with one server."""
    return json.dumps({"mcpServers": {"tickets": {"type": "http", "url": url, **fields}}})


def sign_in(
    app: App, guarded: Guarded, *, visit: Callable[[str], str] | None = None, client_id: str = ""
) -> ServerSignIn:
    """The operator goes through the browser."""
    address = app.sign_ins.begin("mine", "tickets", CONSOLE, client_id=client_id)
    url = urlsplit((visit or guarded.visit)(address))
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{CONSOLE}/oauth/callback"
    answer = dict(parse_qsl(url.query))
    assert not app.sign_ins.answered({**answer, "state": "guessed"})
    assert app.sign_ins.answered(answer)
    assert not app.sign_ins.answered(answer)
    return app.sign_ins.wait("mine", "tickets", 20)


def call(app: App) -> Outcome:
    """One real call."""
    return app.calls.run(ToolCall("tickets", "count", {"step": 2}, catalog="mine")).outcome


def test_an_operator_signs_in_once_and_the_token_is_renewed_and_rotated(
    opened: App, guarded: Guarded, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert opened.sign_ins.of("mine", "tickets").state == "unknown"
    report = opened.catalog_editor.discover(opened.catalog_editor.read(configuration(guarded.url), "a"), "mine", "a")
    assert report.discoveries[0].error == f"Server tickets needs a sign-in. {HOW}"
    assert (opened.sign_ins.of("mine", "tickets").state, report.servers) == ("needed", 1)
    assert guarded.asked.total() == 0  # only a person begins the flow

    status = sign_in(opened, guarded)
    assert (status.state, status.renews, status.until is not None) == ("signed in", True, True)
    assert [tool.name for tool in opened.catalogs.catalog("mine").tools] == ["count"]
    assert call(opened).content[0].text == "2 tickets"

    guarded.end_tokens()
    outcomes: list[Outcome] = []
    pool, connection = SessionPool(opened.vault), opened.catalogs.catalog("mine").servers[0].connection
    request = ToolCall("tickets", "count", catalog="mine")
    works = [lambda: call(opened), lambda: McpCaller(pool).call(request, None, connection)] * 3
    threads = [threading.Thread(target=lambda work=work: outcomes.append(work())) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.OK] * 6
    assert (guarded.asked["refresh_token"], guarded.used) == (1, [])

    guarded.lifetime_s = 1  # it ends with the next renewal, and is renewed before the request
    guarded.end_tokens()
    assert call(opened).kind is OutcomeKind.OK
    grant = json.loads(opened.vault.grant(key := ServerId("mine", "tickets")) or "")
    request_count = len(guarded.seen)
    opened.vault.put(key, GRANT, json.dumps({**grant, "expires_at": time.time()}))
    assert call(opened).kind is OutcomeKind.OK
    assert f"Bearer {grant['token']['access_token']}" not in guarded.seen[request_count:]
    assert guarded.used == []
    guarded.lifetime_s = 3600

    guarded.down = True  # the authorization server is away: that says nothing about the tool
    guarded.end_tokens()
    away = call(opened)
    assert (away.kind, "gave no new token: HTTP 503. The next call tries again." in away.error) == (
        OutcomeKind.NOT_TRIED,
        True,
    )
    guarded.down = False

    opened.close()
    secrets = [text for text in (*guarded.tokens, *guarded.refresh_tokens, *guarded.seen) if text]
    assert secrets
    for file in path.parent.rglob("*"):
        assert not any(text.encode() in file.read_bytes() for text in secrets if file.is_file())
    assert not any(text in caplog.text for text in secrets)
    with open_test_app(path) as reopened:
        assert (reopened.sign_ins.of("mine", "tickets").state, call(reopened).kind) == ("signed in", OutcomeKind.OK)
        reopened.sign_ins.sign_out("mine", "tickets")
        assert (guarded.asked["revoke"], guarded.refresh_tokens) == (1, {})
        out = call(reopened)
        assert (out.kind, out.error) == (OutcomeKind.NOT_TRIED, f"Server tickets needs a sign-in. {HOW}")
        with pytest.raises(UnknownNameError):
            reopened.sign_ins.sign_out("mine", "tickets")
        calls = reopened.catalogs.statistics("mine").servers.calls
        assert calls.tolist() == [7.0]  # those that reached the server


def test_what_is_refused_says_why_and_changes_no_statistics(opened: App, guarded: Guarded, caplog: Any) -> None:
    impatient = ServerSignIns(opened.catalogs, opened.vault, opened.pool.states, opened.servers.discover, limit_s=0.1)
    late = guarded.visit(impatient.begin("mine", "tickets", CONSOLE))
    assert impatient.wait("mine", "tickets", 20).about == "Server tickets: nobody signed in in time"
    assert impatient.answered(dict(parse_qsl(urlsplit(late).query))) is False
    earlier = guarded.visit(opened.sign_ins.begin("mine", "tickets", CONSOLE))
    guarded.person = False
    said_no = sign_in(opened, guarded)
    assert (said_no.state, said_no.about) == (
        "refused",
        "Server tickets: the sign-in was refused (access_denied: The person said no.)",
    )
    guarded.person = True
    sign_in(opened, guarded)
    assert opened.sign_ins.answered(dict(parse_qsl(urlsplit(earlier).query))) is False  # it was begun again since
    guarded.refuses_renewal = True
    guarded.end_tokens()
    renewals = guarded.asked["refresh_token"]
    reason = "the authorization server refused to renew the token: invalid_grant: It was used already."
    for _ in range(2):
        outcome = call(opened)
        assert (outcome.kind, outcome.error) == (
            OutcomeKind.NOT_TRIED,
            f"Server tickets needs a sign-in again ({reason}). {HOW}",
        )
    assert (guarded.asked["refresh_token"], caplog.text.count(reason)) == (renewals + 1, 1)
    assert (opened.sign_ins.of("mine", "tickets").state, opened.sign_ins.of("mine", "tickets").about) == (
        "needed",
        reason,
    )
    guarded.refuses_renewal = False
    registered = guarded.asked["register"]
    assert sign_in(opened, guarded).state == "signed in"
    assert (call(opened).kind, guarded.asked["register"]) == (OutcomeKind.OK, registered)  # the client is known already
    guarded.lifetime_s = 0  # the server takes no token that its authorization server gives
    guarded.end_tokens()
    assert "needs a sign-in again (the server refuses a new token)" in call(opened).error
    assert "it refuses the token that its authorization server gave" in sign_in(opened, guarded).about
    assert opened.catalogs.statistics("mine").servers.calls.tolist() == [1.0]


def test_a_token_goes_to_its_own_server_alone(opened: App, guarded: Guarded) -> None:
    sign_in(opened, guarded)
    assert call(opened).kind is OutcomeKind.OK
    guarded.moved = True
    assert (call(opened).kind is OutcomeKind.OK, guarded.stolen) == (False, [])
    with guarded_server() as other_guarded:
        catalog = opened.catalogs.catalog("mine")
        connection = catalog.servers[0].connection
        assert connection is not None
        opened.catalogs.save(
            replace(
                catalog, servers=(replace(catalog.servers[0], connection=replace(connection, url=other_guarded.url)),)
            ),
            "x",
        )
        assert (call(opened).kind, opened.sign_ins.of("mine", "tickets").state) == (OutcomeKind.NOT_TRIED, "needed")
        assert set(other_guarded.seen) == {""}


def test_a_server_that_was_down_and_asks_for_a_sign_in_is_not_down(opened: App, guarded: Guarded) -> None:
    sign_in(opened, guarded)
    catalog = opened.catalogs.catalog("mine")
    server = catalog.servers[0]
    assert server.connection is not None
    unreachable = replace(server, connection=replace(server.connection, url="http://127.0.0.1:9/mcp"))
    opened.catalogs.save(replace(catalog, servers=(unreachable,)), "x")
    while not opened.catalogs.down("mine"):
        assert call(opened).kind is OutcomeKind.NOT_CONNECTED
    opened.sign_ins.sign_out("mine", "tickets")
    opened.catalogs.save(catalog, "x")
    hour = itertools.count()
    checks = HealthChecks(opened.catalogs, opened.pool.get, lambda: datetime.now(UTC) + timedelta(hours=next(hour)))
    assert (checks.check_due(), checks.check_due()) == ((), (ServerId("mine", "tickets"),))
    assert opened.catalogs.down("mine") == {}


HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "issuer mismatch": ({"issuer": "https://login.example"}, {}),
    "http://login.example/authorize is not https": ({"authorization_endpoint": "http://login.example/authorize"}, {}),
    "no authorization server was found": ({}, {"authorization_servers": ["javascript:alert(1)"]}),
    "the address http://login.example/.well-known/oauth-authorization-server is not https": (
        {}, {"authorization_servers": ["http://login.example"]},
    ),
    "has more than 256 kB": ({"padding": "x" * 300_000}, {}),
    "does not match expected": ({}, {"resource": "https://other.example/mcp"}),
    "does not support PKCE": ({"code_challenge_methods_supported": ["plain"]}, {}),
    "give the client's id with --client-id": ({"registration_endpoint": None}, {}),
}  # fmt: skip


def test_a_hostile_authorization_server_gets_nothing(opened: App, guarded: Guarded) -> None:
    for reason, (guarded.metadata, guarded.protected) in HOSTILE.items():
        with pytest.raises(WayfareError, match=re.escape(reason)):
            opened.sign_ins.begin("mine", "tickets", CONSOLE)
        assert opened.sign_ins.of("mine", "tickets").state == "refused"
    guarded.protected, guarded.metadata = {}, {"token_endpoint": "http://login.example/token"}
    assert "http://login.example/token is not https" in sign_in(opened, guarded).about
    guarded.metadata = {}
    other_issuer = sign_in(
        opened, guarded, visit=lambda address: guarded.visit(address).replace("iss=http", "iss=https")
    )
    assert "iss mismatch" in other_issuer.about
    assert (guarded.asked["authorization_code"], guarded.tokens) == (0, {})


def test_a_slash_and_a_bad_optional_member_hide_no_authorization_server(opened: App, guarded: Guarded) -> None:
    bad = {"op_tos_uri": "", "scopes_supported": 7, "response_types_supported": None, "ui_locales_supported": "en"}
    slash = f"{guarded.issuer}/"
    for issuer, advertised, reply_issuer in (("", slash, ""), (slash, guarded.issuer, slash), (slash, slash, "")):
        guarded.metadata = {**bad, **({"issuer": issuer} if issuer else {})}
        guarded.protected = {"authorization_servers": [advertised], "jwks_uri": "none", "scopes_supported": "all"}

        def visit(address: str, iss: str = quote(reply_issuer or guarded.issuer, safe="")) -> str:
            return guarded.visit(address).replace(quote(guarded.issuer, safe=""), iss)

        assert sign_in(opened, guarded, visit=visit).state == "signed in", (issuer, advertised, reply_issuer)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_that_was_registered_by_hand_proves_its_secret(
    opened: App, guarded: Guarded, path: Path, method: str
) -> None:
    secret, key = "the-secret-of-the-client-9f2c", ServerId("mine", "tickets")
    guarded.register("by-hand", f"{CONSOLE}/oauth/callback", secret, method)
    for wrong_secret in ("", "another-secret-4b7e"):
        if wrong_secret:
            opened.vault.put(key, client_secret_name("by-hand"), wrong_secret)
        assert "invalid_client" in sign_in(opened, guarded, client_id="by-hand").about
        assert opened.vault.client_secret(key, "by-hand") == ""
    opened.vault.put(key, client_secret_name("by-hand"), secret)
    assert sign_in(opened, guarded, client_id="by-hand").state == "signed in"
    assert call(opened).kind is OutcomeKind.OK
    guarded.end_tokens()
    assert (call(opened).kind, guarded.asked["refresh_token"]) == (OutcomeKind.OK, 1)
    opened.close()
    assert not any(secret.encode() in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def test_a_call_that_wants_another_scope_asks_for_a_wider_sign_in(opened: App, guarded: Guarded) -> None:
    guarded.protected = {"scopes_supported": ["tickets:read"]}
    sign_in(opened, guarded)
    assert set(guarded.scopes.values()) == {"tickets:read"}
    guarded.calls_want = "tickets:write"
    lack = "its token lacks the scope tickets:write"
    for _ in range(2):
        short = call(opened)
        assert (short.kind, short.error) == (
            OutcomeKind.NOT_TRIED,
            f"Server tickets needs a sign-in again ({lack}). {HOW}",
        )
    status = opened.sign_ins.of("mine", "tickets")
    assert (status.state, status.about, guarded.asked["refresh_token"]) == ("needed", lack, 0)
    assert sign_in(opened, guarded).state == "signed in"
    assert call(opened).kind is OutcomeKind.OK
    assert [*guarded.scopes.values()][-1] == "tickets:read tickets:write"
    assert opened.catalogs.statistics("mine").servers.calls.tolist() == [1.0]


def test_a_401_without_a_challenge_names_the_header(opened: App, guarded: Guarded) -> None:
    guarded.challenge = ""
    guarded.tokens["a-long-token"] = float("inf")
    sentence = "Server tickets answered 401: the header Authorization is missing. The operator enters it on the Catalog page, or with"
    report = opened.catalog_editor.discover(opened.catalog_editor.read(configuration(guarded.url), "a"), "mine", "a")
    assert report.discoveries[0].error == f"{sentence} `wayfare secrets set tickets Authorization --catalog mine`."
    opened.values.put("mine", "tickets", "Authorization", "a-long-token")
    headers = opened.catalogs.catalog("mine").servers[0].connection
    assert headers is not None
    assert headers.headers == {"Authorization": "${secret:tickets/Authorization}"}
    rediscovery = opened.catalog_editor.discover(
        Imported("catalog", opened.catalogs.catalog("mine").servers), "mine", "a"
    )
    assert (rediscovery.discoveries[0].error, call(opened).kind) == ("", OutcomeKind.OK)
    opened.values.put("mine", "tickets", "Authorization", "a-wrong-token")
    wrong = call(opened)
    assert (wrong.kind, wrong.error) == (
        OutcomeKind.NOT_TRIED,
        "Server tickets refuses the value of the header Authorization. The operator enters it on the Catalog page, or with "
        "`wayfare secrets set tickets Authorization --catalog mine`.",
    )
    with pytest.raises(CatalogError):
        opened.sign_ins.begin("mine", "tickets", CONSOLE)
    assert opened.catalogs.statistics("mine").servers.calls.tolist() == [1.0]
