"""A cross-encoder that the user has on disk, such as BGE-Reranker: query and document are read together by one model.

    WAYFARE_RERANKER=/path/to/bge-reranker-large        a folder, or the name of a model in the Hugging Face cache

It is chosen by the settings and not by a parameter, because parameters travel in links and a link must not make a
console read a folder of the sender's choice. The model is loaded at the first question, from disk alone.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.reranking.base import Documents, RerankerError, Scores

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

VARIABLE = "WAYFARE_RERANKER"
BATCH = 32


class CrossEncoderReranker:
    """The model's relevance of each document, through a sigmoid."""

    def __init__(self, name_or_path: str) -> None:
        self._model = name_or_path
        self.name = Path(self._model).name or "cross-encoder"

    def rerank(self, query: str, documents: Documents) -> Scores:
        """See `Reranker.rerank`. Raises RerankerError where no model is set or it cannot be loaded."""
        if not self._model:
            raise RerankerError(
                f"No cross-encoder is set; give {VARIABLE} a model's folder, or choose another reranker."
            )
        if not documents.texts:
            return np.zeros(0, dtype=np.float64)
        from torch.nn import Sigmoid

        model: Any = _loaded(self._model)
        texts = tuple(dict.fromkeys(documents.texts))  # once each: its place in a batch moves a score in the last bits
        pairs = [(query, text) for text in texts]
        found = model.predict(pairs, batch_size=BATCH, activation_fn=Sigmoid(), show_progress_bar=False)
        by_text = dict(zip(texts, np.asarray(found, dtype=np.float64), strict=True))
        return np.array([by_text[text] for text in documents.texts])


@cache
def _loaded(name_or_path: str) -> CrossEncoder:
    try:
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(str(Path(name_or_path).expanduser()), device="cpu", local_files_only=True)
    except Exception as problem:  # whatever stops it: a folder may hold anything
        reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
        raise RerankerError(
            f"The cross-encoder {name_or_path[:120]!r} of {VARIABLE} cannot be loaded from this machine: {reason}"
        ) from problem
    scores = getattr(model.config, "num_labels", None)
    if scores != 1:
        raise RerankerError(f"{name_or_path[:120]!r} gives {scores} scores a pair; give a model with one.")
    return model
