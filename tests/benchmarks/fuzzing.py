"""Requests that no client should send, to a running console over real connections."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.benchmarks.consoles import Console, console
from tests.benchmarks.measuring import percentile, report
from tests.gateway.fuzzed_requests import Fuzzed, fuzzed
from tests.world import document

NUMBER, SEED, LIMIT_S = 1_000, 14, 30.0


def fuzzing() -> None:
    """1,000 of them, one connection each: how they were answered, and what the console said meanwhile."""
    with (
        tempfile.TemporaryDirectory() as folder,
        console(Path(folder), catalogs={"world": document()}, WAYFARE_CATALOG="world") as served,
    ):
        key = json.loads(served.db.with_name(f"{served.db.name}.door.json").read_text("utf-8"))["key"]
        statuses, times = asyncio.run(_sent(served, fuzzed(SEED, NUMBER, door_key=key)))
        print(f"{NUMBER} fuzzed requests: " + ", ".join(f"{status} {n}" for status, n in sorted(statuses.items())))
        broken = sum(number for status, number in statuses.items() if status.startswith("500"))
        figures = {"500": broken, "hung": statuses["hung"], "tracebacks": served.tracebacks}
        report("  of these", figures, "", "none")
        report("  answered after", {"p50": percentile(times, 0.5) * 1e3, "most": times[-1] * 1e3}, "ms")


async def _sent(served: Console, requests: list[Fuzzed]) -> tuple[Counter[str], list[float]]:
    statuses, times = Counter[str](), list[float]()
    for request in requests:
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(LIMIT_S):
                status = await _status(served.port, request)
        except TimeoutError:
            status = "hung"
            print(f"  hung: {request.line}")
        if status.startswith("500"):
            print(f"  500: {request.line}")
        statuses[status] += 1
        times.append(time.perf_counter() - begun)
    return statuses, sorted(times)


async def _status(port: int, request: Fuzzed) -> str:
    """The status of the answer, "closed" where the connection ends without one; the body is read to its end or for a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    host = f"127.0.0.1:{port}".encode()
    headers = [
        (b"host", host),
        (b"content-length", b"%d" % len(request.body)),
        (b"connection", b"close"),
        *request.headers,
    ]
    query = b"?" + request.query if request.query else b""
    line = request.method.encode() + b" " + request.path.encode() + query + b" HTTP/1.1\r\n"
    try:
        writer.write(
            line + b"".join(name + b": " + value + b"\r\n" for name, value in headers) + b"\r\n" + request.body
        )
        await writer.drain()
        first = await reader.readline()
        if request.method != "GET":  # a stream of events goes on until its reader leaves
            await reader.read()
    except ConnectionError:
        return "closed"
    finally:
        writer.close()
    return first.split(b" ")[1].decode() if b" " in first else "closed"
