"""The rerankers that need no model of the user: token by token, words in common, ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.routers.reranking import RERANKERS, Documents, fusion, max_sim, places
from tests.cases import each

OFFLINE = ("late", "lexical", "fusion")
HOSTILE = '<script>alert("x")</script> \u202e\x00\x1b[31m {{7*7}} ' + "é" * 3_000


def tokens(texts):
    """A unit row for each word: equal words are equal, others are at right angles."""
    known = {word: row for row, word in enumerate(sorted({word for text in texts for word in text.split()}))}
    rows = np.eye(max(1, len(known)), dtype=np.float32)
    return [rows[[known[word] for word in text.split()]] for text in texts]


@pytest.fixture(params=OFFLINE)
def reranker(request):
    """Each of them."""
    return RERANKERS[request.param]


def rerank(reranker, query, *texts):
    return reranker(query, Documents(texts, {"similarity": np.zeros(len(texts))}), tokens, "")


def test_the_document_that_says_what_is_asked_comes_first(reranker) -> None:
    scores = rerank(reranker, "send a letter", "list all files", "send a letter to somebody", "send money")
    assert scores.argmax() == 1
    assert scores.argmin() == 0


def test_scores_are_shares_and_equal_documents_are_equal(reranker) -> None:
    scores = rerank(reranker, "read a file", "read a file", "write", "read a file", "")
    assert scores.shape == (4,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[0] == scores[2]


@each("query", ["", " ", HOSTILE, "读取文件 🗂️"])
def test_any_text_gets_a_score(reranker, query) -> None:
    assert np.isfinite(rerank(reranker, query, "read a file", HOSTILE)).all()
    assert rerank(reranker, query).shape == (0,)


def test_late_interaction_is_the_mean_over_the_query_of_the_best_of_the_document() -> None:
    query = np.array([[1.0, 0.0], [0.6, 0.8]])
    document = np.array([[0.0, 1.0], [0.8, 0.6]])
    # <q1, d> = 0, 0.8 -> 0.8;  <q2, d> = 0.8, 0.48 + 0.48 = 0.96 -> 0.96
    assert max_sim(query, [document]).tolist() == [pytest.approx((0.8 + 0.96) / 2, abs=1e-6)]


def test_fusion_looks_at_ranks_and_not_at_scales() -> None:
    def by(scale):
        views = {"a": scale * np.array([3.0, 2.0, 1.0]), "b": np.array([0.1, 0.3, 0.2])}
        return fusion("", Documents(("x", "y", "z"), views))

    assert by(1.0).tolist() == by(1_000.0).tolist()
    assert by(1.0).argmax() == 1  # second and first; the first one is first and last
    # no word in common: a third view in which all share the first place
    assert by(1.0)[1] == pytest.approx((10 / 11 + 1 + 1) / 3)


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(-5, 5)))
def test_places_count_who_is_better(scores) -> None:
    assert places(scores).tolist() == [int((scores > one).sum()) for one in scores]
