"""The nearest rows of every row are those that looking at every pair finds, however they are found."""

from __future__ import annotations

import numpy as np
import pytest

from core.relevance import near
from core.relevance.near import nearest_above


def world(count: int, *, seed: int = 0) -> np.ndarray:
    """Unit rows around a few centres, with copies, a row of zeros, and an owner for every third."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 384))[rng.integers(0, 40, count)] + 0.35 * rng.normal(size=(count, 384))
    rows[5::97] = rows[3]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[7] = 0.0
    return rows.astype(np.float32)


def every_pair(rows: np.ndarray, k: int, least: float, owner: np.ndarray | None = None) -> list[tuple[int, int, float]]:
    """The plain way: all cosines of a row, sorted."""
    found: list[tuple[int, int, float]] = []
    for row in range(len(rows)):
        cosines = np.vecdot(rows, rows[row])
        cosines[row] = -2.0
        if owner is not None:
            cosines[owner == owner[row]] = -2.0
        best = np.lexsort((np.arange(len(rows)), -cosines))[:k]
        found += [(row, int(other), float(cosines[other])) for other in best if cosines[other] >= least]
    return found


@pytest.mark.parametrize("count", [0, 1, 30, near.PLAIN + 150])  # the last takes the bound, and several tiles
def test_the_nearest_are_those_of_every_pair(count: int) -> None:
    rows = world(max(count, 8))[:count]
    owner = np.arange(count) // 3
    for k, least in ((1, 0.9), (10, 0.8), (3, 0.95)):
        found = nearest_above(rows, k, least)
        assert list(zip(*(part.tolist() for part in found), strict=True)) == every_pair(rows, k, least)
    found = nearest_above(rows, 1, 0.8, allowed=lambda one, other: owner[one] != owner[other])
    assert list(zip(*(part.tolist() for part in found), strict=True)) == every_pair(rows, 1, 0.8, owner)
    assert count < 9 or len(found[0])
    some = np.arange(1, count, 7)
    found = nearest_above(rows, 3, 0.8, of=some)
    wanted = [pair for pair in every_pair(rows, 3, 0.8) if pair[0] in {*some.tolist()}]
    assert list(zip(*(part.tolist() for part in found), strict=True)) == wanted


def test_progress_ends_with_all_rows_and_may_stop_the_work() -> None:
    told: list[tuple[int, int]] = []
    nearest_above(world(near.TILE + 5), 1, 0.9, progress=lambda done, of: told.append((done, of)))
    assert [of for _, of in told] == [near.TILE + 5] * 2
    assert 0 < told[0][0] <= told[1][0] == near.TILE + 5


def test_copies_of_one_row_keep_the_first_of_them_in_bounded_memory() -> None:
    rows = np.repeat(world(8)[:1], 1_600, axis=0)  # more pairs than are held at a time
    one, other, _ = nearest_above(rows, 2, 0.9)
    assert near.HELD < 1_600**2 / 2
    assert other.reshape(1_600, 2)[[0, 1, 2, 1_599]].tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert one.tolist() == np.repeat(np.arange(1_600), 2).tolist()
