"""The query map: what it learns, and how far it can move anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.relevance.encoder import unit_rows
from core.relevance.feedback import LIMIT, QueryMap, targets_of
from tests.cases import each


def drawn(seed: int, count: int, width: int = 12) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, width)))


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.01, 100), st.integers(0, 30))
@settings(max_examples=30)
def test_no_tools_cosine_moves_by_more_than_the_limit(seed: int, count: int, ridge: float, copies: int) -> None:
    queries, targets = drawn(seed, count), drawn(seed + 1, count)
    poisoned = [np.concatenate([rows, np.repeat(rows[:1], copies, axis=0)]) for rows in (queries, targets)]
    found = QueryMap.fit(*poisoned, ridge=ridge).delta(drawn(seed + 2, 5))
    assert np.linalg.norm(found, axis=1).max() <= LIMIT + 1e-5
    assert np.abs(found @ drawn(seed + 3, 20).T).max() <= LIMIT + 1e-5


@pytest.mark.parametrize("count", [5, 40])
def test_both_ways_to_solve_it_are_one(count: int) -> None:
    queries, targets = drawn(1, count), drawn(2, count)
    q, residual = queries.astype(float), (targets - queries).astype(float)
    whole = np.linalg.solve(q.T @ q + 3.0 * np.eye(12), q.T @ residual)
    found = QueryMap.fit(queries, targets, ridge=3.0)
    asked = drawn(3, 1)[0]
    assert found.delta(asked) == pytest.approx(asked @ whole, abs=1e-5)
    assert len(found.first) == min(count, 12)


def test_a_query_like_those_learnt_from_goes_to_their_tools() -> None:
    queries, targets = drawn(4, 3), drawn(5, 3)
    moved = queries[0] + QueryMap.fit(queries, targets, ridge=0.1).delta(queries[0])
    assert moved @ targets[0] > queries[0] @ targets[0] + 0.3


def test_more_ridge_moves_less() -> None:
    queries, targets = drawn(6, 8), drawn(7, 8)
    lengths = [np.linalg.norm(QueryMap.fit(queries, targets, ridge=r).delta(queries[0])) for r in (0.1, 1, 10, 1000)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 0.01


@each("ridge", [0.0, -1.0, float("nan")])
def test_a_ridge_that_is_none_is_refused(ridge: float) -> None:
    with pytest.raises(ValueError, match="ridge above 0"):
        QueryMap.fit(drawn(1, 2), drawn(2, 2), ridge=ridge)


def test_targets_are_mean_directions() -> None:
    rows = np.eye(3, dtype=np.float32)
    found = targets_of(rows, [[0, 1], [], [2]])
    assert found == pytest.approx(np.array([[0.5**0.5, 0.5**0.5, 0], [0, 0, 0], [0, 0, 1]]))
