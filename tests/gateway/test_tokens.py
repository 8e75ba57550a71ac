"""Who gets in over `/mcp`: tokens and their scopes, other names, the metadata of RFC 9728, and the command line that makes them."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from mcp import Client, MCPError
from starlette.testclient import TestClient

from core.app import App
from core.cli import main
from core.governance.policy import Scope
from tests.benchmarks.measuring import free_port
from tests.cases import each
from tests.gateway.conftest import START_MESSAGE, Console, ask, refused, status, stdio, talk, with_token
from tests.gateway.serving import asgi
from tests.governance.conftest import policy
from tests.world import open_test_app


def test_a_token_opens_its_scope_and_nothing_after_it_is_revoked(world: App, url: str) -> None:
    scope = Scope(servers=("raw",))
    token = world.governance.clients.make("ann", scope, origin="test")

    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task="Read a file.", n=5)
        assert {candidate["tool"].partition("::")[0] for candidate in search["candidates"]} <= {"raw"}
        assert "of 4 tools" in search["left_out"]  # only tools of its server
        assert (await refused(client, "describe_tool", tools=["files::read"]))["error"] == "not_allowed"
        assert (await refused(client, "execute_tool", tool="files::read"))["error"] == "not_allowed"
        await ask(client, "execute_tool", tool="raw::echo")

    talk(with_token(url, token), script, name="whoever")

    async def pretend(client: Client) -> None:
        assert (await refused(client, "search_tools", task="x"))["error"] == "not_authorized"

    talk(url, pretend, name="ann")
    assert status(url, Authorization=f"Bearer {token}")[0] == 200
    world.governance.clients.revoke("ann", origin="test")
    code, headers = status(url, Authorization=f"Bearer {token}")
    assert code == 401
    assert 'error="invalid_token"' in headers["WWW-Authenticate"]
    world.store.events.flush()
    assert set(world.store.activity.calls()["client"]) == {"ann"}


def test_where_tokens_are_needed_nothing_is_said_without_one(world: App, url: str) -> None:
    policy(world, tokens="always")
    code, headers = status(url)
    assert code == 401
    where = url.removesuffix("/mcp")
    expected = f'Bearer resource_metadata="{where}/.well-known/oauth-protected-resource/mcp"'
    assert headers["WWW-Authenticate"] == expected
    token = world.governance.clients.make("ann", origin="test")
    assert status(url, Authorization=f"bearer {token}")[0] == 200
    for header, error in (("Bearer wrong", True), ("bearer ", True), ("Basic eDp5", False), (f"Basic {token}", False)):
        code, headers = status(url, Authorization=header)
        assert (code, 'error="invalid_token", error_description="The token' in headers["WWW-Authenticate"]) == (
            401,
            error,
        )
        assert headers["WWW-Authenticate"].startswith(expected)
    with urllib.request.urlopen(expected.split('"')[1], timeout=30) as answer:
        assert json.load(answer)["resource"] == url


def test_a_request_under_another_name_needs_a_token(world: App) -> None:
    token = world.governance.clients.make("ann", origin="test")
    endpoint = asgi(lambda: world, other_names=frozenset({"wayfare.example"}))
    with TestClient(endpoint, client=("10.0.0.9", 5)) as http:

        def answered(**headers: str) -> int:
            accept = {"accept": "application/json, text/event-stream"}
            return http.post("/mcp", json=START_MESSAGE, headers={**accept, **headers}).status_code

        host = {"host": "wayfare.example"}
        assert answered(**host) == 401
        assert answered(**host, authorization=f"Bearer {token}") == 200
        assert answered(**host, authorization=f"Basic {token}") == 401
        assert answered(host="127.0.0.1", authorization=f"Bearer {token}") == 403


@each(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "On 0.0.0.0 /mcp is open to other machines and needs tokens"),
        (("--sign-in",), "there is none: make one with `wayfare clients add NAME --role admin`"),
    ],
)
def test_a_console_that_nobody_could_use_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    db, port = tmp_path / f"{len(options)}.duckdb", str(free_port())
    open_test_app(db).close()
    with pytest.raises(SystemExit) as ended:
        main(["up", *options, "--port", port, "--db", str(db)])
    out, error = capsys.readouterr()
    assert (ended.value.code, out, error.count("\n"), words in error) == (2, "", 1, True)
    with socket.create_server(("127.0.0.1", int(port))):
        pass  # it left its port


def test_the_command_line_makes_and_revokes_clients_of_a_running_console(
    console: Console, encoder_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAYFARE_DB", str(console.db))

    def wayfare(*words: str) -> str:
        main(list(words))
        return capsys.readouterr().out

    token = json.loads(wayfare("clients", "add", "cli-made", "--server", "unit*", "--json"))["token"]
    assert token not in wayfare("clients")
    parameters = stdio(console.db, encoder_cache)
    parameters.env["WAYFARE_TOKEN"] = token

    async def script(client: Client) -> None:
        refusal = await refused(client, "execute_tool", tool="gremlin::hang")
        assert "'gremlin' is outside its scope" in refusal["why"]
        wayfare("clients", "revoke", "cli-made")
        refusal = await refused(client, "execute_tool", tool="gremlin::hang")
        assert "unknown or was revoked" in refusal["why"]  # not that it may have been called

    async def without(client: Client) -> None:
        with pytest.raises(MCPError, match="The request has no token"):
            await client.list_tools()
        assert "has no token" in (await refused(client, "convert_units"))["why"]
        assert "may use servers unit" in wayfare("clients", "add", "anonymous", "--server", "unit*")
        assert "convert_units" in [tool.name for tool in (await client.list_tools()).tools]

    talk(stdio(console.db, encoder_cache, "--mirror", "unit*"), without)  # it joins the console
    wayfare("clients", "revoke", "anonymous")
    assert status(console.mcp, Authorization=f"Bearer {token}")[0] == 200
    talk(parameters, script)
    assert status(console.mcp, Authorization=f"Bearer {token}")[0] == 401
    assert "are unchanged" in wayfare("audit")
