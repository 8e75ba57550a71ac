"""Servers to which each person and each client has their own values and sign-in: whose a call uses, and that nobody gets another's."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import anyio
import mcp_types
import pytest
from mcp import Client
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.app import App
from core.domain.catalog import Connection, ServerId
from core.domain.errors import WayfareError
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.domain.people import NotAllowedError, Person, act_for, ask_pages
from core.gateway.base import EndpointOptions, PartRequest, Services
from core.gateway.http_app import callback_route
from core.gateway.mirrored_parts import MirroredParts
from core.governance.governed_calls import ServerRequests
from core.governance.policy import Scope
from core.servers.secrets import SecretVault
from dashboard.session import person_at_page
from tests.authorization_server import guarded_server
from tests.gateway.conftest import ask, refused, talk, with_token
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW

T = TypeVar("T")
KEY = "${secret:raw/KEY}"
VALUES = {"ann": "the-secret-of-ann", "bob": "the-longer-secret-of-bob"}
SHARED_VALUE = "the-secret-that-is-shared-by-all"
CONSOLE = "http://127.0.0.1:8501"


def test_no_variable_of_the_console_stands_for_a_secret_of_each_person() -> None:
    vault = SecretVault({"API_TOKEN": "of-the-console", "REGION": "eu"}, per_person=lambda _: True)
    web = Connection("http", url="https://a.example/${env:REGION}", headers={"Key": "${env:API_TOKEN}"})
    ann = vault.holder(ServerId("mine", "web"), "ann")
    assert vault.missing(ann, web) == ("${env:API_TOKEN}",)
    vault.put(ann, "API_TOKEN", "of-ann")
    assert vault.resolve(ann, web).headers == {"Key": "of-ann"}
    assert vault.resolve(vault.holder(ServerId("mine", "web"), ""), web).headers == {"Key": "of-the-console"}


def as_person(name: str, work: Callable[[], T], *roles: str) -> T:
    def for_them() -> T:
        act_for(Person(name, roles or ("operator",)))  # pyright: ignore[reportArgumentType]
        return work()

    return Context().run(for_them)


def test_two_agents_at_the_same_time_use_their_own_value_and_a_third_is_told_where_to_give_it(
    world: App, url: str, path: Path
) -> None:
    connection = {"command": "${python}", "args": ["-S", RAW], "env": {"KEY": KEY, "PLACE": "${env:PLACE_OF_IT}"}}
    server = {"name": "raw", "tools": [{"name": "variable"}], "connection": connection}
    import_text(world.catalog_editor, json.dumps({"servers": [server]}), "mine")
    with pytest.raises(WayfareError, match="All people share the values"):
        world.values.put("mine", "raw", "KEY", "x", "ann")
    world.values.put("mine", "raw", "KEY", SHARED_VALUE)
    world.values.put("mine", "raw", "PLACE_OF_IT", "home")
    policy(world, per_person=("ra*",))
    for name, value in VALUES.items():
        world.values.put("mine", "raw", "KEY", value, name)
    with pytest.raises(WayfareError, match="the same for all"):
        world.values.put("mine", "raw", "PLACE_OF_IT", "x", "ann")
    tokens = {name: world.governance.clients.make(name, origin="test") for name in (*VALUES, "eve")}
    mine = f"{url}?catalog=mine"

    def lengths(name: str) -> set[str]:
        async def script(client: Client) -> set[str]:
            calls = [
                await ask(client, "execute_tool", tool="raw::variable", arguments={"name": "KEY"}) for _ in range(5)
            ]
            return {text for call in calls for text in re.findall(r"\d+ characters", str(call))}

        return talk(with_token(mine, tokens[name]), script)

    with ThreadPoolExecutor(2) as both:
        by_client = dict(zip(VALUES, both.map(lengths, VALUES), strict=True))
    assert by_client == {name: {f"{len(value)} characters"} for name, value in VALUES.items()}
    assert {(state.person, state.calls) for state in world.pool.states()} == {("ann", 5), ("bob", 5)}

    async def without(client: Client) -> str:
        outcome = await refused(client, "execute_tool", tool="raw::variable", arguments={"name": "KEY"})
        return str(outcome)

    how = "`wayfare secrets set raw KEY --catalog mine --for {}`"
    refusal = talk(with_token(mine, tokens["eve"]), without)
    assert f"Server raw needs a value for {KEY}." in refusal
    assert "eve on the Catalog page" in refusal
    assert how.format("eve") in refusal
    nobody = talk(mine, without, name="ann")
    assert "a request without a token is none" in nobody
    assert how.format("anonymous") in nobody
    assert len(world.pool.states()) == 2  # nothing was started for them

    own_values = {value.name: (value.state, value.person) for value in world.values.list("mine", "ann")}
    assert own_values["raw/KEY"] == ("kept", "ann")
    assert world.vault.persons(ServerId("mine", "raw")) == ("ann", "bob")
    world.governance.clients.revoke("ann", origin="test")
    assert world.vault.persons(ServerId("mine", "raw")) == ("bob",)
    while any(state.person == "ann" for state in world.pool.states()):  # its process ends, too
        pass
    world.servers.remove("mine", "raw")
    assert not [key for key in world.vault.names() if key[0].server == "raw"]
    world.close()
    for file in path.parent.rglob("*"):
        assert not file.is_file() or not any(value.encode() in file.read_bytes() for value in VALUES.values())


def test_a_client_may_subscribe_to_its_own_resources_after_another_has_listed_others(
    world: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = "bob"

    def list_of(_: object, __: ServerId, method: str, **___: object) -> list[mcp_types.Resource]:
        return [mcp_types.Resource(uri=f"repo://{account}", name="x")] if method == "resources/list" else []

    monkeypatch.setattr(ServerRequests, "list", list_of)
    monkeypatch.setattr(ServerRequests, "subscribe", lambda *_, **__: None)
    parts, options = MirroredParts(Services(world)), EndpointOptions("world", mirror=("raw",))
    anyio.run(parts.answer, PartRequest("resources/list", None, options=options, client="bob"))
    account = "ann"
    subscribed = anyio.run(parts.subscribed, PartRequest("", None, options=options, client="ann"), "repo://ann")
    assert subscribed == ServerId("world", "raw")


def test_two_people_sign_in_and_each_call_has_the_token_of_its_person(app: App) -> None:
    with guarded_server() as guarded:
        server = {"type": "http", "url": guarded.url}
        import_text(app.catalog_editor, json.dumps({"mcpServers": {"tickets": server}}), "mine")

        def sign_in(begin: Callable[[], str], by: str = "") -> None:
            answer = dict(parse_qsl(urlsplit(guarded.visit(begin())).query))
            if by:
                assert not app.sign_ins.answered(answer, "eve")  # who was led to the page of another's sign-in
                assert app.sign_ins.wants(answer["state"]) == by
            assert app.sign_ins.answered(answer, by)
            assert app.sign_ins.wait("mine", "tickets", 20, by).state == "signed in"

        sign_in(lambda: app.sign_ins.begin("mine", "tickets", CONSOLE))  # of Wayfare itself, which lists the tools
        shared = set(guarded.tokens)
        policy(app, per_person=("tickets",))

        def call() -> Outcome:
            return app.calls.run(ToolCall("tickets", "count", catalog="mine")).outcome

        seen = len(guarded.seen)
        out = as_person("ann", call)
        assert out.kind is OutcomeKind.NOT_TRIED
        assert out.error == (
            "Server tickets needs a sign-in. Each person signs in: ann on the Catalog page, or the operator for ann with "
            "`wayfare signin tickets --catalog mine --for ann`."
        )
        assert len(guarded.seen) == seen  # nothing was sent
        with pytest.raises(NotAllowedError):
            as_person("vic", lambda: app.sign_ins.begin_own("mine", "tickets", CONSOLE), "viewer")
        tokens = dict[str, str]()
        for name in ("ann", "bob"):
            previous = set(guarded.tokens)
            sign_in(partial(as_person, name, partial(app.sign_ins.begin_own, "mine", "tickets", CONSOLE)), name)
            (tokens[name],) = set(guarded.tokens) - previous

        def sent(name: str) -> list[OutcomeKind]:
            return [as_person(name, call).kind for _ in range(5)]

        seen = len(guarded.seen)
        with ThreadPoolExecutor(2) as both:
            assert [*both.map(sent, tokens)] == [[OutcomeKind.OK] * 5] * 2
        used = [header.removeprefix("Bearer ") for header in guarded.seen[seen:]]
        assert [used.count(token) >= 5 for token in tokens.values()] == [True, True]
        assert not shared & set(used)
        here, seen = threading.get_ident(), len(guarded.seen)
        ask_pages(lambda: Person("ann") if threading.get_ident() == here else None)  # the call runs in another thread
        try:
            assert call().kind is OutcomeKind.OK
        finally:
            ask_pages(person_at_page)
        assert set(guarded.seen[seen:]) == {f"Bearer {tokens['ann']}"}
        as_person("ann", lambda: app.sign_ins.sign_out_own("mine", "tickets"))
        assert as_person("ann", call).kind is OutcomeKind.NOT_TRIED
        assert as_person("bob", call).kind is OutcomeKind.OK


def test_the_answer_to_a_sign_in_of_ones_own_comes_with_the_browser_of_that_person(app: App) -> None:
    people, clients = app.governance.sign_ins, app.governance.clients
    cookies = {}
    for name in ("ann", "eve"):
        token = clients.make(name, Scope(pages=True), origin="test")
        cookies[name] = {"Cookie": f"{people.cookie}={people.begin(token, '').cookie}"}
    with guarded_server() as guarded:
        server = {"type": "http", "url": guarded.url}
        import_text(app.catalog_editor, json.dumps({"mcpServers": {"tickets": server}}), "mine")
        policy(app, per_person=("tickets",))
        address = as_person("ann", lambda: app.sign_ins.begin_own("mine", "tickets", CONSOLE))
        back = urlsplit(guarded.visit(address))
        browser = TestClient(Starlette(routes=[callback_route(lambda: app)]), follow_redirects=False)

        first = browser.get(f"{back.path}?{back.query}")  # a strict cookie does not come from another site
        assert (first.status_code, "wayfare_again=1" in first.text) == (200, True)
        retry = f"{back.path}?{back.query}&wayfare_again=1"
        assert browser.get(retry).status_code == 400
        assert browser.get(retry, headers=cookies["eve"]).status_code == 400
        assert browser.get(retry, headers=cookies["ann"]).status_code == 303
        assert app.sign_ins.wait("mine", "tickets", 20, "ann").state == "signed in"
