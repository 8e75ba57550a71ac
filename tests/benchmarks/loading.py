"""Eight clients that wait for their answers, then eight that do not: answers in time, refusals, and the memory afterwards."""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.benchmarks.agents import MILES, TOOL
from tests.benchmarks.consoles import Console, console
from tests.benchmarks.labelled import opened_app, tasks
from tests.benchmarks.measuring import percentile, report

CLIENTS, WARM_UP_S, REST_S = 8, 10.0, float(os.environ.get("LOADING_REST_S", "75"))
WAITING_S = float(os.environ.get("LOADING_S", "120"))
RATE, ASKING_S = 200.0, 30.0
IN_TIME_S, LONGEST_S = 1.0, 120.0
OK, BUSY = 200, 429
REVISION, OWN = "2026-07-28", "io.modelcontextprotocol"
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": REVISION}


@dataclass
class Times:
    """Seconds until each answer and each refusal, and everything else that came back."""

    answered: list[float] = field(default_factory=list[float])
    refused: list[float] = field(default_factory=list[float])
    errors: Counter[str] = field(default_factory=Counter[str])

    @property
    def in_time(self) -> int:
        """The number of answers within IN_TIME_S."""
        return sum(seconds <= IN_TIME_S for seconds in self.answered)


@dataclass
class Load:
    """Eight clients of one console, which search for new texts and make calls in turn."""

    http: httpx2.AsyncClient
    texts: Sequence[str]
    turns: Iterator[int] = field(default_factory=itertools.count)

    async def waiting(self, seconds: float) -> Times:
        """Each client asks again as soon as it has its answer."""
        times, end = Times(), time.perf_counter() + seconds

        async def work(client: int) -> None:
            while time.perf_counter() < end:
                await self._ask(client, times)

        await asyncio.gather(*map(work, range(CLIENTS)))
        return times

    async def asking(self, seconds: float) -> Times:
        """All clients together ask RATE times a second, whether or not they have their answers."""
        times, begun, open_ones = Times(), time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(int(seconds * RATE)):
            await asyncio.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
            open_ones.add(asyncio.create_task(self._ask(number % CLIENTS, times)))
        await asyncio.wait(open_ones)
        return times

    async def _ask(self, client: int, times: Times) -> None:
        turn = next(self.turns)
        search = "search_tools", {"task": f"{self.texts[turn % len(self.texts)]}, no. {turn}"}
        name, arguments = search if turn % 2 else ("execute_tool", {"tool": TOOL, "arguments": MILES})
        meta = {f"{OWN}/protocolVersion": REVISION, f"{OWN}/clientInfo": {"name": f"agent {client}", "version": "1"}}
        params = {"name": name, "arguments": arguments, "_meta": {**meta, f"{OWN}/clientCapabilities": {}}}
        headers = {**HEADERS, "mcp-method": "tools/call", "mcp-name": name}
        begun = time.perf_counter()
        try:
            body = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params}
            answer = await self.http.post("/mcp", json=body, headers=headers)
        except httpx2.HTTPError as error:
            times.errors[repr(error)[:100]] += 1
            return
        took_s = time.perf_counter() - begun
        if answer.status_code == BUSY:
            times.refused.append(took_s)
        elif answer.status_code != OK or '"isError":true' in answer.text or '"result"' not in answer.text:
            times.errors[answer.text[:100]] += 1
        else:
            times.answered.append(took_s)


def loading() -> None:
    """LOADING_S seconds (120 if that is not set) of clients that wait, and 30 s of 200 requests a second."""
    with tempfile.TemporaryDirectory() as folder, console(Path(folder)) as served:
        measured(served)


def measured(served: Console) -> None:
    """Both kinds of load on a console."""
    with opened_app() as app:
        texts = [task.subtask for name in ("subtasks", "l2_context") for task in tasks(app, name)]
    asyncio.run(_measured(served, texts))


async def _measured(served: Console, texts: Sequence[str]) -> None:
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=served.url, limits=limits, timeout=LONGEST_S) as http:
        load = Load(http, texts)
        await load.waiting(WARM_UP_S)
        for words, run in (
            (f"{CLIENTS} clients that wait, {WAITING_S:.0f} s", lambda: load.waiting(WAITING_S)),
            (f"{RATE:.0f} a second for {ASKING_S:.0f} s", lambda: load.asking(ASKING_S)),
        ):
            await asyncio.sleep(REST_S)
            memory_mb, cpu_s, begun = served.resident_mb(), served.cpu_s(), time.perf_counter()
            times = await run()
            took_s = time.perf_counter() - begun
            cpu_s = served.cpu_s() - cpu_s
            _report(words, times, took_s, cpu_s)
            at_end = served.resident_mb()
            await asyncio.sleep(REST_S)
            points = {"before": memory_mb, "at the end": at_end, "after a rest": served.resident_mb()}
            report("  memory of the console", points, "MB", f"{1.15 * memory_mb:.0f} MB after a rest")


def _report(words: str, times: Times, took_s: float, cpu_s: float) -> None:
    total = len(times.answered) + len(times.refused) + times.errors.total()
    figures = {"asked": total, "answered a second": len(times.answered) / took_s, "refused": len(times.refused)}
    figures |= {"within a second, a second": times.in_time / took_s, "errors": times.errors.total()}
    report(f"{words}, load {os.getloadavg()[0]:.1f}", figures, "", "100 a second within a second, no error")
    for name, seconds in (("answered", times.answered), ("refused", times.refused)):
        if seconds:
            ordered = sorted(seconds)
            shares = {f"p{100 * share:.0f}": percentile(ordered, share) * 1e3 for share in (0.5, 0.95, 0.99)}
            report(f"  {name}", {**shares, "most": ordered[-1] * 1e3}, "ms", "200 ms" if name == "refused" else "")
    report("  processor of the console", {"": cpu_s / took_s}, "s a second")
    for error, number in times.errors.most_common(5):
        print(f"  {number} x {error}")
