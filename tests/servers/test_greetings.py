"""How servers of both eras are greeted: each in the way that worked last, also by the next process."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND

from core.domain.catalog import Connection
from core.servers.greetings import Greetings, next_way
from core.servers.pool import PoolConfig
from core.servers.session import Lease
from tests.servers.conftest import SERVER, SERVERS, Bench


async def tools(lease: Lease) -> list[str]:
    """The names that the server lists."""
    return [tool.name for tool in (await lease.client.list_tools()).tools]


def test_each_server_is_greeted_in_its_way_and_the_next_process_knows_it(
    bench_with: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.servers.pool.PROBE_S", 0.4)
    mode, log, file = tmp_path / "mode", tmp_path / "log", tmp_path / "greetings.json"
    connection = Connection("stdio", "${python}", ("-S", str(SERVERS / "greeted.py"), str(mode), str(log)))

    def heard(what: str, limit_s: float = 60.0) -> list[str]:
        """The methods up to the list of tools."""
        mode.write_text(what)
        log.write_text("")
        bench = bench_with(PoolConfig(connect_limit_s=limit_s), greetings=Greetings(file))
        assert bench.pool.use(SERVER, connection, tools, limit_s=10) == ["echo"]
        bench.pool.close()
        return log.read_text().partition("tools/list")[0].split()

    first = ["server/discover", "initialize", "notifications/initialized"]
    assert heard("dies") == first
    assert heard("dies") == first[1:]
    assert heard("silent") == first[1:]
    assert heard("new")[-1] == "server/discover"  # what was known holds no more
    assert set(heard("new")) == {"server/discover"}
    assert heard("silent", 3.0)[-2:] == first[1:]  # after half of the time
    file.write_text("no JSON")
    assert heard("silent") == first


class OldAddress(BaseHTTPRequestHandler):
    """An address of the transport before 2025-03-26: it gives events to GET, and 405 to POST."""

    events: queue.Queue[tuple[str, str]] = queue.Queue()

    def do_GET(self) -> None:
        """Sends events until the test is over."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.events.put(("endpoint", "/messages"))
        while True:
            kind, data = self.events.get()
            if kind == "end":
                return
            self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())

    def do_POST(self) -> None:
        """Answers what is sent to the address that the first event told."""
        request: Any = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202 if self.path == "/messages" else 405)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if self.path != "/messages" or "id" not in request:
            return
        has = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "o", "version": "1"},
        }
        listed = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        result = has if request["method"] == "initialize" else listed
        self.events.put(("message", json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})))

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def old_address() -> Iterator[str]:
    """The address of such a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), OldAddress)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/sse"
    OldAddress.events.put(("end", ""))
    server.shutdown()
    server.server_close()


def test_an_address_of_the_older_transport_is_found_out(bench: Bench, old_address: str) -> None:
    assert bench.pool.use(SERVER, Connection("http", url=old_address), tools, limit_s=10) == ["echo"]


def test_a_server_without_initialize_is_of_the_newer_era_though_it_was_too_slow_for_the_probe() -> None:
    unknown = MCPError(METHOD_NOT_FOUND, "Method not found")
    assert next_way("probe", "http", unknown, "") == "modern"
    assert next_way("legacy", "http", unknown, "") == "probe"
