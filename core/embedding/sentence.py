"""Sentence-transformers on torch: exact, and slow to load (5 s); the reference for `core.embedding.onnx`."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.embedding.base import EncoderError, Vectors, cleaned, unit_rows
from core.embedding.difference import load, merged
from core.embedding.model import ModelFolder, model_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class SentenceEncoder:
    """The model run by torch on the CPU, without network.

    `note` says why it is used instead of another runtime, where it is.
    Raises EncoderError where the model is not on this machine or torch cannot load it.
    """

    def __init__(self, model: str | ModelFolder = "", *, note: str = "") -> None:
        folder = model if isinstance(model, ModelFolder) else model_folder(model)
        self.model = folder.key
        self.note = note
        self.transformer = _load(folder)
        self.dimension = folder.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, D) unit rows in the order of the texts; a blank text is a row of zeros."""
        prepared = [cleaned(text) for text in texts]
        vectors = np.zeros((len(prepared), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(prepared) if text]
        if filled:
            found = self.transformer.encode([prepared[row] for row in filled], show_progress_bar=False)
            vectors[filled] = unit_rows(np.asarray(found))
        return vectors

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """(tokens, D) unit rows of each text, without the marks of beginning and end."""
        prepared = [cleaned(text) for text in texts]
        filled = [text for text in prepared if text]
        known = dict(zip(filled, self._token_rows(filled), strict=True)) if filled else {}
        return [known[text] if text else np.zeros((0, self.dimension), dtype=np.float32) for text in prepared]

    def _token_rows(self, texts: Sequence[str]) -> Iterator[Vectors]:
        model: Any = self.transformer
        found = model.encode(texts, output_value="token_embeddings", show_progress_bar=False)
        marks = model.tokenizer(
            texts, truncation=True, max_length=model.max_seq_length, return_special_tokens_mask=True
        )["special_tokens_mask"]
        for vectors, marked in zip(found, marks, strict=True):
            yield unit_rows(np.asarray(vectors)[: len(marked)][np.asarray(marked) == 0])


def _load(folder: ModelFolder) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = SentenceTransformer(str(folder.path), device="cpu", local_files_only=True)
        return model if folder.difference is None else merged(model, load(folder.difference)[0])
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as problem:
        reason = (str(problem).splitlines() or ["unknown reason"])[0][:200]
        raise EncoderError(f"The model in {folder.path} cannot be loaded: {reason}; give another model.") from problem
