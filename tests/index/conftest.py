"""Small catalogs and an encoder without a model."""

from __future__ import annotations

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from tests.embedding.toys import WordEncoder


def catalog(sizes: tuple[int, ...] = (3, 0, 2, 0)) -> Catalog:
    """One server for each size; a size is a number of tools."""
    servers = []
    for number, size in enumerate(sizes):
        name = f"server-{number}"
        schema = {"properties": {"path": {"description": f"where {number}"}}}
        tools = tuple(Tool(name, f"tool{t}", f"does thing {number} {t}", input_schema=schema) for t in range(size))
        servers.append(Server(name, f"about topic {number}", tools=tools))
    return Catalog("toy", tuple(servers))


@pytest.fixture
def words() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def encoder(words: WordEncoder) -> CachedEncoder:
    return CachedEncoder(EncoderSource.of(words), MemoryVectorStore())


@pytest.fixture
def toy() -> Catalog:
    return catalog()
