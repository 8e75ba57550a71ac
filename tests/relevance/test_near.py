"""The nearest rows of every row are those that looking at every pair finds, however they are found."""

from __future__ import annotations

import numpy as np
import pytest

from core.relevance import vectors
from core.relevance.vectors import nearest_above

COUNT, WIDTH = 250, vectors.AXES + 32  # takes the bound, and several tiles


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PLAIN", 100), ("TILE", 48), ("ACROSS", 96), ("HELD", 500), ("GATHERED", 300)):
        monkeypatch.setattr(vectors, name, value)


def world(count: int) -> np.ndarray:
    """Unit rows around a few centres, with copies and a row of zeros."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10, WIDTH))[rng.integers(0, 10, count)] + 0.35 * rng.normal(size=(count, WIDTH))
    rows[5::47] = rows[3]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[7] = 0.0
    return rows.astype(np.float32)


def every_pair(rows: np.ndarray, k: int, least: float, owner: np.ndarray | None = None) -> list[tuple[int, int, float]]:
    """The plain way: all cosines of a row, sorted."""
    pairs: list[tuple[int, int, float]] = []
    for row in range(len(rows)):
        cosines = np.vecdot(rows, rows[row])
        cosines[row] = -2.0
        if owner is not None:
            cosines[owner == owner[row]] = -2.0
        best = np.argsort(-cosines, kind="stable")[:k]
        pairs += [(row, int(column), float(cosines[column])) for column in best if cosines[column] >= least]
    return pairs


@pytest.mark.parametrize("count", [0, 1, 30, COUNT])
def test_the_nearest_are_those_of_every_pair(count: int) -> None:
    rows = world(max(count, 8))[:count]
    owner = np.arange(count) // 3
    for k, least in ((1, 0.9), (10, 0.8), (3, 0.95)):
        pairs = nearest_above(rows, k, least)
        assert list(zip(*(column.tolist() for column in pairs), strict=True)) == every_pair(rows, k, least)
    pairs = nearest_above(rows, 1, 0.8, allowed=lambda row, other: owner[row] != owner[other])
    assert list(zip(*(column.tolist() for column in pairs), strict=True)) == every_pair(rows, 1, 0.8, owner)
    assert count < 9 or len(pairs[0])
    pairs = nearest_above(rows, 3, 0.8, of=np.arange(1, count, 7))
    expected = [pair for pair in every_pair(rows, 3, 0.8) if pair[0] % 7 == 1]
    assert list(zip(*(column.tolist() for column in pairs), strict=True)) == expected


def test_progress_ends_with_all_rows_and_may_stop_the_work() -> None:
    progress: list[tuple[int, int]] = []
    nearest_above(world(53), 1, 0.9, progress=lambda count, total: progress.append((count, total)))
    assert [total for _, total in progress] == [53, 53]
    assert 0 < progress[0][0] <= progress[1][0] == 53
