from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.embedding.base import unit_rows
from core.index.flat import FlatIndex
from core.index.utility_index import UtilityIndex


def plain(vectors: np.ndarray, costs: np.ndarray, query: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """EHRR (3)/(7) as written: (1) clipped, utility, and the order by utility, similarity, row."""
    products = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    similarity = np.maximum(0.0, products)
    utility = similarity - costs @ weights
    return similarity, utility


def same_ranking(
    index: UtilityIndex, world: tuple[Any, Any], *, query: Any, weights: Any, k: int, allowed: Any
) -> None:
    """The k best are the k best of the formula; where the order differs, the utilities are the same to 1e-9."""
    similarity, utility = plain(*world, query, weights)
    rows = np.flatnonzero(allowed) if allowed is not None else np.arange(len(utility))
    order = rows[np.lexsort((rows, -similarity[rows], -utility[rows]))][:k]
    found = index.top_k(query, weights, k, allowed=allowed)
    assert len(set(found.rows.tolist())) == len(order)
    assert set(found.rows.tolist()) <= set(rows.tolist())
    tolerance = 1e-9 * (1 + np.abs(utility).max(initial=0.0))
    np.testing.assert_allclose(found.utilities, utility[order], atol=tolerance)
    np.testing.assert_allclose(utility[found.rows], utility[order], atol=tolerance)


worlds = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "rows": st.integers(1, 120),
        "extra": st.integers(1, 2),
        "k": st.integers(1, 12),
        "scale": st.sampled_from([0.0, 0.01, 1.0, 30.0, 1e4]),
        "levels": st.sampled_from([0, 1, 3]),
        "masked": st.booleans(),
    }
)


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_the_ranking_is_that_of_the_plain_formula_also_after_updates(world: dict[str, Any]) -> None:
    rng = np.random.default_rng(world["seed"])
    size = world["rows"]
    vectors = unit_rows(rng.normal(size=(size, 6)))
    costs = rng.gamma(1.0, world["scale"] + 1e-12, size=(size, world["extra"]))
    if world["levels"]:  # few different rows: exact ties in vector and cost
        vectors = vectors[rng.integers(0, min(size, world["levels"]), size)]
        costs = np.round(costs / (world["scale"] + 1)) * (world["scale"] + 1)
    index = UtilityIndex(vectors, costs)
    for _ in range(3):
        query = unit_rows(rng.normal(size=(1, 6)))[0]
        weights = rng.choice([0.0, 0.1, 0.25, 2.0], size=world["extra"])
        allowed = rng.random(size) < 0.5 if world["masked"] else None
        same_ranking(index, (vectors, costs), query=query, weights=weights, k=world["k"], allowed=allowed)
        row = int(rng.integers(size))
        costs[row] = rng.gamma(1.0, world["scale"] + 1e-12, size=world["extra"])
        index.update(row, costs[row])


def test_equal_rows_stand_in_the_order_of_their_rows() -> None:
    vectors = np.tile(unit_rows(np.random.default_rng(1).normal(size=(1, 384))), (300, 1))
    index = UtilityIndex(vectors, np.full((300, 1), 0.7))
    assert index.top_k(vectors[0], [0.3], 50).rows.tolist() == list(range(50))


def test_of_equal_utilities_the_higher_similarity_comes_first() -> None:
    index = UtilityIndex([[0.5, 0.0], [0.75, 0.0], [1.0, 0.0]], [[0.0], [0.25], [0.5]])
    found = index.top_k([1.0, 0.0], [1.0], 3)
    assert found.rows.tolist() == [2, 1, 0]
    assert found.utilities.tolist() == [0.5, 0.5, 0.5]


def test_a_negative_cosine_is_clipped_as_in_equation_1() -> None:
    index = UtilityIndex([[-1.0, 0.0], [0.1, 0.0]], [[0.0], [9.0]])
    found = index.top_k([1.0, 0.0], [1.0], 2)
    assert found.rows.tolist() == [0, 1]
    np.testing.assert_allclose(found.utilities, [0.0, -8.9])


