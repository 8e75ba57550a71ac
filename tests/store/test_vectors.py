"""Embeddings and token counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.domain.errors import StoreError
from core.store import Store


def test_vectors_come_back_bit_for_bit(tmp_path: Path) -> None:
    matrix = np.random.default_rng(7).standard_normal((2000, 384)).astype(np.float32)
    vectors = {f"h{row}": vector for row, vector in enumerate(matrix)}
    with Store(tmp_path / "db") as store:
        store.vectors.save_vectors("mini", vectors)
    with Store(tmp_path / "db") as store:
        loaded = store.vectors.load_vectors("mini", [*vectors, "unknown"])
        assert loaded.keys() == vectors.keys()
        assert all(np.array_equal(loaded[hash_], vector) for hash_, vector in vectors.items())
        assert loaded["h0"].dtype == np.float32


def test_models_are_apart_and_a_hash_is_replaced(store: Store) -> None:
    first, second = np.array([1.0, -0.0], np.float32), np.array([2.0], np.float64)
    store.vectors.save_vectors("a", {"h": first})
    store.vectors.save_vectors("b", {"h": first})
    store.vectors.save_vectors("a", {"h": second, "new'; --": first[::-1]})
    assert store.vectors.load_vectors("a", ["h", "new'; --"])["h"].tolist() == [2.0]
    assert store.vectors.load_vectors("a", ["new'; --"])["new'; --"].tolist() == [0.0, 1.0]
    assert store.vectors.load_vectors("b", ["h", "h"])["h"].tolist() == [1.0, 0.0]
    assert store.vectors.load_vectors("c", ["h"]) == {}


def test_one_bad_vector_keeps_all_out(store: Store) -> None:
    for bad in ([np.nan], [[1.0, 2.0]], 3.0, [1e39]):
        with np.errstate(over="ignore"), pytest.raises(StoreError, match="bad is not a row of finite numbers"):
            store.vectors.save_vectors("a", {"good": np.ones(2, np.float32), "bad": np.asarray(bad)})
    assert store.vectors.load_vectors("a", ["good"]) == {}


def test_token_counts(store: Store) -> None:
    counts = {f"h{n}": n for n in range(3000)}
    store.vectors.save_token_counts(counts)
    store.vectors.save_token_counts({"h1": 99})
    assert store.vectors.load_token_counts([*counts, "unknown"]) == counts | {"h1": 99}


def test_pages_that_many_vectors_were_read_from_do_not_stay_in_memory(tmp_path: Path) -> None:
    keys = [f"h{number}" for number in range(20_000)]
    with Store(tmp_path / "db") as store:
        store.vectors.save_vectors("mini", dict(zip(keys, np.random.default_rng(0).random((20_000, 384)), strict=True)))
    with Store(tmp_path / "db") as store:
        assert len(store.vectors.load_vectors("mini", keys[::10])) == 2_000
        memory = store.vectors._database.read("SELECT sum(memory_usage_bytes) AS bytes FROM duckdb_memory()")
        assert memory["bytes"][0].as_py() < 20_000_000  # the rows are 30 MB
        limit = store.vectors._database.read("SELECT current_setting('memory_limit') AS words")["words"][0].as_py()
        assert limit == "122.0 MiB"
