"""EHRR (3), (7), (9): utility, ranking and selections; Propositions 4 and 5; similarity with its contrast raised."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.utility import best_rows, calibrated, highest, ranking

promise = settings(derandomize=True, max_examples=40)
utilities = st.lists(st.floats(-5.0, 1.0), min_size=1, max_size=8)


def top(values, n):
    values = np.array(values)
    return [int(row) for row in ranking(values, np.zeros(len(values)), np.arange(len(values)))[:n]]


@promise
@given(utilities, st.integers(1, 8))
def test_the_top_n_is_the_best_of_all_subsets_of_that_size(values, n):
    size = min(n, len(values))
    best = max(sum(values[row] for row in subset) for subset in combinations(range(len(values)), size))
    assert sum(values[row] for row in top(values, n)) == pytest.approx(best, abs=1e-12)


@promise
@given(utilities, st.integers(1, 8), st.floats(0.0, 0.5), st.integers(0, 2**32 - 1))
def test_the_regret_of_estimated_utilities_is_at_most_two_n_delta(true, n, delta, seed):
    estimated = np.array(true) + np.random.default_rng(seed).uniform(-delta, delta, len(true))
    regret = sum(sorted(true, reverse=True)[:n]) - sum(true[row] for row in top(estimated, n))
    assert -1e-9 <= regret <= 2 * n * delta + 1e-9


@promise
@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.sampled_from([0.5, 0.6]), st.sampled_from("abc")), max_size=10
    )
)
def test_ranking_is_by_utility_then_similarity_then_name(rows):
    names = [f"{name}{row}" for row, (_, _, name) in enumerate(rows)]
    order = np.array([sorted(names).index(name) for name in names], dtype=np.int64)
    order_got = ranking(np.array([u for u, _, _ in rows]), np.array([s for _, s, _ in rows]), order)
    naive = sorted(range(len(rows)), key=lambda row: (-rows[row][0], -rows[row][1], names[row]))
    assert order_got.tolist() == naive


@promise
@given(st.data(), st.integers(0, 9), st.integers(1, 4), st.sampled_from([None, (2,), (2, 3)]))
def test_selections_are_the_beginning_of_the_ranking(data, width, n, lead):
    """The k highest and the n best of rows, with ties, over points whose k and n differ."""
    shape = (*(lead or ()), width)

    def drawn(values):
        return np.array(
            data.draw(st.lists(st.sampled_from(values), min_size=prod(shape), max_size=prod(shape))), dtype=float
        ).reshape(shape)

    utilities, similarity = drawn([0.1, 0.2, -np.inf]), drawn([0.5, 0.6])[(0,) * len(lead or ())]
    order = np.array(data.draw(st.permutations(range(width))), dtype=np.int64)
    count = n if not lead else np.array([n, n + 1]).reshape(2, *[1] * len(lead))
    best = best_rows(utilities, similarity, np.arange(width), order, count)
    listed = highest(utilities, similarity, order, count) if width else None
    for point in np.ndindex(shape[:-1]):
        size = n if not lead else n + point[0]
        ranked = ranking(utilities[point], similarity, order)
        assert [row for row in best[point].tolist() if row >= 0] == [
            r for r in ranked if np.isfinite(utilities[point][r])
        ][:size]
        assert listed is None or np.flatnonzero(listed[point]).tolist() == sorted(ranked[:size].tolist())


shares = st.floats(0.0, 1.0)


@given(st.lists(shares, min_size=2, max_size=20), st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_it_stays_in_the_unit_interval_and_keeps_the_order(similarities, midpoint, steepness):
    raw = np.array(similarities)
    raised = calibrated(raw, midpoint=midpoint, steepness=steepness)
    assert ((raised >= 0) & (raised <= 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(raised[order]) >= -1e-12).all()  # but for rounding


@given(st.floats(0.2, 1.0), st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_the_share_midpoint_of_the_best_counts_one_half(best, midpoint, steepness):
    raised = calibrated(np.array([best, midpoint * best]), midpoint=midpoint, steepness=steepness)
    assert abs(raised[1] - 0.5) < 1e-12
    assert abs(raised[0] - 1 / (1 + midpoint**steepness)) < 1e-12
