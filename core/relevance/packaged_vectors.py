"""Vectors that ship: of the catalogs, so that a first start embeds only the query; of example requests; and of example questions.

Each model has a Parquet file with the model's key and a row per text: its hash and its vector, exact float32. A changed text has another
hash and is embedded. Vectors of another model are not used. `make catalog` makes the files again.

Few people ask in the words of a tool: "chuck out old docker leftovers" means `prune`. So example questions, sixteen for each of 2,382
kinds of tools (`data/examples.jsonl`), move a query towards tools (relevance feedback; in Rocchio 1971 d is the mean of the relevant texts):

    near = cos(q, e) with the nearest example e of a kind
    d    = sum over the five nearest kinds of softmax(near / 0.03) v_kind, of length 1       v: the kind's mixed views
    sure = clip((greatest near - 0.30) / 0.35, 0, 1)
    q'   = q + 0.7 sure d, of length 1

They were written without sight of any catalog or question of the evaluation. Another encoder's queries are not moved.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.progress import Report, Step, made_once, silent
from core.relevance.encoder import EncoderError, Vectors, VectorStore, eight_bits
from core.store.connection import pa, pa_parquet

DATA = Path(__file__).with_name("data")
MODEL = b"wayfare.model"
HASH_BYTES = 16
_log = logging.getLogger(__name__)


class VectorFileError(EncoderError): ...


class PackagedVectors:
    """A `VectorStore` over another store. Looks up missing vectors in the model's file, and saves new vectors in the other store.

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
        stored = dict(self._store.load_vectors(model, hashes))
        missing = [key for key in hashes if key not in stored]
        packaged: Mapping[str, Vectors] = self._packaged(model) if missing else {}
        return stored | {key: packaged[key] for key in missing if key in packaged}

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
    """Each text's vector by its hash, (D,) read-only rows of a matrix. Raises VectorFileError if the file is unusable."""
    file = vector_file(folder, model)
    try:
        with pa_parquet().ParquetFile(
            file, page_checksum_verification=True
        ) as opened:  # `read_table` and `to_numpy` would import pandas
            table = opened.read()
        file_model = table.schema.metadata[MODEL].decode()
        column = table["vector"].combine_chunks()
        matrix: Vectors = np.from_dlpack(column.flatten()).reshape(len(table), -1).astype("<f4", copy=False)
        hashes = [key.hex() for key in table["hash"].to_pylist()]
    except FileNotFoundError:
        raise VectorFileError(f"No vectors of the model {model} come with Wayfare.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as problem:
        raise VectorFileError(f"The vectors in {file} cannot be read ({type(problem).__name__}).") from problem
    if file_model != model:
        raise VectorFileError(f"The vectors in {file} are those of {file_model}, not of {model}.")
    pa.default_memory_pool().release_unused()  # 35 MB that reading took
    matrix.setflags(write=False)
    return dict(zip(hashes, matrix, strict=True))


def write_vectors(folder: Path, model: str, vectors: Mapping[str, Vectors]) -> Path:
    """Writes a model's vectors in the order of their hashes, so that equal vectors give an equal file.

    BYTE_STREAM_SPLIT stores the bytes of numbers by their place. Signs and exponents are similar and compress, mantissas hardly do.
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


def request_file(folder: Path, model: str) -> Path:
    return folder / f"{model}.npz"


def read_requests(folder: Path, model: str) -> tuple[Mapping[str, int], NDArray[np.int8]] | None:
    """The row of each text by its hash, and the rows (N, D) of any length. Returns None if none ship for the model."""
    file = request_file(folder, model)
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as archive:
        hashes, rows = archive["hashes"], archive["rows"]
    return {key.tobytes().hex(): row for row, key in enumerate(hashes)}, rows


def write_requests(folder: Path, model: str, vectors: Mapping[str, Vectors]) -> Path:
    hashes = sorted(vectors)
    rows = eight_bits(np.stack([vectors[key] for key in hashes]))
    keys = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), HASH_BYTES)
    np.savez_compressed(request_file(folder, model), hashes=keys, rows=rows)
    return request_file(folder, model)


TEXTS = DATA / "examples.jsonl"
QUESTIONS = 16  # of each kind
KINDS, TEMPERATURE = 5, 0.03
LOOKED_AT = 32  # kinds with the nearest mean question, whose examples are compared
FAR, NEAR = 0.30, 0.65
SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Examples:
    """K kinds of Q questions: `questions` (K, Q, D) of any length, with `lengths` (K, Q); `centres` (K, D), the normalised means of the
    unit vectors; and `tools` (K, D).
    """

    questions: NDArray[Any]
    lengths: NDArray[np.float32]
    centres: Vectors
    tools: Vectors

    @classmethod
    def of(cls, questions: Vectors, tools: Vectors) -> Examples:
        return cls(questions, np.ones(questions.shape[:2], dtype=np.float32), _unit(questions.mean(axis=1)), tools)

    def some(self, count: int) -> Vectors:
        """(B, D) about `count` of the questions, of as many kinds."""
        step = max(1, len(self.questions) // count)
        return self.questions[::step, 0].astype(np.float32) / self.lengths[::step, :1]

    def shift(self, vector: Vectors) -> Vectors:
        """(D,) -> (D,): 0.7 sure d, which is added to a query. Zeros if no example is near.

        >>> kinds = Examples.of(np.eye(3, dtype=np.float32)[[[0]] * 6], np.eye(3, dtype=np.float32)[[2] * 6])
        >>> kinds.shift(np.array([1, 0, 0], dtype=np.float32)), kinds.shift(np.array([0, 1, 0], dtype=np.float32))
        (array([0. , 0. , 0.7], dtype=float32), array([0., 0., 0.], dtype=float32))
        """
        means = self.centres @ vector
        looked_at = np.argpartition(-means, LOOKED_AT)[:LOOKED_AT] if len(means) > LOOKED_AT else np.arange(len(means))
        cosines = self.questions[looked_at].astype(np.float32) @ vector / self.lengths[looked_at]
        near = cosines.max(axis=1)
        first = np.argpartition(-near, KINDS)[:KINDS]
        greatest = float(near[first].max())
        sure = min(max((greatest - FAR) / (NEAR - FAR), 0.0), 1.0)
        if not sure:
            return np.zeros_like(vector)
        weights = np.exp((near[first] - greatest) / TEMPERATURE)
        direction = weights @ self.tools[looked_at[first]]
        return (SHARE * sure / np.linalg.norm(direction) * direction).astype(np.float32)


@made_once
def shipped_examples(model: str) -> Examples | None:
    """The examples as a model's vectors. None if no vectors ship for the model, or they are of other texts.

    The questions stay on disk, mapped into memory, because a query reads a fiftieth of them.
    """
    questions, kinds = vector_files(model)
    if not (questions.is_file() and kinds.is_file()):
        return None
    with np.load(BytesIO(kinds.read_bytes()), allow_pickle=False) as archive:
        if str(archive["texts"]) != digest():
            return None
        mapped = np.load(questions, mmap_mode="r", allow_pickle=False)
        return Examples(mapped, archive["lengths"], *(archive[key].astype(np.float32) for key in ("centres", "tools")))


def vector_files(model: str) -> tuple[Path, Path]:
    return DATA / f"{model}.npy", DATA / f"{model}.npz"


def digest() -> str:
    return hashlib.sha256(TEXTS.read_bytes()).hexdigest()[:16]


def _unit(rows: NDArray[np.float32]) -> Vectors:
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
