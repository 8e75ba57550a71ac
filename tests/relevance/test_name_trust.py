"""Names count as far as they agree with the description."""

from __future__ import annotations

import numpy as np

from core.relevance.catalog_index import Trust, ViewLayer, name_trust
from core.relevance.lexical import LexicalIndex

X, Y, Z = np.eye(3, dtype=np.float32)
ONLY_NAMES = {"names": 1.0, "description": 0.0, "lexical": 0.0}


def layer(names: np.ndarray, descriptions: np.ndarray) -> ViewLayer:
    trust = Trust(name_trust(names, descriptions), frozenset({"names"}), "description")
    return ViewLayer(
        {"names": names, "description": descriptions}, lambda: LexicalIndex(["a"] * len(names)), lambda: trust
    )


def test_trust_rises_from_unrelated_to_agreeing_names():
    angles = np.arccos(np.array([0.0, 0.1, 0.25, 0.4, 0.9]))
    names = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1).astype(np.float32)
    trusted = name_trust(names, np.tile(X, (5, 1)))
    np.testing.assert_allclose(trusted, [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-5)


def test_a_tool_without_a_description_keeps_its_name():
    assert name_trust(X[None], np.zeros((1, 3), dtype=np.float32)).tolist() == [1.0]


def test_a_brand_name_is_replaced_by_its_description_and_a_telling_one_is_not():
    telling, brand = X, Y
    found = layer(np.stack([telling, brand]), np.stack([X, X]))
    assert found.similarity(X, {}, ONLY_NAMES, doubt_names=True).tolist() == [1.0, 1.0]
    assert found.similarity(X, {}, ONLY_NAMES, doubt_names=False).tolist() == [1.0, 0.0]
    assert found.similarity(Y, {}, ONLY_NAMES, doubt_names=True).tolist() == [0.0, 0.0]


def test_half_trust_mixes_the_two_views():
    half = np.array([0.25, np.sqrt(1 - 0.25**2), 0.0], dtype=np.float32)
    found = layer(half[None], X[None])
    np.testing.assert_allclose(found.similarity(Z, {}, ONLY_NAMES, doubt_names=True), [0.0], atol=1e-6)
    expected = 0.5 * 0.25 + 0.5 * 1.0
    np.testing.assert_allclose(found.similarity(X, {}, ONLY_NAMES, doubt_names=True), [expected], atol=1e-5)
