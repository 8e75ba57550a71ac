"""Embeddings and token counts by the hash of their text, so that a warm start computes none of them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from core.shared.errors import StoreError
from core.store.arrow import Array, Table, pa
from core.store.connection import Database, insert_arrow

WANTED = "SELECT unnest(?::VARCHAR[])"


class Vectors:
    """A cache on disk: what it does not have is left out of what it returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load_vectors(self, model: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Hash to vector, for those known of this model; the arrays are read-only."""
        found = self._database.read(
            f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({WANTED})",  # noqa: S608
            [model, list(hashes)],
        )
        blobs = (np.frombuffer(blob, dtype="<f4") for blob in found["vector"].to_pylist())
        return dict(zip(found["hash"].to_pylist(), blobs, strict=True))

    def save_vectors(self, model: str, mapping: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors, in place of those of the same hash.

        Raises StoreError, and stores none, where one is not one-dimensional or has NaN or infinity.
        """
        if mapping:
            arrays = [np.asarray(vector, dtype="<f4") for vector in mapping.values()]
            _require_finite(mapping.keys(), arrays)
            blobs = pa.array([array.tobytes() for array in arrays], pa.binary())
            models = pa.array([model] * len(blobs), pa.string())
            self._save("vectors", pa.table({"model": models, "hash": _texts(mapping), "vector": blobs}))

    def load_token_counts(self, hashes: Iterable[str]) -> dict[str, int]:
        """Hash to tokens, for those known."""
        found = self._database.read(
            f"SELECT hash, tokens FROM token_counts WHERE hash IN ({WANTED})",  # noqa: S608
            [list(hashes)],
        )
        return dict(zip(found["hash"].to_pylist(), found["tokens"].to_pylist(), strict=True))

    def save_token_counts(self, mapping: Mapping[str, int]) -> None:
        """Keep token counts, in place of those of the same hash."""
        if mapping:
            counts = pa.array(list(mapping.values()), pa.int64())
            self._save("token_counts", pa.table({"hash": _texts(mapping), "tokens": counts}))

    def _save(self, table: str, rows: Table) -> None:
        with self._database.transaction() as connection:
            insert_arrow(connection, f"INSERT OR REPLACE INTO {table} SELECT * FROM incoming", rows)  # noqa: S608


def _texts(mapping: Mapping[str, object]) -> Array:
    return pa.array(list(mapping), pa.string())


def _require_finite(hashes: Collection[str], arrays: list[NDArray[np.float32]]) -> None:
    for hash_, array in zip(hashes, arrays, strict=True):
        if array.ndim != 1 or not np.isfinite(array).all():
            raise StoreError(f"The vector of {hash_} is not a row of finite numbers; compute it again.")
