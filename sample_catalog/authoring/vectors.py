"""The vectors of the shipped catalogs and the encoder's graph, so that a first start need not compute them.

`vectors/<model>.parquet` has every text that the indexes of the shipped catalogs embed, exactly as a first start would
embed it: catalog by catalog, in the indexes' own order. Run `make catalog` after changing a text, a view or a model.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.domain.catalog import Tool
from core.importers.shipped_catalogs import SHIPPED_CATALOGS, shipped
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore, Vectors, eight_bits, text_hash
from core.relevance.onnx_encoder import DIMENSION, SHIPPED_GRAPH, ModelFolder, OnnxEncoder, model_folder, tuned_folder
from core.relevance.packaged_vectors import (
    DATA,
    QUESTIONS,
    TEXTS,
    Examples,
    VectorFileError,
    digest,
    read_requests,
    read_vectors,
    shipped_examples,
    vector_file,
    vector_files,
    write_requests,
    write_vectors,
)
from core.relevance.relevance_index import VIEW_MIX, RelevanceIndex
from core.relevance.text_views import VIEWS
from sample_catalog import REQUESTS, VECTORS


class TextCollector:
    """An encoder that only collects the hashes of its texts."""

    note = ""

    def __init__(self, model: str, dimension: int) -> None:
        self.model = model
        self.dimension = dimension
        self.hashes: set[str] = set()

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.hashes.update(map(text_hash, texts))
        return np.ones((len(texts), self.dimension), dtype=np.float32)

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """Returns rows of ones, and no tokens, because no index reads them."""
        return self.encode(texts), [self.encode([]) for _ in texts]


def models() -> tuple[ModelFolder, ModelFolder]:
    """Returns the two models of an app: the frozen one of the papers' formulas, and the one tuned for relevance."""
    frozen = model_folder()
    return frozen, tuned_folder(frozen)


def drift(folder: Path = VECTORS) -> list[str]:
    """Returns sentences on the files of a folder that do not fit the catalogs' texts and the models. Embeds nothing."""
    used = models()
    collectors = {model.key: TextCollector(model.key, DIMENSION) for model in used}
    _prepare_all([CachedEncoder(EncoderSource.of(collectors[one.key]), MemoryVectorStore()) for one in used])
    found: list[str] = []
    if shipped_examples(used[1].key) is None:
        found.append(f"relevance/data/{used[1].key}.npz is missing or has other texts")
    found += request_drift(used[1].key)
    known = {vector_file(folder, key) for key in collectors}
    found += [f"vectors/{file.name} belongs to no model" for file in sorted(folder.glob("*")) if file not in known]
    for key, collector in collectors.items():
        try:
            there = read_vectors(folder, key).keys()
        except VectorFileError as problem:
            found.append(str(problem))
            continue
        if there != collector.hashes:
            lacking, unused = len(collector.hashes - there), len(there - collector.hashes)
            found.append(f"vectors/{key}.parquet lacks {lacking} texts and has {unused} that no catalog has")
    return found


def build() -> str:
    """Writes the graph and the vectors. Returns the files and their sizes in one line."""
    from core.relevance.tuning.weights import write_graph  # loads torch

    write_graph(SHIPPED_GRAPH)
    store, folders = MemoryVectorStore(), models()
    with tempfile.TemporaryDirectory() as scratch:
        sources = [EncoderSource.of(OnnxEncoder(Path(scratch), folder)) for folder in folders]
        _prepare_all([CachedEncoder(source, store) for source in sources])
        for file in DATA.glob("*.np[yz]"):
            file.unlink()
        asked = write_examples(CachedEncoder(sources[1], MemoryVectorStore()))
        of_requests = write_request_vectors(CachedEncoder(sources[1], MemoryVectorStore()))
    for file in VECTORS.glob("*"):
        file.unlink()
    made = [
        *asked,
        of_requests,
        *(write_vectors(VECTORS, folder.key, store.of_model(folder.key)) for folder in folders),
    ]
    return ", ".join(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB" for file in made)


def write_examples(encoder: CachedEncoder) -> tuple[Path, Path]:
    """Embeds the example questions and writes their vectors: questions in 8 bits, vectors of kinds in 16."""
    kinds = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    tools = [Tool(kind["server"], kind["tool"], kind["description"]) for kind in kinds]
    asked: Vectors = encoder.encode_documents([text for kind in kinds for text in kind["questions"]])
    mixed = sum(
        np.float32(share) * encoder.encode_documents([VIEWS[view](tool) for tool in tools])
        for view, share in VIEW_MIX.items()
    )
    known = Examples.of(asked.reshape(len(kinds), QUESTIONS, -1), np.asarray(mixed))
    coarse = eight_bits(asked).reshape(known.questions.shape)
    questions, of_kinds = vector_files(encoder.model)
    np.save(questions, coarse)
    np.savez_compressed(
        of_kinds,
        texts=np.array(digest()),
        lengths=np.linalg.norm(coarse.astype(np.float32), axis=2),
        centres=known.centres.astype(np.float16),
        tools=known.tools.astype(np.float16),
    )
    return questions, of_kinds


def request_drift(model: str) -> list[str]:
    """Returns sentences on tools without requests, and on vectors of requests that are missing or belong to no request."""
    found = [
        f"requests/{name}.jsonl lacks requests for {tool.id}"
        for name in SHIPPED_CATALOGS
        for tool in shipped(name).tools
        if not tool.requests
    ]
    there = read_requests(REQUESTS, model)
    if there is None or there[0].keys() != set(map(text_hash, _requests())):
        found.append(f"requests/{model}.npz is missing or has other texts than the requests")
    return found


def write_request_vectors(encoder: CachedEncoder) -> Path:
    """Writes the vectors of all shipped requests, in place of those of another model."""
    texts = _requests()
    vectors = encoder.encode_documents(texts)
    for file in REQUESTS.glob("*.npz"):
        file.unlink()
    return write_requests(REQUESTS, encoder.model, dict(zip(map(text_hash, texts), vectors, strict=True)))


def _requests() -> list[str]:
    return [text for name in SHIPPED_CATALOGS for tool in shipped(name).tools for text in tool.requests]


def _prepare_all(encoders: Sequence[CachedEncoder]) -> None:
    """Embeds every shipped catalog in the order of a first start."""
    frozen, tuned = encoders
    for name in SHIPPED_CATALOGS:
        catalog = shipped(name)
        RelevanceIndex.build(catalog, tuned)
        index = CatalogIndex(catalog, frozen)
        for layer in (index.tools, index.servers):
            for view in layer.texts:
                layer.view(view)
