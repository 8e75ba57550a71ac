"""The vectors that come with Wayfare fit the catalogs' texts and the models, and are what the encoders give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.app import Settings
from core.importers.shipped_catalogs import sample
from core.relevance.encoder import text_hash
from core.relevance.onnx_encoder import DIMENSION, OnnxEncoder
from core.relevance.packaged_vectors import read_vectors, write_vectors
from core.relevance.text_views import SERVER_VIEWS, TOOL_VIEWS, full
from sample_catalog import VECTORS
from sample_catalog.authoring import vectors


def test_every_text_of_every_shipped_catalog_has_its_vector() -> None:
    assert vectors.drift() == [], "run `make catalog`"


@pytest.mark.parametrize("place", [0, 1], ids=["frozen", "tuned"])
def test_they_are_the_encoders(place: int, encoder_cache: Path) -> None:
    folder = vectors.models()[place]
    stored = read_vectors(VECTORS, folder.key)
    texts = [full(tool) for tool in sample().tools[::37]]
    encoded = OnnxEncoder(Settings(cache=encoder_cache).models_folder, folder).encode(texts)
    np.testing.assert_allclose(np.vecdot(encoded, [stored[text_hash(text)] for text in texts]), 1.0, atol=1e-5)


def test_a_first_decision_embeds_the_query_alone(tmp_path: Path) -> None:
    """No text of the sample reaches the encoder: only the query does."""
    from core.relevance.catalog_index import CatalogIndex
    from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
    from core.relevance.packaged_vectors import PackagedVectors

    folder = vectors.models()[0]
    collector = vectors.TextCollector(folder.key, DIMENSION)
    encoder = CachedEncoder(EncoderSource.of(collector), PackagedVectors(MemoryVectorStore(), VECTORS))
    index = CatalogIndex(sample(), encoder)
    read = [*map(index.tools.view, TOOL_VIEWS), *map(index.servers.view, SERVER_VIEWS)]
    assert (len(read), collector.hashes, encoder.is_open) == (len(TOOL_VIEWS) + len(SERVER_VIEWS), set(), False)
    encoder.encode_query("read a file")
    assert collector.hashes == {text_hash("read a file")}


def test_missing_vectors_and_a_changed_text_are_drift(tmp_path: Path) -> None:
    frozen, tuned = vectors.models()
    stored = read_vectors(VECTORS, frozen.key)
    changed = {**dict(list(stored.items())[2:]), text_hash("another text"): next(iter(stored.values()))}
    write_vectors(tmp_path, frozen.key, changed)
    (tmp_path / "stray.parquet").write_text("")
    problems = vectors.drift(tmp_path)
    assert "vectors/stray.parquet belongs to no model" in problems
    assert any(line.endswith("lacks 2 texts and has 1 that no catalog has") for line in problems)
    assert any(line.startswith(f"No vectors of the model {tuned.key} come") for line in problems)
    assert len(problems) == 3
