"""Scaling by size: a catalog stored, opened and decided over, at five sizes; in turn, on blocks of the same questions, every tool is scored exactly.

Catalog and questions are from `large_testbed.py`, vectors are from the words of a text. Embedding is not timed.
`python -m tests.benchmarks.sizes 3000` measures one size in a few seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import core  # noqa: F401  before NumPy: one thread of BLAS
from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.importers.shipped_catalogs import SAMPLE, shipped
from core.lab.testbed import Source
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.relevance.fit_matcher import FitMatcher
from core.relevance.index_files import IndexFiles
from core.relevance.relevance_index import RelevanceIndex
from core.routers import ROUTERS
from core.routers.context import IndexMatcher, RoutingContext
from core.store import Store
from tests.benchmarks.large_testbed import LargeTestbed
from tests.benchmarks.measuring import ROOT, percentile
from tests.relevance.toy_encoders import WordVectors

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
QUESTIONS = 1000
BLOCK = 20  # questions: scoring all tools in turn with single decisions would empty the processor's cache before each decision
NAME = "many"
Figures = Mapping[str, float]


def sizes() -> None:
    """A row for each size, and the slope of each part: the exponent of size that its time and memory grow with."""
    rows = {size: _row(size) for size in SIZES}
    names = list(rows[SIZES[0]])
    print(f"| tools | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|")
    for size, row in rows.items():
        print(f"| {size:,} | {' | '.join(f'{row[name]:,.4g}' for name in names)} |")
    slopes = [
        np.polyfit(np.log(SIZES), np.log([max(row[name], 1e-9) for row in rows.values()]), 1)[0] for name in names
    ]
    print(f"| slope | {' | '.join(f'{slope:.2f}' for slope in slopes)} |")


def _row(size: int) -> Figures:
    """One size: stored by one process, opened by another process."""
    with TemporaryDirectory() as folder:
        figures: dict[str, float] = {}
        for step in ("made", "opened"):
            words = [sys.executable, "-m", "tests.benchmarks.sizes", str(size), step, folder]
            done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
            figures |= json.loads(done.stdout.splitlines()[-1])
    return figures


def made(size: int, folder: Path) -> Figures:
    """The catalog is made, saved and indexed for the first time."""
    bed = LargeTestbed([Source(SAMPLE, shipped(SAMPLE).servers)], size)
    catalog = Catalog(NAME, tuple(bed))
    (folder / "questions.json").write_text(json.dumps([task.subtask for task in bed.tasks()]), "utf-8")
    with Store(folder / "wayfare.duckdb") as store:
        service = _service(store, folder)
        begun = time.perf_counter()
        service.save(catalog, "made up")
        saved_s = time.perf_counter() - begun
        begun = time.perf_counter()
        service.context(NAME)
        return {"saved, s": saved_s, "first index with its vectors, s": time.perf_counter() - begun}


def opened(size: int, folder: Path) -> Figures:
    """The catalog is opened from its store and decided over, then in turn with scoring every tool exactly."""
    questions = list(dict.fromkeys(json.loads((folder / "questions.json").read_text("utf-8"))))[:QUESTIONS]
    router = ROUTERS["ehrr"]()
    before_gb = resident_gb()
    with Store(folder / "wayfare.duckdb") as store:
        service = _service(store, folder)
        begun = time.perf_counter()
        service.catalog(NAME)
        catalog_s = time.perf_counter() - begun
        context = service.context(NAME)
        ready_s = time.perf_counter() - begun
        for question in questions:  # their vectors are computed once
            router.route(question, context)
        after_gb, scored = resident_gb(), router.route(questions[0], context).scored
        full_context = context if scored is None else _scoring_all(context)
        times: dict[bool, list[float]] = {True: [], False: []}

        def timed(question: str, *, whole: bool) -> Decision:
            started = time.perf_counter()
            decision = router.route(question, full_context if whole else context)
            times[whole].append(1e3 * (time.perf_counter() - started))
            return decision

        same_winner, same_candidates, largest_gap = 0, 0, 0.0
        for start in range(0, len(questions), BLOCK):
            block = questions[start : start + BLOCK]
            firsts = [timed(question, whole=False) for question in block]
            for question, of_first in zip(block, firsts, strict=True):
                of_all = timed(question, whole=True)
                same_winner += of_all.candidates[:1] == of_first.candidates[:1]
                same_candidates += chosen(of_all) == chosen(of_first)
                largest_gap = max(largest_gap, difference(of_all, of_first))
    return {
        "catalog opened, s": catalog_s, "ready, s": ready_s,
        **{
            f"{'all tools' if whole else 'decision'}, p{share:.0%}, ms".replace("%", ""): percentile(sorted(times[whole]), share)
            for whole in (True, False) for share in (0.5, 0.9)
        },
        "questions": len(questions), "same winner": same_winner, "same short-list and candidates": same_candidates, "p_fit apart": largest_gap,
        "resident, GB": after_gb, "of it before, GB": before_gb,
    }  # fmt: skip


def _scoring_all(context: RoutingContext) -> RoutingContext:
    """The context with an index that scores every tool, with vectors in single precision."""
    matcher = context.matcher
    assert isinstance(matcher, IndexMatcher)
    assert isinstance(matcher.fitting, FitMatcher)
    flat = RelevanceIndex.build(context.catalog, matcher.encoder, flat=len(context.tool_ids))
    return replace(context, matcher=replace(matcher, fitting=replace(matcher.fitting, index=flat)))


def chosen(decision: Decision) -> list[list[str]]:
    """The candidates and the short-list, in order."""
    tools = [decision.tools.ids[row] for row in decision.candidates]
    return [tools, [decision.servers.names[row] for row in decision.shortlist()]]


def difference(full: Decision, decision: Decision) -> float:
    """How far the probabilities of fit of the candidates are apart at most."""
    if full.fit is None or decision.fit is None:
        return 0.0
    rows = list(decision.candidates)
    return float(np.abs(full.fit.tools[rows] - decision.fit.tools[rows]).max(initial=0.0))


def resident_gb() -> float:
    """The memory of this process, in 10^9 bytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024 / 1e9


def _service(store: Store, folder: Path) -> CatalogService:
    encoder = CachedEncoder(EncoderSource.of(WordVectors()), store.vectors)
    return CatalogService(store, encoder, index_files=IndexFiles(folder / "indexes"))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sizes()
    elif len(sys.argv) == 2:
        print(json.dumps(_row(int(sys.argv[1])), indent=1))
    else:
        print(json.dumps((made if sys.argv[2] == "made" else opened)(int(sys.argv[1]), Path(sys.argv[3]))))
