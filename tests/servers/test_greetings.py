"""How servers of both eras are greeted: each in the way that worked last, also by the next process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND

from core.domain.catalog import Connection
from core.servers.pool import PoolConfig
from core.servers.session import Greetings, Lease, next_way
from tests.servers.conftest import SERVER, SERVERS, Bench
from tests.servers.writing import writing_server


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


def test_an_address_of_the_older_transport_is_found_out(bench: Bench) -> None:
    with writing_server() as server:
        connection = Connection("http", url=f"{server.url}/legacy/sse")
        assert bench.pool.use(SERVER, connection, tools, limit_s=10) == ["write", "measure"]


def test_a_server_without_initialize_is_of_the_newer_era_though_it_was_too_slow_for_the_probe() -> None:
    unknown = MCPError(METHOD_NOT_FOUND, "Method not found")
    assert next_way("probe", "http", unknown, "") == "modern"
    assert next_way("legacy", "http", unknown, "") == "probe"
