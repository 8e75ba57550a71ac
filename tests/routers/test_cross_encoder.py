"""The cross-encoder of the user: a tiny one with random weights, made here, read from its folder without a network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.domain.settings import Settings
from core.routers.reranking import RERANKERS, VARIABLE, Documents, RerankerError, cross_encoder

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
    """A model of one score a pair."""
    return save_model(tmp_path_factory.mktemp("reranker"), 1)


def test_it_scores_each_document_by_itself(model) -> None:
    texts = ("read a file", "send a mail", "list the file", "read a file")
    together, *alone = (
        cross_encoder("read the file", Documents(some), no_tokens, str(model))
        for some in (texts, *((text,) for text in texts))
    )
    alone = [scores[0] for scores in alone]
    assert together == pytest.approx(alone, abs=1e-6)
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


def test_a_folder_without_a_model_is_named(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing"}), encoding="utf-8")
    with pytest.raises(RerankerError, match=rf"^The cross-encoder '.*' of {VARIABLE} cannot be loaded") as caught:
        cross_encoder("read", Documents(("read a file",)), no_tokens, str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_classifier_of_several_labels_is_no_reranker(tmp_path) -> None:
    with pytest.raises(RerankerError, match="gives 3 scores a pair; give a model with one"):
        cross_encoder("read", Documents(("read a file",)), no_tokens, str(save_model(tmp_path, 3)))
