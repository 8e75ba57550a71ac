"""What breaks in the middle of a call: servers behind the endpoint, and the process that serves it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp import Client

from core.app import open_app
from core.domain.settings import Settings
from core.governance.budgets import Budget, day_of
from core.governance.policy import Policy
from core.store import Store
from tests.benchmarks.broken_server import KINDS
from tests.benchmarks.consoles import console
from tests.benchmarks.measuring import ROOT, report

PRICE_USD = 0.001
SERVERS, AT_ONCE, LIMIT_S, ALLOWED = 200, 10, 2.0, 190
KILLS, WORKERS = int(os.environ.get("FAILING_KILLS", "100")), 4
BROKEN = str(Path(__file__).with_name("broken_server.py"))
MAY_BE = {
    "killed": {"connection_lost"},
    "half": {"connection_lost"},
    "hung": {"timeout"},
    "stopped": {"timeout"},
    "rubbish": {"timeout", "connection_lost"},
    "binary": {"timeout", "connection_lost"},
    "wrong": {"tool_error", "timeout", "connection_lost"},
    "fine": {""},
}
OUTCOMES = {"": "ok", "connection_lost": "crash", "timeout": "timeout", "tool_error": "tool_error"}


def failing() -> None:
    """Both."""
    _servers()
    _kills()


def _servers() -> None:
    """200 servers that break in mid-call, ten at a time: answers, the log, statistics, the budget, processes left."""
    names = [f"{KINDS[number % len(KINDS)]}-{number}" for number in range(SERVERS)]
    policy = Policy(budgets=(Budget(client="", usd=ALLOWED * PRICE_USD, calls=ALLOWED),))
    with tempfile.TemporaryDirectory() as folder:
        with console(Path(folder), catalogs={"broken": catalog(names, folder)}, policy=policy) as served:
            begun = time.perf_counter()
            answers = asyncio.run(_asked(f"{served.url}/mcp?catalog=broken&timeout={LIMIT_S:g}", names))
            took_s = time.perf_counter() - begun
        kinds = Counter(f"{kind_of(name)}: {error or 'ok'}" for name, (error, _) in answers.items())
        print(
            f"{SERVERS} servers, {AT_ONCE} at a time, {took_s:.0f} s, load {os.getloadavg()[0]:.1f}: {dict(sorted(kinds.items()))}"
        )
        made = {name: error for name, (error, _) in answers.items() if error != "budget_spent"}
        wrong = sum(error not in MAY_BE[kind_of(name)] for name, error in made.items())
        slowest = max(seconds for _, seconds in answers.values())
        report("  answers of another kind, tracebacks", {"others": wrong, "tracebacks": served.tracebacks}, "", "none")
        report(f"  slowest answer, limit {LIMIT_S:g} s and the start of a server", {"": slowest}, "s")
        with Store(served.db) as store:
            logged = Counter((one.server, one.kind) for one in store.events.outcomes("broken"))
            spent = store.governance.spending(day_of(datetime.now(UTC)))
        expected = Counter((name, OUTCOMES.get(error, error)) for name, error in made.items())
        figures = {
            "made": len(made),
            "as answered": (logged & expected).total(),
            "otherwise": (logged - expected).total(),
        }
        report("  calls in the log", figures, "", "as made, each once")
        with open_app(Settings.from_environment(db=served.db)) as app:
            tools = app.catalogs.projection("broken")
            rows = app.catalogs.catalog("broken").tool_row
            counted = Counter(int(tools.tool(row).calls) for row in rows.values())
        print(f"  calls in the statistics of a tool: {dict(counted)}")
        used = {"limit": ALLOWED, "calls": sum(one.calls for one in spent), "USD": sum(one.usd for one in spent)}
        report("  budget", used, "", f"at most {ALLOWED} calls, {ALLOWED * PRICE_USD:g} USD")
        report("  server processes left", {"": _left(folder)}, "", "0")


def kind_of(name: str) -> str:
    """How a server breaks."""
    return name.partition("-")[0]


def catalog(names: Sequence[str], mark: str) -> str:
    """A server for each name; `mark` is in the command line of each."""
    return json.dumps(
        {
            "servers": [
                {
                    "name": name,
                    "description": f"Breaks: {name}.",
                    "tools": [{"name": "work", "description": "Work.", "price_usd": PRICE_USD}],
                    "connection": {
                        "type": "stdio",
                        "command": "${python}",
                        "args": ["-S", BROKEN, kind_of(name), mark],
                    },
                }
                for name in names
            ]
        }
    )


async def _asked(url: str, names: Sequence[str]) -> dict[str, tuple[str, float]]:
    """The error of each, "" where it went well, and the seconds until it was answered."""
    answers: dict[str, tuple[str, float]] = {}

    async def one(client: Client, name: str) -> None:
        begun = time.perf_counter()
        result = await client.call_tool("execute_tool", {"tool": f"{name}::work"}, read_timeout_seconds=90)
        said: dict[str, Any] = result.structured_content or {}
        answers[name] = (said["error"] if result.is_error else "", time.perf_counter() - begun)

    async with Client(url) as client:
        for batch in (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)):
            await asyncio.gather(*(one(client, name) for name in batch))
    return answers


def _left(mark: str) -> int:
    """Processes with the mark in their command line."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(process.read_bytes())
    return sum(mark.encode() in line and BROKEN.encode() in line for line in lines)


