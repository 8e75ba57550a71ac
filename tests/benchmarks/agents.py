"""An agent's work through the endpoint: tokens that it is shown, and how much longer a call takes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import mcp_types
import numpy as np
from mcp import Client, StdioServerParameters

from core.app import App
from core.domain.tasks import Task
from core.domain.tools import count_tokens
from core.gateway.base import compact
from core.importers.shipped_catalogs import SAMPLE
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import full
from tests.benchmarks.consoles import console
from tests.benchmarks.labelled import opened_app, tasks
from tests.benchmarks.measuring import free_port, report, running

SETS = ("subtasks", "ehrr_categories", "l1_direct", "l2_context", "everyday")
EACH = 20
"""Sub-tasks of each set, drawn once, that make up the agent's work of 100."""
CALLS, WARM_UP = 300, 20
UNITS = "sample_catalog.runnable.unit_exchange"
MILES = {"value": 300, "source": "mile", "target": "kilometre"}
TOOL = "unit-exchange::convert_units"


@dataclass(frozen=True)
class Seen:
    """One sub-task: tokens of the search's answer and of the description, the tools shown, and both sides' hits."""

    tokens: int
    shown: int
    found: bool
    found_by_bm25: bool


class Direct:
    """BM25 over all definitions of a catalog, and the tokens of all definitions."""

    def __init__(self, app: App) -> None:
        tools = app.catalogs.catalog(SAMPLE).tools
        self._ids = [tool.id for tool in tools]
        self._index = LexicalIndex([full(tool) for tool in tools])
        self.tokens = sum(
            count_tokens(
                compact({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
            )
            for tool in tools
        )

    def top(self, text: str, n: int) -> set[str]:
        """The n tools that share most with the text."""
        return {self._ids[row] for row in np.argsort(-self._index.coverage(text), kind="stable")[:n]}


def agents() -> None:
    """Both, over one console."""
    with opened_app() as app:
        labelled = {name: [task for task in tasks(app, name) if task.relevant] for name in SETS}
        direct = Direct(app)
    rng = random.Random(1)
    labelled["everyday"] = [
        task for task in labelled["everyday"] if int(task.id.rpartition("-")[2]) % 2 == 0
    ]  # never tuned on
    work = [task for name in SETS for task in rng.sample(labelled[name], EACH)]
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        units = f"http://127.0.0.1:{port}/mcp"
        with (
            running(["-m", UNITS, "--http", str(port)], units, {}),
            console(Path(folder), catalogs={"units": _catalog(units)}) as served,
        ):
            asyncio.run(_tokens(served.url, work, labelled, direct))
            asyncio.run(_times(served.url, units))


async def _tokens(url: str, work: Sequence[Task], labelled: dict[str, list[Task]], direct: Direct) -> None:
    async with Client(f"{url}/mcp") as client:
        definitions = [_definition(tool) for tool in (await client.list_tools()).tools]
        fixed = count_tokens(compact(definitions)) + count_tokens(client.instructions or "")
        searches = [await _seen(client, task, direct) for task in work]
        per_task = fmean(search.tokens for search in searches)
        print(
            f"all {len(direct.top('', 10**6)):,} definitions of the sample: {direct.tokens:,} tokens; Wayfare's own: {fixed:,}"
        )
        report(
            f"tokens shown for a sub-task, {len(work)} sub-tasks",
            {"mean": fixed + per_task, "most": fixed + max(o.tokens for o in searches)},
            "",
        )
        report("  fewer than with all definitions", {"": 100 * (1 - (fixed + per_task) / direct.tokens)}, "%", "95 %")
        talk = [fixed + per_task * turn for turn in range(1, len(work) + 1)]
        report(
            "  the same in one conversation that forgets nothing, mean over its turns",
            {"": 100 * (1 - fmean(talk) / direct.tokens)},
            "%",
        )
        _found(f"the {len(work)} sub-tasks", searches)
        for name, all_of_them in labelled.items():
            _found(f"all of {name}", [await _seen(client, task, direct, describe=False) for task in all_of_them])


async def _seen(client: Client, task: Task, direct: Direct, *, describe: bool = True) -> Seen:
    answer = await _asked(client, "search_tools", {"task": task.subtask})
    tools = [candidate["tool"] for candidate in answer["candidates"]]
    tokens = count_tokens(compact(answer))
    if describe and tools:  # an agent takes the labelled tool if it is shown, else the first tool
        described = next((tool for tool in tools if tool in task.relevant), tools[0])
        tokens += count_tokens(compact(await _asked(client, "describe_tool", {"tools": [described]})))
    relevant = set(task.relevant)
    return Seen(tokens, len(tools), bool(relevant & set(tools)), bool(relevant & direct.top(task.subtask, len(tools))))


def _found(tasks_name: str, runs: Sequence[Seen]) -> None:
    wayfare, bm25 = (100 * fmean(values) for values in ([o.found for o in runs], [o.found_by_bm25 for o in runs]))
    shown_mean = fmean(search.shown for search in runs)
    report(
        f"labelled tool among {shown_mean:.1f} shown, {tasks_name}",
        {"Wayfare": wayfare, "BM25's top of the same size": bm25},
        "%",
        "BM25's",
    )


async def _times(url: str, units: str) -> None:
    """Executed calls, in turn with direct calls and calls through a bare proxy."""
    command = [sys.executable, "-m", UNITS]
    stdio = StdioServerParameters(command=command[0], args=command[1:])
    for name, target, bare, address in (
        ("HTTP", units, units, f"{url}/mcp?catalog=units"),
        ("stdio", stdio, json.dumps(command), f"{url}/mcp"),
    ):
        port = free_port()
        proxy = f"http://127.0.0.1:{port}/mcp"
        with running(["-m", "tests.benchmarks.bare_proxy", bare, str(port)], proxy, {}):
            async with Client(target) as client, Client(proxy) as between, Client(address) as through:
                for session in (client, between, through):
                    await session.list_tools()
                executed = {"tool": TOOL, "arguments": MILES}
                turns = (
                    (client, "convert_units", MILES),
                    (between, "convert_units", MILES),
                    (through, "execute_tool", executed),
                )
                times = np.array([[await _timed(*turn) for turn in turns] for _ in range(CALLS + WARM_UP)])[WARM_UP:]
        added = times[:, 1:] - times[:, :1]
        direct, (floor, by_endpoint) = np.median(times[:, 0]), np.median(added, axis=0)
        figures = {"direct p50": direct, "added by a bare proxy p50": floor, "added by the endpoint p50": by_endpoint}
        report(f"execute_tool of a server over {name}, load {os.getloadavg()[0]:.1f}",
            {key: 1e3 * float(value) for key, value in figures.items()}, "ms", "added 3 ms")  # fmt: skip


async def _timed(client: Client, name: str, arguments: dict[str, Any]) -> float:
    begun = time.perf_counter()
    await _asked(client, name, arguments)
    return time.perf_counter() - begun


async def _asked(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    if result.is_error:
        raise RuntimeError(f"{name}: {result.structured_content}")
    return result.structured_content


def _definition(tool: mcp_types.Tool) -> dict[str, Any]:
    """The tool's definition for a model."""
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}


def _catalog(url: str) -> str:
    """One server that listens at an address."""
    schema = {
        "type": "object",
        "properties": {"value": {"type": "number"}, "source": {"type": "string"}, "target": {"type": "string"}},
    }
    tool = {
        "name": "convert_units",
        "description": "Convert units of measure.",
        "inputSchema": schema,
        "price_usd": 0.0001,
    }
    return json.dumps(
        {
            "servers": [
                {
                    "name": "unit-exchange",
                    "description": "Units.",
                    "tools": [tool],
                    "connection": {"type": "http", "url": url},
                }
            ]
        }
    )