def test_the_clip_counts_however_many_rows_have_a_positive_cosine() -> None:
    cosines = np.append(np.linspace(0.5, 0.4, 200), -1.0)
    index = UtilityIndex(cosines[:, None], np.append(np.ones(200), 0.1)[:, None])
    found = index.top_k([1.0], [1.0], 2)
    assert found.rows.tolist() == [200, 0]
    np.testing.assert_allclose(found.utilities, [-0.1, -0.5])


def test_differences_below_float32_still_decide() -> None:
    steps = np.random.default_rng(3).permutation(400)
    costs = 0.5 + 1e-12 * steps
    assert len(set(costs.astype(np.float32).tolist())) == 1
    index = UtilityIndex(np.ones((400, 1)), costs[:, None])
    assert index.top_k([1.0], [0.25], 5).rows.tolist() == np.argsort(steps)[:5].tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_a_sweep_is_its_searches_one_by_one(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    index = UtilityIndex(unit_rows(rng.normal(size=(80, 5))), rng.random((80, 2)))
    query, weights = unit_rows(rng.normal(size=(1, 5)))[0], rng.random((count, 2))
    swept = index.sweep(query, weights, 4)
    for line, one in enumerate(weights):
        alone = index.top_k(query, one, 4)
        assert swept.rows[line].tolist() == alone.rows.tolist()
        assert swept.utilities[line].tolist() == alone.utilities.tolist()


def test_few_rows_none_and_none_allowed() -> None:
    one = UtilityIndex([[1.0, 0.0]], [[1.0]])
    assert one.top_k([1.0, 0.0], [0.5], 9).rows.tolist() == [0]
    assert one.top_k([1.0, 0.0], [0.5], 9, allowed=np.zeros(1, dtype=bool)).rows.tolist() == []
    empty = UtilityIndex(np.zeros((0, 2)), np.zeros((0, 1)))
    assert len(empty) == 0
    assert empty.top_k([1.0, 0.0], [0.5], 3).utilities.tolist() == []
    assert one.top_k([0.0, 0.0], [0.5], 1).utilities.tolist() == [-0.5]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 1e31])
def test_costs_and_weights_that_are_no_costs_are_refused(bad: float) -> None:
    index = UtilityIndex(np.eye(2), np.ones((2, 1)))
    with pytest.raises(ValueError, match="costs"):
        UtilityIndex(np.eye(2), [[1.0], [bad]])
    with pytest.raises(ValueError, match="costs"):
        index.update(0, [bad])
    with pytest.raises(ValueError, match="weights"):
        index.top_k([1.0, 0.0], [bad], 1)
    with pytest.raises(ValueError, match="finite"):
        index.top_k([np.nan, 0.0], [1.0], 1)
    assert index.top_k([1.0, 0.0], [1.0], 1).utilities.tolist() == [0.0]


def test_shapes_that_do_not_fit_are_refused() -> None:
    index = UtilityIndex(np.eye(2), np.ones((2, 1)))
    for call in (
        lambda: UtilityIndex(np.eye(2), np.ones((3, 1))),
        lambda: UtilityIndex(np.ones(2), np.ones((2, 1))),
        lambda: UtilityIndex([[np.inf, 0.0]], [[0.0]]),
        lambda: index.update(0, [1.0, 2.0]),
        lambda: index.update(2, [1.0]),
        lambda: index.update(-1, [1.0]),
        lambda: index.top_k([1.0], [1.0], 1),
        lambda: index.top_k([1.0, 0.0], [1.0, 1.0], 1),
        lambda: index.top_k([1.0, 0.0], [1.0], 0),
        lambda: index.top_k([1.0, 0.0], [1.0], 1, allowed=np.ones(3, dtype=bool)),
    ):
        with pytest.raises(ValueError, match=r"shape|finite numbers|takes"):
            call()


def test_the_flat_index_says_where_rows_are_missing() -> None:
    index = FlatIndex(np.eye(3))
    products, rows = index.search(np.eye(3)[:1], 2, np.array([False, True, False]))
    assert rows.tolist() == [[1, -1]]
    assert products[0, 0] == 0.0
