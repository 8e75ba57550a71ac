"""The map: seeded, finite for whatever comes, and neighbours stay neighbours far better than by a projection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.relevance.encoder import unit_rows
from core.relevance.map_layout import coordinates, distinct_rows, kept_share, placed
from tests.cases import each

DIMENSION = 32


def clusters(count: int = 12, size: int = 25, *, spread: float = 0.35, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows around `count` directions, and each row's cluster."""
    rng = np.random.default_rng(seed)
    middles = np.repeat(unit_rows(rng.normal(size=(count, DIMENSION))), size, axis=0)
    noise = unit_rows(rng.normal(size=middles.shape))
    return unit_rows(middles + spread * noise), np.repeat(np.arange(count), size)


def ten_nearest(distances: np.ndarray) -> list[set[int]]:
    """The ten nearest of each row without itself."""
    np.fill_diagonal(distances, np.inf)
    return [set(line.tolist()) for line in np.argsort(distances, axis=1, kind="stable")[:, :10]]


def kept_by_hand(vectors: np.ndarray, xy: np.ndarray) -> float:
    exact = ten_nearest(1 - vectors.astype(float) @ vectors.T.astype(float))
    drawn_nearest = ten_nearest(np.linalg.norm(xy[:, None].astype(float) - xy[None], axis=2))
    return float(np.mean([len(a & b) / 10 for a, b in zip(exact, drawn_nearest, strict=True)]))


def test_the_same_vectors_give_the_same_map_and_another_seed_another() -> None:
    vectors, _ = clusters(6, 20)
    first = coordinates(vectors, seed=3)
    assert (coordinates(vectors, seed=3) == first).all()
    assert not np.allclose(
        coordinates(vectors, seed=4, most=60, landmarks=60), coordinates(vectors, seed=3, most=60, landmarks=60)
    )


def test_the_order_of_the_tools_does_not_matter() -> None:
    vectors, _ = clusters(5, 12)
    order = np.random.default_rng(1).permutation(len(vectors))
    assert (coordinates(vectors[order]) == coordinates(vectors)[order]).all()


def test_neighbours_stay_together() -> None:
    vectors, cluster = clusters(20, 12)
    xy = coordinates(vectors)
    share = kept_share(vectors, xy)
    assert share == pytest.approx(kept_by_hand(vectors, xy), abs=0.01)
    assert share > 0.55
    projected = (vectors - vectors.mean(axis=0)) @ np.linalg.svd(vectors - vectors.mean(axis=0))[2][:2].T
    assert share > kept_by_hand(vectors, projected) + 0.2
    same = [cluster[list(near)] == cluster[row] for row, near in enumerate(ten_nearest(_distances(xy)))]
    assert np.mean(same) > 0.97


def test_beyond_the_landmarks_the_others_lie_among_them() -> None:
    vectors, cluster = clusters(8, 60)
    xy = coordinates(vectors, most=160, landmarks=160)
    assert np.isfinite(xy).all()
    assert (xy >= 0).all()
    assert (xy <= 1).all()
    same = [cluster[list(near)] == cluster[row] for row, near in enumerate(ten_nearest(_distances(xy)))]
    assert np.mean(same) > 0.95
    assert kept_share(vectors, xy) > 0.2


@each("count", [2, 40, 500])
@each("value", [0.0, 0.5])
def test_equal_vectors_lie_side_by_side(count: int, value: float) -> None:
    xy = coordinates(np.full((count, 8), value, dtype=np.float32))
    assert ((xy >= 0) & (xy <= 1)).all()
    assert len(np.unique(xy, axis=0)) == count  # each can be seen and clicked
    assert np.abs(xy - 0.5).max() < 0.4


@settings(max_examples=12)
@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 2**31))
def test_whatever_comes_has_a_finite_place(count: int, distinct: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.normal(size=(distinct, 4)))[rng.integers(0, distinct, count)]
    xy = coordinates(rows, seed=seed)
    assert (xy.shape, xy.dtype, len(np.unique(xy, axis=0))) == ((count, 2), np.float32, count)
    assert 0 <= kept_share(rows, xy) <= 1
    assert ((xy >= 0) & (xy <= 1)).all()


def test_a_text_lies_at_its_most_similar_tools() -> None:
    xy = np.array([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]], dtype=np.float32)
    first, second, none = placed(np.array([[0.9, 0.2, 0.1], [0.7, 0.7, 0.2], [-0.3, -0.2, -0.1]]), xy)
    np.testing.assert_allclose(first, xy[0], atol=1e-3)
    np.testing.assert_allclose(second, [0.5, 0.1], atol=1e-3)
    assert np.isfinite(none).all()
    assert placed(np.zeros((1, 0)), np.zeros((0, 2))).tolist() == [[0.5, 0.5]]
    np.testing.assert_allclose(placed(np.array([[0.4]]), xy[:1]), xy[:1])


def _distances(xy: np.ndarray) -> np.ndarray:
    return np.linalg.norm(xy[:, None].astype(float) - xy[None], axis=2)


def test_distinct_rows_are_those_of_numpy_and_alike_first_columns_do_not_join_them() -> None:
    rng = np.random.default_rng(4)
    for count, width in ((0, 3), (1, 1), (40, 2), (200, 8)):
        base = rng.standard_normal((count, width)).astype(np.float32)
        alike = base.copy()
        alike[:, 3:] += 1
        rows = rng.permutation(np.concatenate([base, base[::2], alike]))
        distinct, place = distinct_rows(rows)
        assert np.array_equal(distinct[place], rows)
        assert len(distinct) == len(np.unique(rows, axis=0))
