"""Rerankers, one a file. A new one is a new file and one line in `RERANKERS`."""

from __future__ import annotations

from collections.abc import Callable

from core.reranking.base import Documents, Reranker, RerankerError, Tokens
from core.reranking.cross_encoder import CrossEncoderReranker
from core.reranking.fusion import Fusion
from core.reranking.late import LateInteraction
from core.reranking.lexical import LexicalOverlap

NONE = "none"
RERANKERS: dict[str, Callable[[Tokens], Reranker]] = {
    "late": LateInteraction,
    "lexical": lambda _: LexicalOverlap(),
    "fusion": lambda _: Fusion(),
    "cross_encoder": lambda _: CrossEncoderReranker(),
}
"""From the encoder's token vectors, for those that look at them, to a reranker."""

__all__ = ["NONE", "RERANKERS", "Documents", "Reranker", "RerankerError", "Tokens"]
