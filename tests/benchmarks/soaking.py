"""Eight clients beside two open browsers: errors, times, memory, and whether every answer is in the log."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types
from mcp import Client
from playwright.async_api import async_playwright

from core.app import open_app
from core.catalogs.decision_log import AGENT
from core.domain.events import ActivityFilter
from core.domain.settings import Settings
from core.importers.shipped_catalogs import SAMPLE
from tests.benchmarks.consoles import Console, console
from tests.benchmarks.labelled import opened_app, tasks
from tests.benchmarks.measuring import percentile, report
from tests.browser.chromium import FLAGS

SECONDS = float(os.environ.get("SOAKING_S", "600"))
RATE, CLIENTS, WARM_UP_S = 50.0, 8, 10.0
PAGES = ("activity", "?q=convert+300+miles+to+kilometres")
ROUND = ("search", "execute", "search", "execute", "search", "execute", "search", "execute", "describe", "fail")
REPORTS_EACH = 100
"""One of so many requests of a client is a report: people and agents label now and then."""
TOOL = "unit-exchange::convert_units"
CALLED = ("execute", "fail")


@dataclass
class Answers:
    """What the clients got: the seconds of each answer by kind, and what was no answer."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter[str])

    def number(self, *kinds: str) -> int:
        """How many answers of these kinds, of all where none is named."""
        return sum(len(times) for kind, times in self.seconds.items() if not kinds or kind in kinds)


def soaking() -> None:
    """50 requests a second for SOAKING_S seconds (600 where that is not set), and what is in the log afterwards."""
    with opened_app() as app:
        texts = [task.subtask for name in ("subtasks", "l2_context") for task in tasks(app, name)]
    with tempfile.TemporaryDirectory() as folder:
        with console(Path(folder)) as served:
            before, answers = asyncio.run(_soaked(served, texts))
        report("  tracebacks in what the console said", {"": served.tracebacks}, "", "0")
        with open_app(Settings.from_environment(db=served.db)) as app:
            activity, agents = app.store.activity, ActivityFilter(origin=AGENT)
            logged = {
                ("search",): activity.decision_count(agents),
                CALLED: activity.call_count(agents),
                ("report",): len(app.feedback.labels(SAMPLE)),
            }
            audit = app.store.events.audit()
        for kinds, number in logged.items():
            answered = before.number(*kinds) + answers.number(*kinds)
            figures = {"answered": answered, "in the log": number, "lost": answered - number}
            report(f"  {' and '.join(kinds)}", figures, "", "lost 0")
        print(f"  audit of {audit.records:,} records: {audit.problem or 'as written'}", flush=True)


async def _soaked(served: Console, texts: Sequence[str]) -> tuple[Answers, Answers]:
    before, answers = Answers(), Answers()
    async with _browsers(served.url) as wrong:
        await _work(served, texts, before, WARM_UP_S)  # what is opened with the first requests is open
        cpu_s, memory, begun = served.cpu_s(), [served.resident_mb()], time.perf_counter()
        watch = asyncio.create_task(_watched(served, memory))
        await _work(served, texts, answers, SECONDS)
        took_s = time.perf_counter() - begun
        watch.cancel()
        memory.append(served.resident_mb())
        number = answers.number()
        figures = {"requests": number, "a second": number / took_s, "errors": sum(answers.errors.values())}
        report(
            f"{CLIENTS} clients, {took_s:.0f} s, load {os.getloadavg()[0]:.1f}",
            figures,
            "",
            f"{RATE:.0f} a second, no error",
        )
        for error, times in answers.errors.items():
            print(f"  {times} x {error}")
        for kind, times in answers.seconds.items():
            ordered = sorted(times)
            shares = {f"p{100 * share:.0f}": percentile(ordered, share) * 1e3 for share in (0.5, 0.9, 0.99)}
            report(f"  {kind}", {**shares, "most": ordered[-1] * 1e3}, "ms")
        points = {"start": memory[0], "middle": memory[len(memory) // 2], "end": memory[-1], "most": max(memory)}
        report("  memory of the console", points, "MB", "flat")
        report(
            "  processor of the console, browsers' pages among it",
            {"a request": (served.cpu_s() - cpu_s) / number * 1e3},
            "ms",
        )
        print(f"  open browsers: {len(PAGES)}, errors of their pages: {wrong or 'none'}")
    return before, answers


async def _work(served: Console, texts: Sequence[str], answers: Answers, seconds: float) -> None:
    begun = time.perf_counter()
    await asyncio.gather(*(_client(served.url, number, texts, answers, begun, seconds) for number in range(CLIENTS)))


async def _client(url: str, number: int, texts: Sequence[str], answers: Answers, begun: float, seconds: float) -> None:
    """One client, whose requests are due at equal distances; where it is late it goes on at once."""
    info = mcp_types.Implementation(name=f"agent {number}", version="1")
    async with Client(f"{url}/mcp?timeout=20", client_info=info) as client:
        await client.list_tools()
        route, turn = "", 0
        while (due := begun + (turn + number / CLIENTS) * CLIENTS / RATE) < begun + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if time.perf_counter() > begun + seconds:
                break
            kind = "report" if route and turn % REPORTS_EACH == REPORTS_EACH - 1 else ROUND[turn % len(ROUND)]
            name, arguments = _request(
                kind, f"{texts[(turn * CLIENTS + number) % len(texts)]}, no. {turn}", route, turn
            )
            sent = time.perf_counter()
            try:
                result = await client.call_tool(name, arguments, read_timeout_seconds=60)
            except Exception as error:  # noqa: BLE001  what a client meets is counted
                answers.errors[f"{kind}: {type(error).__name__} {error}"[:200]] += 1
            else:
                said: dict[str, Any] = result.structured_content or {}
                answers.seconds[kind].append(time.perf_counter() - sent)
                if result.is_error != (kind == "fail") or (kind == "fail" and said["error"] != "tool_error"):
                    answers.errors[f"{kind}: {said}"[:200]] += 1
                if kind == "search" and not result.is_error:
                    route = said["route_id"]
            turn += 1


def _request(kind: str, text: str, route: str, turn: int) -> tuple[str, dict[str, Any]]:
    miles = {"value": turn, "source": "mile", "target": "kg" if kind == "fail" else "kilometre"}
    return {
        "search": ("search_tools", {"task": text}),
        "execute": ("execute_tool", {"tool": TOOL, "arguments": miles}),
        "fail": ("execute_tool", {"tool": TOOL, "arguments": miles}),
        "describe": ("describe_tool", {"tools": [TOOL]}),
        "report": ("report_outcome", {"route_id": route, "useful": True}),
    }[kind]


async def _watched(served: Console, memory: list[float]) -> None:
    while True:
        await asyncio.sleep(SECONDS / 20)
        memory.append(served.resident_mb())


@asynccontextmanager
async def _browsers(url: str) -> AsyncIterator[list[str]]:
    """Two of them, each on a page of the console; gives what went wrong in their scripts."""
    wrong: list[str] = []
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    async with async_playwright() as playwright:
        opened = [await playwright.chromium.launch(executable_path=executable, args=FLAGS) for _ in PAGES]
        for browser, where in zip(opened, PAGES, strict=True):
            page = await browser.new_page(viewport={"width": 1440, "height": 900})
            page.on("pageerror", lambda error: wrong.append(str(error)))
            await page.goto(f"{url}/{where}", wait_until="domcontentloaded")
            await page.wait_for_selector("[data-testid=stMain]", timeout=60_000)
        yield wrong
        for browser in opened:
            await browser.close()
