"""A made-up catalog of 700 tools with vectors of their words, indexed as a large one and as a small one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from core.domain.catalog import Catalog
from core.importers.shipped_catalogs import SAMPLE, shipped
from core.lab.testbed import Source
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.feedback import Evidence, Memory
from core.relevance.learnt import Learnt
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import Given, RequestIndex
from tests.benchmarks.large_testbed import LargeTestbed
from tests.relevance.toy_encoders import WordVectors

TOOLS = 700


@dataclass(frozen=True)
class ManyTools:
    """The catalog with its index, and questions of which most have an answer in it."""

    catalog: Catalog
    encoder: CachedEncoder
    index: RelevanceIndex
    questions: tuple[str, ...]


@cache
def many_tools(size: int = TOOLS, *, large: bool = True) -> ManyTools:
    """So many tools, indexed as a large catalog or as a small one."""
    bed = LargeTestbed([Source(SAMPLE, shipped(SAMPLE).servers)], size)
    catalog = Catalog("many", tuple(bed))
    encoder = CachedEncoder(EncoderSource.of(WordVectors()), MemoryVectorStore())
    described = [tool.description for tool in catalog.tools[:: size // 40] if tool.description]
    subtasks = [task.subtask for task in bed.tasks()]
    index = RelevanceIndex.build(catalog, encoder, flat=0 if large else size)
    vague = [
        "help me",
        "get list of things",
        "zebra quantum marmalade",
        "search",
        "send the file and read the weather of a city",
    ]
    return ManyTools(catalog, encoder, index, (*subtasks, *described, *vague))


def some_requests(world: ManyTools, rows: np.ndarray, each: int) -> RequestIndex:
    """So many example requests of some tools: their names and descriptions in other order."""
    rng = np.random.default_rng(3)
    texts: list[str] = []
    for row in rows.tolist():
        words = f"{world.catalog.tools[row].name.replace('_', ' ')} {world.catalog.tools[row].description}".split()
        texts += [" ".join(rng.permutation(words)[:8]) for _ in range(each)]
    vectors = world.encoder.encode_documents(texts)
    return RequestIndex(Given(texts, vectors, np.repeat(rows, each), np.ones(len(texts), dtype=np.bool_)), world.index)


def with_labels(world: ManyTools, learnt: Learnt) -> Learnt:
    """Adds labels of the first question: the nearest tool wrong, and two others right."""
    vector = world.encoder.encode_query(world.questions[0])
    nearest, fourth, far = np.argsort(-(world.index.rows @ vector))[[0, 3, 400]].tolist()
    evidence = [
        Evidence("a", 0, fourth, 1.0, "ann"), Evidence("b", 0, far, 1.0, "ben"), Evidence("c", 0, nearest, -1.0, "ann"),
    ]  # fmt: skip
    return replace(learnt, memory=Memory(evidence, vector[None], tools=len(world.catalog.tools)))
