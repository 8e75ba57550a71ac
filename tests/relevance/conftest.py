"""Small catalogs, an encoder without a model, and the shipped model, prepared once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.onnx_encoder import OnnxEncoder
from tests.relevance.toy_encoders import WordEncoder


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


@pytest.fixture(scope="session")
def wayfare_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of $WAYFARE_CACHE."""
    return tmp_path_factory.mktemp("wayfare-cache")


@pytest.fixture(scope="session")
def exported(wayfare_cache: Path) -> OnnxEncoder:
    """The encoder of the first start: it has prepared the model in `wayfare_cache`."""
    return OnnxEncoder(wayfare_cache / "models")
