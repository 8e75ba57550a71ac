"""Shipped vectors: those of the shipped catalogs, so that a first start embeds only the query.

One Parquet file for each model: a text's hash and its vector a row, exact float32, with the model's key. A changed text has another
hash and is embedded. Vectors of another model are not used. `make catalog` makes the files again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from core.domain.progress import Report, Step, silent
from core.relevance.encoder import EncoderError, Vectors, VectorStore, eight_bits
from core.store.connection import pa, pa_parquet

MODEL = b"wayfare.model"
HASH_BYTES = 16
_log = logging.getLogger(__name__)


class VectorFileError(EncoderError):
    """Shipped vectors that cannot be used."""


class PackagedVectors:
    """A `VectorStore` over another one: missing vectors are looked up in the model's file; new ones are saved in the other store.

    A file that is missing, damaged or of another model counts as empty; `notes`, the log and `report` say so once.
    """

    def __init__(self, store: VectorStore, folder: Path, report: Report = silent) -> None:
        self._store = store
        self._folder = folder
        self._report = report
        self.notes: tuple[str, ...] = ()
        self._reading = Lock()
        self._known: dict[str, Mapping[str, Vectors]] = {}

    def load_vectors(self, model: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        known = dict(self._store.load_vectors(model, hashes))
        missing = [key for key in hashes if key not in known]
        packaged: Mapping[str, Vectors] = self._packaged(model) if missing else {}
        return known | {key: packaged[key] for key in missing if key in packaged}

    def save_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        self._store.save_vectors(model, vectors)

    def _packaged(self, model: str) -> Mapping[str, Vectors]:
        with self._reading:
            if model not in self._known:
                self._known[model] = self._read(model)
            return self._known[model]

    def _read(self, model: str) -> Mapping[str, Vectors]:
        try:
            return read_vectors(self._folder, model)
        except VectorFileError as problem:
            self.notes += (f"{problem} Texts are embedded here instead.",)
            _log.warning("%s", self.notes[-1])
            self._report(Step(str(problem).rstrip("."), after="embedding the texts here, once"))
            return {}


def vector_file(folder: Path, model: str) -> Path:
    return folder / f"{model}.parquet"


def read_vectors(folder: Path, model: str) -> dict[str, Vectors]:
    """Each text's vector by its hash, (D,) read-only rows of one matrix. Raises VectorFileError if the file is unusable."""
    file = vector_file(folder, model)
    try:
        with pa_parquet().ParquetFile(
            file, page_checksum_verification=True
        ) as opened:  # `read_table` and `to_numpy` would import pandas
            table = opened.read()
        of = table.schema.metadata[MODEL].decode()
        column = table["vector"].combine_chunks()
        matrix: Vectors = np.from_dlpack(column.flatten()).reshape(len(table), -1).astype("<f4", copy=False)
        hashes = [key.hex() for key in table["hash"].to_pylist()]
    except FileNotFoundError:
        raise VectorFileError(f"No vectors of the model {model} come with Wayfare.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as problem:
        raise VectorFileError(f"The vectors in {file} cannot be read ({type(problem).__name__}).") from problem
    if of != model:
        raise VectorFileError(f"The vectors in {file} are those of {of}, not of {model}.")
    pa.default_memory_pool().release_unused()  # 35 MB that reading took
    matrix.setflags(write=False)
    return dict(zip(hashes, matrix, strict=True))


def write_vectors(folder: Path, model: str, vectors: Mapping[str, Vectors]) -> Path:
    """Write a model's vectors in the order of their hashes, so that equal vectors give an equal file.

    BYTE_STREAM_SPLIT stores the bytes of numbers by their place: signs and exponents are alike and compress, mantissas hardly do.
    """
    hashes = sorted(vectors)
    matrix = np.stack([vectors[key] for key in hashes]).astype("<f4", copy=False)
    table = pa.table({
        "hash": pa.array([bytes.fromhex(key) for key in hashes], pa.binary(HASH_BYTES)),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1]),
    }).replace_schema_metadata({MODEL: model.encode()})  # fmt: skip
    folder.mkdir(exist_ok=True)
    pa_parquet().write_table(
        table,
        vector_file(folder, model),
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        column_encoding={"hash": "PLAIN", "vector.list.element": "BYTE_STREAM_SPLIT"},
        write_statistics=False,
        write_page_checksum=True,
    )
    return vector_file(folder, model)


# Vectors of the example requests that come with Wayfare: in 8 bits, because there are 13,000


def request_file(folder: Path, model: str) -> Path:
    """The file of a model's vectors of requests."""
    return folder / f"{model}.npz"


def read_requests(folder: Path, model: str) -> tuple[Mapping[str, int], NDArray[np.int8]] | None:
    """The row of each text by its hash, and the rows (N, D) of any length. Returns None if none ship for the model."""
    file = request_file(folder, model)
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as known:
        hashes, rows = known["hashes"], known["rows"]
    return {key.tobytes().hex(): row for row, key in enumerate(hashes)}, rows


def write_requests(folder: Path, model: str, vectors: Mapping[str, Vectors]) -> Path:
    """Write a model's vectors of requests by their hashes."""
    hashes = sorted(vectors)
    rows = eight_bits(np.stack([vectors[key] for key in hashes]))
    keys = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), HASH_BYTES)
    np.savez_compressed(request_file(folder, model), hashes=keys, rows=rows)
    return request_file(folder, model)
