import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import ParameterError
from core.relevance.catalog_index import ViewLayer, shares
from core.relevance.encoder import unit_rows
from core.relevance.lexical import LexicalIndex
from tests.cases import each

NAMES = ["a", "b", "lexical"]


@given(st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1e6)).filter(lambda w: sum(w.values()) > 1e-6))
def test_shares_sum_to_one_and_keep_proportions(weights: dict[str, float]) -> None:
    found = shares(weights, NAMES)
    assert list(found) == NAMES
    assert math.isclose(sum(found.values()), 1.0)
    assert all(0 <= share <= 1 for share in found.values())


@each("weights", [{}, {"a": 0.0}, {"a": -1.0, "b": 3.0}, {"a": math.nan}, {"a": math.inf}, {"z": 1.0}])
def test_weights_that_are_none_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        shares(weights, NAMES)


@given(st.integers(0, 10**6), st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).filter(lambda w: sum(w) > 0.01))
def test_the_mixture_is_the_weighted_mean_of_the_cosines(seed: int, weights: list[float]) -> None:
    rng = np.random.default_rng(seed)
    a, b = unit_rows(rng.normal(size=(9, 7))), unit_rows(rng.normal(size=(9, 7)))
    query = unit_rows(rng.normal(size=(1, 7)))[0]
    lexical = LexicalIndex([f"word{n} common" for n in range(9)])
    mixture = shares(dict(zip(NAMES, weights, strict=True)), NAMES)
    found = ViewLayer({"a": a, "b": b}, lambda: lexical).similarity(query, {"word3 common": 1.0}, mixture)
    dense = np.maximum(0, mixture["a"] * (a @ query) + mixture["b"] * (b @ query))
    np.testing.assert_allclose(found, dense + mixture["lexical"] * lexical.coverage("word3 common"), atol=1e-6)


def test_one_view_alone_is_not_copied_and_answers_do_not_share_memory() -> None:
    matrix = unit_rows(np.random.default_rng(0).normal(size=(4, 5)))
    layer = ViewLayer({"a": matrix, "b": matrix}, lambda: LexicalIndex(["", "", "", ""]))
    mixture = shares({"a": 2.0}, NAMES)
    first = layer.similarity(matrix[0], {}, mixture)
    kept = first.copy()
    first += 1
    np.testing.assert_array_equal(layer.similarity(matrix[0], {}, mixture), kept)
    assert kept[0] == pytest.approx(1.0)
