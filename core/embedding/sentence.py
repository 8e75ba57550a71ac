"""Sentence-transformers on torch: exact, and slow to load (5 s); the reference for `core.embedding.onnx`."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.embedding.base import EncoderError, Vectors, cleaned, unit_rows
from core.embedding.model import ModelFolder, model_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class SentenceEncoder:
    """The model run by torch on the CPU, without network.

    `note` says why it stands in for another runtime, where it does.
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


def _load(folder: ModelFolder) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        return SentenceTransformer(str(folder.path), device="cpu", local_files_only=True)
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as problem:
        reason = (str(problem).splitlines() or ["unknown reason"])[0][:200]
        raise EncoderError(f"The model in {folder.path} cannot be loaded: {reason}; give another model.") from problem
