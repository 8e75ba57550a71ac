"""Rerankers: each scores a few texts against a query. One a file; imports `core.shared` alone.

A new one is a new file and one line in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from core.reranking.base import Documents, Reranker, RerankerError, Tokens
from core.reranking.cross_encoder import CrossEncoderReranker
from core.reranking.fusion import Fusion
from core.reranking.late import LateInteraction
from core.reranking.lexical import LexicalOverlap

NONE = "none"
RERANKERS: dict[str, Callable[[Tokens, str], Reranker]] = {
    "late": lambda tokens, _: LateInteraction(tokens),
    "lexical": lambda _, __: LexicalOverlap(),
    "fusion": lambda _, __: Fusion(),
    "cross_encoder": lambda _, model: CrossEncoderReranker(model),
}
"""Makes a reranker from the encoder's token vectors and the name of a cross-encoder, which some of them use."""

__all__ = ["NONE", "RERANKERS", "Documents", "Reranker", "RerankerError", "Tokens"]
