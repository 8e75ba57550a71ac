"""Embedding a sub-task, and a decision with its full trace if the vector is given."""

from __future__ import annotations

import itertools
import json

import numpy as np

import sample_catalog
from core.app import open_app
from core.domain.catalog import Catalog, Server, Tool
from core.domain.settings import Settings
from core.importers.shipped_catalogs import SAMPLE
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore, Vectors, unit_rows
from core.relevance.fit_matcher import FitMatcher
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.onnx_encoder import onnx_source
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import Given, RequestIndex
from core.routers import ROUTERS
from core.routers.context import IndexMatcher, RoutingContext
from core.routers.projection import StatisticsProjection
from tests.benchmarks.measuring import percentile, report, timed

TEXT = "convert the prices of a table from dollars to euros and draw a chart of the total per month"


class RandomEncoder:
    """Random unit vectors, equal for equal texts."""

    model, dimension, note = "random", 384, ""

    def encode(self, texts: list[str]) -> Vectors:
        """(N, 384) unit rows."""
        rows = [np.random.default_rng(abs(hash(text))).standard_normal(self.dimension) for text in texts]
        return unit_rows(np.array(rows, dtype=np.float32))

    def with_tokens(self, texts: list[str]) -> tuple[Vectors, list[Vectors]]:
        """The words are the tokens."""
        return self.encode(texts), [self.encode(text.split() or [text]) for text in texts]


def catalog(servers: int, tools_each: int) -> Catalog:
    """Made-up servers with prices and latencies."""
    rng = np.random.default_rng(1)

    def tool(server: str, number: int) -> Tool:
        words = " ".join(rng.choice(["table", "price", "month", "chart", "convert", "file", "note", "city"], 6))
        return Tool(
            server, f"tool_{number}", words, price_usd=float(rng.random() * 0.02), latency_s=float(rng.random())
        )

    return Catalog(
        "made up",
        tuple(
            Server(f"server-{i}", f"Does things {i}", tools=tuple(tool(f"server-{i}", j) for j in range(tools_each)))
            for i in range(servers)
        ),
    )


def embedding() -> None:
    """One unseen text."""
    encoder = CachedEncoder(onnx_source(Settings.from_environment().models_folder), MemoryVectorStore())
    numbers = itertools.count()
    times = timed(lambda: encoder.encode_query(f"{TEXT} {next(numbers)}"), 200, warm_up=10)
    report(
        "embed one sub-task (ONNX Runtime)",
        {"p50": percentile(times, 0.5) * 1e3, "p90": percentile(times, 0.9) * 1e3},
        "ms",
        "3.5 ms",
    )


def _requests(relevance: RelevanceIndex, per_tool: int) -> RequestIndex:
    """Random requests as long as real requests."""
    rng, tools = np.random.default_rng(0), len(relevance.own)
    words = [f"word{number}" for number in range(5000)]
    texts = [" ".join(rng.choice(words, 10)) for _ in range(tools * per_tool)]
    vectors = unit_rows(rng.normal(size=(len(texts), relevance.own.shape[1])))
    return RequestIndex(
        Given(texts, vectors, np.repeat(np.arange(tools), per_tool), np.ones(len(texts), dtype=np.bool_)), relevance
    )


def decisions() -> None:
    """EHRR on the sample with all that is shipped, another question each time, and at two sizes with made-up texts."""
    with open_app(Settings.from_environment(db=":memory:")) as app:
        lines = (sample_catalog.TASKS_DIR / "everyday.jsonl").read_text("utf-8").splitlines()
        texts = [json.loads(line)["subtask"] for line in lines]
        parameters = app.routing.parameters("ehrr")
        context = app.catalogs.context(SAMPLE, parameters)
        for text in texts:  # their vectors are computed once
            app.routing.decide(text, context, "ehrr", parameters)
        questions = itertools.cycle(texts)
        times = timed(lambda: app.routing.decide(next(questions), context, "ehrr", parameters), 3 * len(texts))
        report(
            f"decide on the sample, {len(context.server_names)} servers, {len(context.tool_ids)} tools (vector given)",
            {"p50": percentile(times, 0.5) * 1e3, "p90": percentile(times, 0.9) * 1e3},
            "ms",
            "1 ms",
        )
    for servers, tools_each, requests, reach in (
        (81, 10, 0, "1 ms"), (81, 10, 12, "1.2 ms"), (1000, 10, 0, "5 ms"), (1000, 10, 12, "4 ms"),
    ):  # fmt: skip
        encoder = CachedEncoder(EncoderSource.of(RandomEncoder()), MemoryVectorStore())
        invented = catalog(servers, tools_each)
        index = CatalogIndex(invented, encoder)
        tokens = np.full(len(invented.tools), 100, dtype=np.int64)
        relevance = RelevanceIndex.build(invented, encoder)
        knowledge = Learnt(requests=_requests(relevance, requests)) if requests else NOTHING_LEARNT
        fit = FitMatcher.of(relevance, encoder, knowledge)
        matcher = IndexMatcher(index, encoder, fit)
        context = RoutingContext.of(invented, StatisticsProjection(invented).snapshot(), matcher, tokens)
        router = ROUTERS["ehrr"]()
        times = timed(lambda context=context, router=router: router.route(TEXT, context), 300, warm_up=10)
        report(
            f"decide among {servers:,} servers, {len(invented.tools):,} tools, {requests} requests each (vector given)",
            {"p50": percentile(times, 0.5) * 1e3, "p90": percentile(times, 0.9) * 1e3},
            "ms",
            reach,
        )
