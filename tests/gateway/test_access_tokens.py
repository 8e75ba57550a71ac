"""JWT access tokens at `/mcp`: who signed them, for whom, how long, with which scope, and whose rights they give."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from mcp import Client

from core.app import App
from core.domain.settings import Oidc
from core.governance.policy import Scope
from tests.cases import each
from tests.gateway.conftest import ask, refused, status, talk, with_token
from tests.gateway.serving import served
from tests.identity_provider import Provider

AUDIENCE = "https://wayfare.example/mcp"
provider = Provider()


@pytest.fixture
def url(world: App) -> Iterator[str]:
    world.governance.clients.make("crab", Scope(servers=("raw",)), origin="test")
    world.governance.clients.make("ada", Scope(pages=True), origin="test")
    with provider.served() as issuer, served(world, "world") as base_url:
        world.settings = replace(world.settings, oidc=Oidc(issuer, audience=AUDIENCE))
        yield f"{base_url}/mcp"


def token(**claims: object) -> str:
    return provider.token(**{"aud": AUDIENCE, "client_id": "crab", "scope": "openid mcp", **claims})


def test_a_token_has_the_rights_of_its_client(world: App, url: str) -> None:
    async def script(client: Client) -> None:
        assert (await refused(client, "execute_tool", tool="files::read"))["error"] == "not_allowed"
        await ask(client, "execute_tool", tool="raw::echo")

    talk(with_token(url, token()), script)
    world.store.events.flush()
    assert set(world.store.activity.calls()["client"]) == {"crab"}
    assert len(provider.asked) == 1  # the keys are read once
    assert status(url, Authorization=f"Bearer {token(scope=['mcp'])}")[0] == 200
    world.governance.clients.revoke("crab", origin="test")
    assert status(url, Authorization=f"Bearer {token()}")[0] == 401


WRONG: dict[str, Callable[[], str]] = {
    "audience": lambda: token(aud="https://another.example"),
    "no audience": lambda: token(aud=None),
    "issuer": lambda: token(iss="https://evil.example"),
    "expired": lambda: token(exp=int(time.time()) - 60),
    "no end": lambda: token(exp=None),
    "client": lambda: token(client_id="stranger"),
    "person": lambda: token(client_id="ada"),
    "no client": lambda: token(client_id=None),
    "id token": lambda: token(typ="logout+jwt"),
    "key": lambda: Provider().token(iss=provider.issuer, aud=AUDIENCE, client_id="crab", scope="mcp"),
    "unsigned": lambda: token(alg="none", key=""),
    "shared key": lambda: token(alg="HS256", key="x" * 32),
    "no token": lambda: "a.b.c",
}


@each("wrong", list(WRONG))
def test_another_token_is_refused(url: str, wrong: str) -> None:
    code, headers = status(url, Authorization=f"Bearer {WRONG[wrong]()}")
    assert (code, 'error="invalid_token"' in headers["WWW-Authenticate"]) == (401, True)


def test_a_missing_scope_is_told_and_the_metadata_name_the_issuer(url: str) -> None:
    code, headers = status(url, Authorization=f"Bearer {token(scope='openid')}")
    assert (code, 'error="insufficient_scope"' in headers["WWW-Authenticate"]) == (403, True)
    where = headers["WWW-Authenticate"].partition('resource_metadata="')[2].partition('"')[0]
    with urllib.request.urlopen(where) as answer:
        metadata = json.load(answer)
    assert (metadata["resource"], metadata["authorization_servers"], metadata["scopes_supported"]) == (
        url,
        [provider.issuer],
        ["mcp"],
    )