def _kills() -> None:
    """kill -9 of a serving process in the middle of calls and writes, again and again over one store; no budget covers a call."""
    rng, done = random.Random(1), Done()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "killed.duckdb"
        for _ in range(KILLS):
            asyncio.run(_worked_and_killed(db, done, rng.uniform(0.05, 0.8)))
            with Store(db) as store:
                audit, activity = store.events.audit(), store.activity
                done.problems += bool(audit.problem)
                done.lost_decisions += sum(activity.decision(id_) is None for id_ in done.committed)
                done.lost_labels += len(done.reported - {label.decision_id for label in store.labels.history("world")})
                kept = Counter(one.decision_id for one in store.events.outcomes("world"))
                done.late += sum(kept[id_] < number for id_, number in done.executed.items())
                done.unsettled += store.governance.settle_left_over()
            done.forget()
        with Store(db) as store:
            spent = store.governance.spending(day_of(datetime.now(UTC)))
            records, left = store.events.audit().records, store.governance.settle_left_over()
        print(
            f"{KILLS} times kill -9 among {WORKERS} clients, load {os.getloadavg()[0]:.1f}: {done.answered} calls answered, {records} records"
        )
        report(
            "  lost: decisions of calls, labels; broken chains",
            {"decisions": done.lost_decisions, "labels": done.lost_labels, "chains": done.problems},
            "",
            "0",
        )
        report("  lost: calls answered without a record", {"": done.late}, "", "0")
        report(
            "  reservations settled at the next start, left after the last",
            {"settled": done.unsettled, "left": left},
            "",
            "left 0",
        )
        report(
            "  calls in the spending of the day",
            {"": sum(one.calls for one in spent), "answered": done.answered},
            "",
            "at least those answered",
        )


@dataclass
class Done:
    """What clients were answered by a process that was killed then, and what is wrong with the store afterwards."""

    committed: set[str] = field(default_factory=set[str])  # searches whose call has left
    reported: set[str] = field(default_factory=set[str])
    executed: Counter[str] = field(default_factory=Counter[str])
    answered: int = 0
    problems: int = 0
    lost_decisions: int = 0
    lost_labels: int = 0
    late: int = 0
    unsettled: int = 0

    def forget(self) -> None:
        """The next process begins."""
        self.committed, self.reported, self.executed = set(), set(), Counter()


async def _worked_and_killed(db: Path, done: Done, after_s: float) -> None:
    line = [sys.executable, "-m", "tests.telemetry.endpoint_process", str(db)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    with subprocess.Popen(
        line, cwd=ROOT, env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        url = json.loads(process.stdout.readline())["url"] if process.stdout is not None else ""
        begun = asyncio.Event()
        workers = [asyncio.create_task(_until_killed(url, done, begun, number)) for number in range(WORKERS)]
        await begun.wait()
        await asyncio.sleep(after_s)
        process.kill()
        await asyncio.wait(workers, timeout=30)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _until_killed(url: str, done: Done, begun: asyncio.Event, number: int) -> None:
    with suppress(Exception):
        async with Client(url) as client:
            for turn in range(10_000):
                asked = {"task": f"Echo meta words {number} {turn}"}
                found: dict[str, Any] = (await client.call_tool("search_tools", asked)).structured_content or {}
                route: str = found["route_id"]
                result = await client.call_tool("execute_tool", {"tool": "bare::meta", "route_id": route})
                if result.is_error:
                    continue
                done.answered += 1
                done.committed.add(route)
                done.executed[route] += 1
                begun.set()
                if turn % 5 == number:
                    await client.call_tool("report_outcome", {"route_id": route, "useful": True})
                    done.reported.add(route)
