"""A decision among many tools: all of them looked at, and two steps, in turn on the same questions; and the memory of the process.

`python -m tests.benchmarks.large 3000` measures one size in a few seconds. Catalog and questions are those of `wayfare testbed --tools`, vectors
those of the words of a text, and they are given: embedding is not timed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import core  # noqa: F401  before NumPy: one thread of BLAS
from core.domain.decision import Decision
from core.relevance.bounds import FitMatcher
from core.relevance.catalog_index import CatalogIndex
from core.routers import ROUTERS
from core.routers.context import RoutingContext
from core.routers.matching import IndexMatcher
from core.stats.projection import StatisticsProjection
from tests.benchmarks.measuring import ROOT, percentile
from tests.relevance.many_tools import ManyTools, many_tools

SIZES = (3_000, 10_000, 100_000)
QUESTIONS = 300


def large() -> None:
    """The table, each size in a process of its own."""
    print(
        "| tools | index built in | all tools p50 / p90 (processor p50) | two steps, the same | looked at p50 / most | same decisions | p_fit within | resident |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for size in SIZES:
        subprocess.run([sys.executable, "-m", __name__, str(size)], cwd=ROOT, check=True)


def measured(size: int) -> str:
    """One row of the table."""
    begun = time.perf_counter()
    world = many_tools(size)
    built_s = time.perf_counter() - begun
    two_steps = context(world)
    everything = replace(two_steps, exhaustive=True)
    router = ROUTERS["ehrr"]()
    questions = list(dict.fromkeys(world.questions))[:QUESTIONS]
    for question in questions:  # their vectors are computed once
        world.encoder.encode_query(question)
    for each in (everything, two_steps):
        router.route(questions[0], each)
    times: tuple[list[float], list[float]] = ([], [])
    work: tuple[list[float], list[float]] = ([], [])
    looked: list[int] = []
    same, apart = 0, 0.0
    ways = (everything, two_steps)
    for number, question in enumerate(questions):
        decided: dict[int, Decision] = {}
        for place in (0, 1) if number % 2 else (1, 0):  # what both need is warm for the second
            started, worked = time.perf_counter(), time.thread_time()
            decided[place] = router.route(question, ways[place])
            work[place].append(1e3 * (time.thread_time() - worked))
            times[place].append(1e3 * (time.perf_counter() - started))
        whole, few = decided[0], decided[1]
        looked.append(len(few.tools.ids))
        same += chosen(whole) == chosen(few)
        apart = max(apart, difference(whole, few))
    all_ms, two_ms = (
        f"{percentile(sorted(ms), 0.5):.1f} / {percentile(sorted(ms), 0.9):.1f} ({percentile(sorted(of), 0.5):.1f}) ms"
        for ms, of in zip(times, work, strict=True)
    )
    return (
        f"| {size:,} | {built_s:.1f} s | {all_ms} | {two_ms} | {int(np.median(looked)):,} / {max(looked):,} | {same} of {len(questions)} | "
        f"{apart:.1e} | {resident_gb():.2f} GB |"
    )


def context(world: ManyTools) -> RoutingContext:
    """The routing context of a catalog with vectors of words."""
    matcher = IndexMatcher(
        CatalogIndex(world.catalog, world.encoder), world.encoder, FitMatcher.of(world.index, world.encoder)
    )
    tokens = np.full(len(world.catalog.tools), 100, dtype=np.int64)
    return RoutingContext.of(world.catalog, StatisticsProjection(world.catalog).snapshot(), matcher, tokens)


def chosen(decision: Decision) -> str:
    """The candidates and the short-list, in order."""
    tools = [decision.tools.ids[row] for row in decision.candidates]
    return json.dumps([tools, [decision.servers.names[row] for row in decision.shortlist()]])


def difference(whole: Decision, few: Decision) -> float:
    """How far the probabilities of fit of the tools that were looked at are apart at most."""
    if whole.fit is None or few.fit is None:
        return 0.0
    rows = slice(None) if few.looked is None else few.looked.tool_rows
    return float(np.abs(whole.fit.tools[rows] - few.fit.tools).max())


def resident_gb() -> float:
    """The memory of this process, in 10^9 bytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024 / 1e9


if __name__ == "__main__":
    print(measured(int(sys.argv[1])), flush=True)
