"""Rerankers: token by token, words in common, ranks, and a user's cross-encoder, here tiny with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.domain.settings import Settings
from core.routers.reranking import RERANKERS, VARIABLE, Documents, RerankerError, cross_encoder, fusion, max_sim, places
from tests.cases import each

OFFLINE = ("late", "lexical", "fusion")
HOSTILE = '<script>alert("x")</script> \u202e\x00\x1b[31m {{7*7}} ' + "é" * 3_000


def tokens(texts):
    """A unit row for each word: equal words are equal, others are at right angles."""
    row_of_word = {word: row for row, word in enumerate(sorted({word for text in texts for word in text.split()}))}
    rows = np.eye(max(1, len(row_of_word)), dtype=np.float32)
    return [rows[[row_of_word[word] for word in text.split()]] for text in texts]


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
    assert by(1.0).argmax() == 1  # ranks second and first; then first and last
    # no word in common: a third view in which all share the first place
    assert by(1.0)[1] == pytest.approx((10 / 11 + 1 + 1) / 3)


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(-5, 5)))
def test_places_count_who_is_better(scores) -> None:
    assert places(scores).tolist() == [int((scores > score).sum()) for score in scores]


WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "read", "send", "a", "file", "mail", "the", "list")


def no_tokens(texts):
    return []


def save_model(folder: Path, labels: int) -> Path:
    """A BERT of one layer, 16 wide, with its tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=labels, initializer_range=0.5,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    vocabulary = {word: row for row, word in enumerate(WORDS)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=64).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model with one score a pair."""
    return save_model(tmp_path_factory.mktemp("reranker"), 1)


def test_it_scores_each_document_by_itself(model) -> None:
    texts = ("read a file", "send a mail", "list the file", "read a file")
    together, *separate = (
        cross_encoder("read the file", Documents(batch), no_tokens, str(model))
        for batch in (texts, *((text,) for text in texts))
    )
    separate = [scores[0] for scores in separate]
    assert together == pytest.approx(separate, abs=1e-6)
    assert together.dtype == np.float64
    assert ((together > 0) & (together < 1)).all()
    assert together[0] == together[3]
    assert len(set(together.round(6))) == 3


def test_the_settings_name_it(model) -> None:
    settings = Settings.from_environment({VARIABLE: f" {model} "})
    assert RERANKERS["cross_encoder"]("read", Documents(("read a file",)), no_tokens, settings.reranker).shape == (1,)


def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(RerankerError, match=rf"^No cross-encoder is set; give {VARIABLE} a model's folder, or choose"):
        cross_encoder("read", Documents(("read a file",)), no_tokens, "")


def test_a_folder_without_a_model_is_named(tmp_path, caplog) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing"}), encoding="utf-8")
    with pytest.raises(RerankerError, match=rf"^The cross-encoder '.*' of {VARIABLE} cannot be loaded") as caught:
        cross_encoder("read", Documents(("read a file",)), no_tokens, str(tmp_path))
    assert "\n" not in str(caught.value)
    with pytest.raises(RerankerError):
        cross_encoder("read", Documents(("read a file",)), no_tokens, "/nowhere")
    assert caplog.messages == []  # a command writes one sentence


def test_a_classifier_of_several_labels_is_no_reranker(tmp_path) -> None:
    with pytest.raises(RerankerError, match="gives 3 scores a pair; give a model with one"):
        cross_encoder("read", Documents(("read a file",)), no_tokens, str(save_model(tmp_path, 3)))
