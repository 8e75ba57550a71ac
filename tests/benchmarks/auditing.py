"""A log of months: verified, exported and replayed, with the seconds and the resident memory of each. Before and after are two checkouts.

`python -m tests.benchmarks.auditing 100000` measures a log of so many records.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from core.domain.events import DecisionEvent, OutcomeEvent
from core.store import Store
from tests.benchmarks.measuring import ROOT

RECORDS = 1_000_000
TRACED = 20_000  # as many decisions as a busy month has; older ones have lost their traces
TRACE_TOOLS = 230  # 36 KB
A_WRITE = 500
NOW = datetime(2026, 11, 27, tzinfo=UTC)
STEPS = ("audit", "audit --export", "export of calls", "history")


def auditing(records: int = RECORDS) -> None:
    """A row for each step, each in a process of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.duckdb"
        begun = time.perf_counter()
        _make(path, records)
        print(
            f"{records:,} records in {path.stat().st_size / 1e6:,.0f} MB, made in {time.perf_counter() - begun:,.0f} s\n"
        )
        print("| step | s | resident, MB | |\n|---|---|---|---|")
        for step in STEPS:
            words = [sys.executable, "-m", "tests.benchmarks.auditing", step, str(path)]
            print(subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout, end="")


def _make(path: Path, records: int) -> None:
    """One decision to three calls; the newest decisions have traces."""
    random, without = Random(7), records // 4 - TRACED
    with Store(path) as store:
        for first in range(0, records, A_WRITE):
            store.events.append(
                *(
                    _event(n, _trace(random) if not n % 4 and n // 4 >= without else "")
                    for n in range(first, first + A_WRITE)
                )
            )


def _trace(random: Random) -> str:
    rows = (f'{{"tool": "server{n}::tool{n}", "similarity": {random.random()}, "utility": {random.random()}, "cost_s": {random.random()}, "dropped_by": "outranked"}}' for n in range(TRACE_TOOLS))  # fmt: skip
    return f'{{"servers": [], "tools": [{", ".join(rows)}]}}'


def _event(n: int, trace: str) -> DecisionEvent | OutcomeEvent:
    at = NOW - timedelta(seconds=1_000_000 - n)
    if n % 4:
        return OutcomeEvent(
            f"o{n}", at, f"d{n - n % 4}", "demo", "files", "read", "ok", 0.5, None, 1, 0.002, False, "", "agent"
        )
    return DecisionEvent(f"d{n}", at, "demo", "ehrr", f"read the file of day {n}", "", '{"k": 5}', "files::read", "", 0.002, 1.5, 3.25, '[{"tool": "files::read", "tokens": 40}]', trace, "agent")  # fmt: skip


def _step(step: str, path: Path) -> None:
    begun = time.perf_counter()
    try:
        with Store(path) as store:
            said = _done(step, store, path.with_suffix(".out"))
    except Exception as error:  # noqa: BLE001  the sentence is the result
        said = str(error)[:120]
    took_s, most_mb = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {step} | {took_s:,.1f} | {most_mb:,.0f} | {said} |")


def _done(step: str, store: Store, file: Path) -> str:
    if step == "audit":
        found = store.events.audit()
        return found.problem or f"{found.records:,} records verified"
    if step == "audit --export":
        with file.open("w", encoding="utf-8") as lines:
            store.events.audit(lambda line: lines.write(f"{line}\n"))
    elif step == "export of calls":
        if hasattr(store.activity, "write"):
            with file.open("wb") as out:
                store.activity.write("outcomes", "csv", out)
        else:
            file.write_bytes(BytesIO(store.activity.export("outcomes", "csv")).getbuffer())
    else:
        return f"{sum(1 for _ in store.history.of_catalog('demo', decisions=20_000)):,} events read"
    return f"{os.path.getsize(file) / 1e6:,.0f} MB written"  # noqa: PTH202


if __name__ == "__main__":
    if sys.argv[1] in STEPS:
        _step(sys.argv[1], Path(sys.argv[2]))
    else:
        auditing(int(sys.argv[1]))
