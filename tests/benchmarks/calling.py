"""What the session pool and the caller add to a call, against a direct client with a kept session."""

from __future__ import annotations

import asyncio
import sys
import time

from mcp import Client, StdioServerParameters

from core.domain.catalog import Connection
from core.domain.outcome import ToolCall
from core.servers.caller import McpCaller
from core.servers.pool import SessionPool
from tests.benchmarks.measuring import free_port, percentile, report, running, timed

MODULE = "sample_catalog.runnable.unit_exchange"
ARGUMENTS = {"value": 300, "source": "mile", "target": "kilometre"}
CALLS = 300


async def _direct(target: object) -> list[float]:
    async with Client(target) as client:
        await client.list_tools()
        times: list[float] = []
        for number in range(CALLS + 10):
            started = time.perf_counter()
            await client.call_tool("convert_units", ARGUMENTS, read_timeout_seconds=10)
            if number >= 10:
                times.append(time.perf_counter() - started)
        return sorted(times)


def _compare(name: str, target: object, connection: Connection) -> None:
    direct = asyncio.run(_direct(target))
    pool = SessionPool()
    caller = McpCaller(pool)
    call = ToolCall("units", "convert_units", ARGUMENTS)
    try:
        pooled = timed(lambda: caller.call(call, None, connection), CALLS, warm_up=10)
    finally:
        pool.close()
    p50_direct, p50_pooled = percentile(direct, 0.5) * 1e3, percentile(pooled, 0.5) * 1e3
    report(
        f"call over {name}",
        {"direct p50": p50_direct, "through Wayfare p50": p50_pooled, "overhead": p50_pooled - p50_direct},
        "ms",
        "overhead 1.5 ms",
    )


def stdio() -> None:
    """A real subprocess."""
    _compare(
        "stdio",
        StdioServerParameters(command=sys.executable, args=["-m", MODULE]),
        Connection("stdio", command=sys.executable, args=("-m", MODULE)),
    )


def http() -> None:
    """A real streamable HTTP server on loopback."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with running(["-m", MODULE, "--http", str(port)], url, {}):
        _compare("HTTP", url, Connection("http", url=url))
