"""The cross-encoder of the user: a tiny one with random weights, made here, read from its folder without a network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.domain.settings import Settings
from core.routers.reranking import RERANKERS, VARIABLE, CrossEncoderReranker, Documents, RerankerError

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "read", "send", "a", "file", "mail", "the", "list")


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
    """A model of one score a pair."""
    return save_model(tmp_path_factory.mktemp("reranker"), 1)


def test_it_scores_each_document_by_itself(model) -> None:
    texts = ("read a file", "send a mail", "list the file", "read a file")
    reranker = CrossEncoderReranker(str(model))
    together = reranker.rerank("read the file", Documents(texts))
    alone = [reranker.rerank("read the file", Documents((text,)))[0] for text in texts]
    assert together == pytest.approx(alone, abs=1e-6)
    assert together.dtype == np.float64
    assert ((together > 0) & (together < 1)).all()
    assert together[0] == together[3]
    assert len(set(together.round(6))) == 3


def test_equal_documents_are_equal_wherever_they_stand_in_a_batch(model) -> None:
    texts = tuple("read a file" if n % 3 else f"list the {'file ' * n}" for n in range(50))
    scores = CrossEncoderReranker(str(model)).rerank("send", Documents(texts))
    assert len({score for score, text in zip(scores, texts, strict=True) if text == "read a file"}) == 1


def test_the_query_counts(model) -> None:
    documents = Documents(("read a file", "send a mail"))
    one, other = (CrossEncoderReranker(str(model)).rerank(query, documents) for query in ("read", "send the mail"))
    assert not np.allclose(one, other)


def test_the_settings_name_it(model) -> None:
    settings = Settings.from_environment({VARIABLE: f" {model} "})
    reranker = RERANKERS["cross_encoder"](lambda texts: [], settings.reranker)
    assert reranker.name == model.name
    assert reranker.rerank("read", Documents(("read a file",))).shape == (1,)


def test_nothing_is_nothing(model) -> None:
    assert CrossEncoderReranker(str(model)).rerank("read", Documents(())).shape == (0,)


def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(RerankerError, match=rf"^No cross-encoder is set; give {VARIABLE} a model's folder, or choose"):
        CrossEncoderReranker("").rerank("read", Documents(("read a file",)))


def test_a_folder_without_a_model_is_named(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing"}), encoding="utf-8")
    with pytest.raises(RerankerError, match=rf"^The cross-encoder '.*' of {VARIABLE} cannot be loaded") as caught:
        CrossEncoderReranker(str(tmp_path)).rerank("read", Documents(("read a file",)))
    assert "\n" not in str(caught.value)


def test_a_name_that_is_not_on_this_machine_is_not_fetched() -> None:
    with pytest.raises(RerankerError, match="cannot be loaded from this machine"):
        CrossEncoderReranker("nobody/no-such-reranker").rerank("read", Documents(("read a file",)))


def test_a_classifier_of_several_labels_is_no_reranker(tmp_path) -> None:
    with pytest.raises(RerankerError, match="gives 3 scores a pair; give a model with one"):
        CrossEncoderReranker(str(save_model(tmp_path, 3))).rerank("read", Documents(("read a file",)))
