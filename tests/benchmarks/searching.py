"""`search_tools` through `/mcp`, as an agent's client asks over HTTP, beside one embedding of a text alone, in turn; at three sizes.

The sample is as it is shipped. The larger catalogs are those of `sizes`, with vectors of words; their server spends on each question the time of
a real embedding as well. `python -m tests.benchmarks.searching 10000` measures one size.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from mcp import Client

import core  # noqa: F401  before NumPy: one thread of BLAS
from core.app import App, build_app
from core.domain.catalog import Catalog
from core.domain.settings import Settings
from core.importers.shipped_catalogs import SAMPLE, shipped
from core.lab.testbed import Source
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore, Vectors
from core.relevance.onnx_encoder import onnx_source
from core.store import Store
from tests.benchmarks.large_testbed import LargeTestbed
from tests.benchmarks.measuring import ROOT, percentile, report
from tests.gateway.serving import served
from tests.relevance.toy_encoders import WordVectors

SIZES = (0, 10_000, 100_000)  # 0: the sample
SEARCHES, WARM_UP = 300, 20
REACH = "p50 within 10 ms of the embedding"


class AsSlow(WordVectors):
    """Vectors of words, each question's in the time of a real embedding."""

    def __init__(self) -> None:
        super().__init__()
        self._real = onnx_source(Settings.from_environment().models_folder).open()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, 384) unit rows."""
        if len(texts) == 1:
            self._real.encode(texts)
        return super().encode(texts)

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text one row per token: none, because no search here compares tokens."""
        return [self.encode([]) for _ in texts]


def searching() -> None:
    """A line for each size."""
    for size in SIZES:
        measure(size)


def measure(size: int) -> None:
    """One size, served by a process of its own."""
    with TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "tests.benchmarks.searching", str(size), folder]
        with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            asyncio.run(_searches(server.stdout.readline().strip(), server.pid, size))
            server.communicate()  # its input ends, and so does it


async def _searches(url: str, pid: int, size: int) -> None:
    """Searches with words that were not said before, each beside one embedding in this process."""
    encoder = CachedEncoder(onnx_source(Settings.from_environment().models_folder), MemoryVectorStore())
    times = list[tuple[float, ...]]()
    async with Client(f"{url}/mcp") as client:
        await client.list_tools()
        for number in range(SEARCHES + WARM_UP):
            text = f"convert the prices of table {number} from dollars to euros and draw a chart of the total per month"
            before_s, begun = processor_s(pid), time.perf_counter()
            result = await client.call_tool("search_tools", {"task": text})
            took = time.perf_counter() - begun
            assert not result.is_error, result
            used_s = processor_s(pid) - before_s
            begun, before_s = time.perf_counter(), time.process_time()
            encoder.encode_query(f"{text}, please")
            if number >= WARM_UP:
                times.append((took, time.perf_counter() - begun, used_s, time.process_time() - before_s))
    ms = 1e3 * np.array(times)
    report(
        f"search_tools, {f'{size:,} tools' if size else 'sample'}, load {os.getloadavg()[0]:.1f}",
        {
            "p50": float(np.median(ms[:, 0])), "p90": percentile(sorted(ms[:, 0]), 0.9), "embedding alone p50": float(np.median(ms[:, 1])),
            "beyond the embedding beside it, p50": float(np.median(ms[:, 0] - ms[:, 1])), "server's processor time": float(ms[:, 2].mean()), "an embedding's": float(ms[:, 3].mean()),
        },
        "ms", REACH,
    )  # fmt: skip


def processor_s(pid: int) -> float:
    """The processor time of a process so far, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(size: int, folder: Path) -> None:
    """Serves until the input ends."""
    settings = Settings.from_environment(db=folder / "wayfare.duckdb")
    settings = replace(settings, cache=folder) if size else settings  # its index is not one of this machine's
    with Store(settings.db) as store:
        app = build_app(
            store, settings, encoder=CachedEncoder(EncoderSource.of(AsSlow()), store.vectors) if size else None
        )
        with served(app, _ready(app, size)) as url:
            print(url, flush=True)
            sys.stdin.read()
        app.close()


def _ready(app: App, size: int) -> str:
    """The name of the catalog, which is ready for searches."""
    name = SAMPLE
    if size:
        name = "many"
        app.catalogs.save(
            Catalog(name, tuple(LargeTestbed([Source(SAMPLE, shipped(SAMPLE).servers)], size))), "made up"
        )
    app.readiness.make(name)
    app.open_the_rest()
    return name


if __name__ == "__main__":
    if len(sys.argv) == 3:
        serve(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        measure(int(sys.argv[1]))
