"""Bounds hold whatever the rows, moments are those of all tools, and the fit of the few is the fit of all."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from core.relevance.bounds import FitMatcher, reached
from core.relevance.coarse import BLOCK, CoarseRows, StoredRows
from core.relevance.encoder import unit_rows
from core.relevance.learnt import NOTHING_LEARNT, LearntValues
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.scoring import TOP, moments, moments_around
from tests.cases import each
from tests.relevance.many_tools import many_tools, some_requests, with_labels

ALL = np.arange(3000)


def drawn(rows: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def adversarial() -> np.ndarray:
    """Rows that eight bits change most: one large part, and many just below half a step (first half) or above it. The first half has one
    part more, so that its products with the mean of all parts are greater.
    """
    rows = np.zeros((64, 384), dtype=np.float32)
    rows[:, 0] = 1.0
    rows[:, 1:] = 0.5 / 127 + np.linspace(-1e-5, 1e-5, 64)[:, None]
    rows[:32, 1] += 0.2
    return rows


@pytest.mark.parametrize(
    "rows", [unit_rows(drawn(500, 384, 1)), adversarial(), np.zeros((3, 384), np.float32), drawn(9, 2, 4)]
)
def test_a_product_in_eight_bits_is_within_its_error(rows: np.ndarray) -> None:
    coarse = CoarseRows.of(rows)
    for seed in range(5):
        query = unit_rows(drawn(1, rows.shape[1], seed))[0] * np.float32(1 + seed)
        products, error = coarse.products(query)
        assert (np.abs(products - rows.astype(np.float64) @ query) <= error + 1e-6).all()


def test_products_of_wide_rows_stay_within_32_bits() -> None:
    rows = np.full((3, 1024), 1 / 32, dtype=np.float32)
    products, error = CoarseRows.of(rows).products(rows[0])
    assert (np.abs(products - 1) <= error + 1e-6).all()


def test_eight_bits_alone_would_rank_wrongly_and_the_error_says_so() -> None:
    rows, query = adversarial(), np.full(384, 384**-0.5, dtype=np.float32)
    products, error = CoarseRows.of(rows).products(query)
    exact = rows @ query
    best = exact.argmax()
    assert products[best] < np.sort(products)[32]
    assert products[best] + error >= products.max() - error


@pytest.mark.parametrize("times", [None, np.random.default_rng(2).integers(0, 9, 700)])
def test_moments_in_closed_form_are_those_of_all_products(times: np.ndarray | None) -> None:
    rows, query = unit_rows(drawn(700, 384, 5) + 0.3), unit_rows(drawn(1, 384, 6))[0]
    every = np.repeat(rows @ query, np.ones(700, np.int64) if times is None else times)
    prior = (0.05, 0.08)
    closed = moments_around(*CoarseRows.of(rows, times).moments(query), prior)
    np.testing.assert_allclose(closed, moments(every, prior), rtol=0, atol=1e-9)


def test_as_many_as_asked_for_reach_a_number_and_few_more() -> None:
    for seed in range(5):
        values = drawn(9001, 1, seed)[:, 0]
        assert 100 <= (values >= reached(values, 100)).sum() < 300
    assert reached(drawn(50, 1, 0)[:, 0], 100) == drawn(50, 1, 0).min()


@cache
def every_learnt() -> dict[str, object]:
    world = many_tools()
    some = replace(NOTHING_LEARNT, requests=some_requests(world, ALL[::7], 3))
    return {
        "nothing": NOTHING_LEARNT,
        "requests of some": some,
        "requests of all": replace(NOTHING_LEARNT, requests=some_requests(world, ALL, 8)),
        "labels": with_labels(world, some),
        "calibrated": replace(some, values=LearntValues(weights={"dense": 1.1, "words": 0.3, "asked": 0.4}, slope=0.8, offset=-0.4)),
    }  # fmt: skip


@each("name", ["nothing", "requests of some", "requests of all", "labels", "calibrated"])
def test_the_fit_of_the_near_tools_is_that_of_all_tools_and_the_rest_is_within_its_bounds(name: str) -> None:
    world = many_tools()
    matcher = FitMatcher.of(world.index, world.encoder, every_learnt()[name])
    for question in world.questions[::3]:
        whole, _ = matcher.fit(question, "")
        bounds, _ = matcher.bounds(question, "")
        found = bounds.fit(bounds.near)
        assert set(np.argsort(-whole.relevance)[:TOP]) <= set(bounds.near.tolist())
        np.testing.assert_allclose(found.tools, whole.tools[bounds.near], atol=3e-7)
        np.testing.assert_allclose(found.relevance, whole.relevance[bounds.near], atol=1e-6)
        assert found.nothing == pytest.approx(whole.nothing, abs=3e-7)
        assert found.confidence == whole.confidence
        low, high = bounds.servers()
        assert (low <= whole.servers + 3e-7).all()
        assert (whole.servers <= high + 3e-7).all()


def test_a_hint_is_met_by_the_bounds_too() -> None:
    world = many_tools()
    matcher = FitMatcher.of(world.index, world.encoder, with_labels(world, NOTHING_LEARNT))
    question = world.questions[0]
    bounds, _ = matcher.bounds(question, "weather")
    np.testing.assert_allclose(
        bounds.fit(bounds.near).tools, matcher.fit(question, "weather")[0].tools[bounds.near], atol=3e-7
    )


def test_a_small_catalog_has_no_bounds() -> None:
    world = many_tools(100, coarse=False)
    assert FitMatcher.of(world.index, world.encoder).bounds("a file", "") == (None, 0.0)
    assert isinstance(world.index, RelevanceIndex)


def test_products_of_some_rows_are_those_of_all_to_the_last_bit() -> None:
    """Also those of the last rows, which BLAS adds up in another order where they fill no group."""
    rng = np.random.default_rng(5)
    matrix, vector = StoredRows.of(drawn(BLOCK + 400, 384, 5)), drawn(1, 384, 6)[0]
    whole = matrix @ vector
    for count in range(20):
        rows = np.sort(rng.choice(len(matrix), count, replace=False))
        assert np.array_equal(matrix.products(rows, vector), whole[rows])
        assert np.array_equal(matrix.side_by_side(rows)(vector), whole[rows])


def test_rows_in_sixteen_bits_read_as_single_precision() -> None:
    exact = unit_rows(drawn(BLOCK + 40, 384, 1))
    exact[3] = 0
    rows, queries = StoredRows.of(exact), unit_rows(drawn(2, 384, 2))
    assert np.abs(rows @ queries[0] - exact @ queries[0]).max() < 1e-5
    assert np.abs(rows @ queries.T - exact @ queries.T).max() < 1e-5
    assert np.abs(rows[:] - exact).max() < 5e-6  # half a step of a part of 0.3
    for at in (7, [3, 7], np.array([7, BLOCK + 1]), slice(None, None, 9)):
        assert np.array_equal(rows[at], rows[:][at])
    np.testing.assert_allclose(rows.times(7, 1.5), 1.5 * rows[7], rtol=1e-6)
    assert (rows.shape, rows[3].any()) == (exact.shape, False)
