"""A running console with the sample, a client that keeps its answers, and apps of this process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from core.app import App
from core.gateway.base import EndpointOptions, Services
from core.gateway.changes import Changes
from core.gateway.endpoint import Endpoint
from core.gateway.entrance import Uses
from core.gateway.server import mcp_server
from core.store import Store
from tests.forking import FORKS
from tests.gateway.serving import served as served_over_http
from tests.world import open_test_app, open_world

ROOT = Path(__file__).parents[2]
Script = Callable[[Client], Awaitable[Any]]


def program() -> list[str]:
    """The words that begin a command line of a `wayfare` process."""
    return [FORKS.python, "-m", "core.cli"]


@dataclass(frozen=True)
class Console:
    """A console's address and store."""

    url: str
    db: Path

    @property
    def mcp(self) -> str:
        """The endpoint's address."""
        return f"{self.url}/mcp"


@pytest.fixture(scope="session")
def console(warm_store: Path, encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """`wayfare up` over the sample, as a process."""
    db = tmp_path_factory.mktemp("console") / "wayfare.duckdb"
    shutil.copy(warm_store, db)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {**os.environ, "WAYFARE_CACHE": str(encoder_cache), "PYTHONPATH": str(ROOT)}
    line = [*program(), "up", "--port", str(port), "--db", str(db)]
    with subprocess.Popen(
        line, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    ) as child:
        console = Console(f"http://127.0.0.1:{port}", db)
        deadline = time.monotonic() + 60
        while not _healthy(console.url):
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield console
        child.kill()


def _healthy(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:
        return answer.status == 200
    return False


def stdio(db: Path, cache: Path, *arguments: str) -> StdioServerParameters:
    """`wayfare mcp` as a client starts it."""
    environment = {"WAYFARE_CACHE": str(cache), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    command, *words = program()
    return StdioServerParameters(
        command=command, args=[*words, "mcp", "--db", str(db), *arguments], env=environment, cwd=ROOT
    )


def talk(target: Any, script: Script, *, name: str = "tests", **options: Any) -> Any:
    """Runs a script of calls over one connection."""

    async def run() -> Any:
        info = mcp_types.Implementation(name=name, version="1")
        async with Client(target, client_info=info, **options) as client:
            return await script(client)

    return anyio.run(run)


async def ask(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured answer to a call that has to succeed."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.structured_content
    return result.structured_content


async def refused(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The error of a call that has to be refused; it always has a kind, a reason and advice."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    assert list(result.structured_content) == ["error", "why", "try"]
    assert all(result.structured_content.values())
    return result.structured_content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a test's store. Without this fixture `app` and `world` have stores in memory."""
    return tmp_path / "wayfare.duckdb"


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An app without a catalog of its own and with an encoder that needs no model."""
    store = None if "path" in request.fixturenames else Store()
    with open_test_app(tmp_path / "wayfare.duckdb", store=store) as app:
        yield app


def served(app: App, *, client: str = "", **options: Any) -> Any:
    """The endpoint of an app of this process, as the target of a client; with a name it is the client of a token."""
    chosen = EndpointOptions(**{"catalog": "world", **options})
    endpoint = Endpoint(Services(app, result_tokens=200))
    return server_of(app, endpoint, chosen, client)


def server_of(app: App, endpoint: Endpoint, options: EndpointOptions, client: str) -> Any:
    """An endpoint with these options, for one client."""
    return mcp_server(
        endpoint.call, lambda _: options, lambda _: client, listing=endpoint.listed, part=endpoint.part,
        changes=Changes(app, endpoint, Uses()), mirror=bool(options.mirror),
    )  # fmt: skip


START = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}
START_MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": START}


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An app of this process with the catalog `world`."""
    with open_world(tmp_path / "wayfare.duckdb", in_memory="path" not in request.fixturenames) as app:
        yield app


@pytest.fixture
def url(world: App) -> Iterator[str]:
    """The endpoint of this process's app, over HTTP."""
    with served_over_http(world, "world") as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def with_token(url: str, token: str) -> AsyncIterator[Any]:
    """A connection that sends a token."""
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with http, streamable_http_client(url, http_client=http) as streams:
        yield streams


def status(url: str, **headers: str) -> tuple[int, Message]:
    """Status and headers for a message."""
    body = json.dumps(START_MESSAGE).encode()
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, {**accept, **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, error.headers
