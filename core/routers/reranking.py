"""Rerankers: a second, closer look at a few retrieved documents. A new reranker is a function and a line in `RERANKERS`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.params import SHARE, Parameters, knob
from core.domain.progress import made_once
from core.planning.base import Card
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import full
from core.routers.context import Match, Query, RoutingContext, per_catalog
from core.routers.ranked_result import Floats
from core.routers.utility import ranking

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Scores = NDArray[np.float64]
Tokens = Callable[[Sequence[str]], Sequence[NDArray[Any]]]  # texts -> (tokens, D) unit rows each


class RerankerError(WayfareError):
    """A reranker is missing or cannot be used."""


@dataclass(frozen=True, slots=True)
class Documents:
    """N texts of tools or servers. `views` holds retrieval's scores of them, (N,) a view, any scale."""

    texts: tuple[str, ...]
    views: Mapping[str, Scores] = field(default_factory=lambda: MappingProxyType({}))


Reranker = Callable[[str, Documents, Tokens, str], Scores]
"""Scores documents against a query, (N,) in [0, 1], higher is better. Equal documents get equal scores. It gets the encoder's token
vectors and the name of a cross-encoder, which some rerankers use. Documents never change each other's text."""


# A cross-encoder that the user has on disk, such as BGE-Reranker: query and document are read together by a model.
#
#     WAYFARE_RERANKER=/path/to/bge-reranker-large        a folder, or the name of a model in the Hugging Face cache
#
# The settings choose it, not a parameter, because parameters travel in links and a link must not make a console read a
# folder of the sender's choice. The model is loaded at the first question, from disk alone.

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

VARIABLE = "WAYFARE_RERANKER"
BATCH = 32


def cross_encoder(query: str, documents: Documents, _: Tokens, model: str) -> Scores:
    """The model's relevance of each document, through a sigmoid. Raises RerankerError if no model is set or it cannot be loaded."""
    if not model:
        raise RerankerError(f"No cross-encoder is set; give {VARIABLE} a model's folder, or choose another reranker.")
    if not documents.texts:
        return np.zeros(0, dtype=np.float64)
    from torch.nn import Sigmoid

    encoder: Any = _loaded(model)
    texts = tuple(dict.fromkeys(documents.texts))  # each once: the place in a batch changes a score in the last bits
    pairs = [(query, text) for text in texts]
    predictions = encoder.predict(pairs, batch_size=BATCH, activation_fn=Sigmoid(), show_progress_bar=False)
    by_text = dict(zip(texts, np.asarray(predictions, dtype=np.float64), strict=True))
    return np.array([by_text[text] for text in documents.texts])


@made_once
def _loaded(name_or_path: str) -> CrossEncoder:
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # it would warn on standard error, too
    try:
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(str(Path(name_or_path).expanduser()), device="cpu", local_files_only=True)
    except Exception as problem:  # a folder may hold anything
        reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
        raise RerankerError(
            f"The cross-encoder {name_or_path[:120]!r} of {VARIABLE} cannot be loaded from this machine: {reason}"
        ) from problem
    scores = getattr(model.config, "num_labels", None)
    if scores != 1:
        raise RerankerError(f"{name_or_path[:120]!r} gives {scores} scores a pair; give a model with one.")
    return model


# Lexical overlap: the share of the query's words that a document has, each weighed by its rarity among the documents.
#
#     score(q, d) = BM25(q, d) / the most that BM25 could give q           within the documents at hand (`core.relevance.lexical`)
#
# A word that all candidates share does not tell them apart and weighs next to nothing here, though it may be rare in the
# whole catalog.


def lexical_overlap(query: str, documents: Documents, *_: object) -> Scores:
    """Words in common.

    >>> lexical_overlap("read a file", Documents(("read files", "read a file"))).argmax()
    np.int64(1)
    """
    return LexicalIndex(documents.texts).coverage(query).astype(np.float64)


# A small fusion: reciprocal ranks under every view that retrieval has, and under words in common.
#
#     score(q, d) = (1 / |V|) * sum over views v of K / (K + rank_v(d))          rank from 0, ties share the best rank; K = 10
#
# Cormack et al. 2009 have K = 60 for lists of a thousand; for a few dozen documents that is nearly a mean of ranks.

K = 10


def fusion(query: str, documents: Documents, *_: object) -> Scores:
    """Fuses views by rank, so that no view's scale counts.

    >>> fusion("", Documents(("a", "b"), {"names": np.array([0.1, 0.9])})).round(3).tolist()
    [0.955, 1.0]
    """
    views = (*documents.views.values(), lexical_overlap(query, documents))
    return np.mean([K / (K + places(view)) for view in views], axis=0)


def places(scores: Scores) -> NDArray[np.int64]:
    """The number of better scores for each score, (N,).

    >>> places(np.array([0.2, 0.9, 0.2])).tolist()
    [1, 0, 1]
    """
    return len(scores) - np.searchsorted(np.sort(scores), scores, side="right")


# Late interaction: each token of the query looks for the token of the document that is nearest in meaning (ColBERT).
#
#     score(q, d) = (1 / |q|) * sum over tokens i of q of max over tokens j of d of <e_i, e_j>          clipped at 0
#
# The encoder computes the tokens' vectors anyway before it takes their mean (MiniLM was not trained for this).
# As half of the score, beside the mixture of views, it finds at least as much on every set that was measured as the mixture does
# (docs/decisions/0008-pa-rag.md). Documents are encoded once and stay in memory.

DECIMALS = 6  # a matrix product rounds equal rows apart in the last bits; a tie must stay a tie


def late_interaction(query: str, documents: Documents, tokens: Tokens, _: str) -> Scores:
    query_rows, *document_rows = tokens((query, *documents.texts))
    return max_sim(query_rows, document_rows)


def max_sim(query: NDArray[Any], documents: Sequence[NDArray[Any]]) -> Scores:
    """(N,) in [0, 1] from (Q, D) unit rows of a query and (T_n, D) of each document; 0 if either has no token.

    >>> one, other = np.eye(2, dtype=np.float32)
    >>> max_sim(np.stack([one, other]), [np.stack([one, other]), one[None], np.zeros((0, 2))]).tolist()
    [1.0, 0.5, 0.0]
    """
    lengths = np.array([len(rows) for rows in documents], dtype=np.int64)
    has_tokens = lengths > 0
    scores = np.zeros(len(lengths), dtype=np.float64)
    if len(query) and has_tokens.any():
        starts = (np.cumsum(lengths) - lengths)[has_tokens]
        rows = np.concatenate([rows for rows in documents if len(rows)], dtype=np.float32)
        nearest = np.maximum.reduceat(rows @ query.astype(np.float32).T, starts, axis=0)
        scores[has_tokens] = np.clip(nearest.mean(axis=1), 0.0, 1.0)
    return scores.round(DECIMALS)


NONE = "none"
PLANNER = "planner"
"""Not a reranker: the planner orders the tools, a language model in the papers."""
RERANKERS: dict[str, Reranker] = {
    "late": late_interaction, "lexical": lexical_overlap, "fusion": fusion, "cross_encoder": cross_encoder,
}  # fmt: skip


# A second look at the best tools of a retrieval, for routers that rerank their own list.
#
#     score'(t) = (1 - w) * score(t) + w * rerank(q, t)          score and reranker in [0, 1]
#
# w = 1 is a reranker that decides alone, as a language model does in the papers. The offline rerankers of `core.routers.reranking` were not
# trained to judge: alone they rank worse than retrieval, as a share of the score better (figures in each router's defaults).

RERANK = "reranking"
PLANNER_ORDERS = 5
"""The number of tools that a planner puts in order. Other tools follow in the order of retrieval."""


@per_catalog
def _texts(catalog: Catalog) -> tuple[str, ...]:
    return tuple(map(full, catalog.tools))


def reranker_knob(default: str, *, none: str) -> str:
    return knob(default, group=RERANK, label="Reranker", choices=(*RERANKERS, PLANNER, NONE),
        help="late: token by token. lexical: words in common. fusion: ranks under all views. "
        f"cross_encoder: the model that WAYFARE_RERANKER names. planner: the planner puts the best first. none: {none}.")  # fmt: skip


def rerank_share_knob(default: float, rest: str) -> float:
    """The weight of the reranker's score. `rest` names the remaining share."""
    return knob(default, SHARE, group=RERANK, symbol="w", label="Share of the reranker",
        help=f"Share of the reranker's score; the rest is that of {rest}")  # fmt: skip


@dataclass(frozen=True)
class RerankingParameters(Parameters):
    reranker: str = reranker_knob("lexical", none="the order of retrieval")
    rerank_share: float = rerank_share_knob(0.5, "retrieval. 1: the reranker decides alone.")


def reranked(
    query: Query,
    context: RoutingContext,
    text: str,
    rows: NDArray[np.int64],
    scores: Floats,
    match: Match,
    p: RerankingParameters,
) -> Floats:
    """(K,) scores of the given rows of tools after the second look, from their scores (K,) in [0, 1]."""
    if p.reranker == NONE or not len(rows):
        return scores
    catalog_texts = _texts(context.catalog)
    texts = tuple(catalog_texts[row] for row in map(int, rows))
    if p.reranker == PLANNER:
        second_scores = _by_planner(query, text, [context.tool_ids[row] for row in map(int, rows)], texts, scores)
    else:
        documents = Documents(texts, {"retrieval": scores, "similarity": match.tools[rows]})
        second_scores = RERANKERS[p.reranker](text, documents, query.tokens, context.cross_encoder)
    return (1 - p.rerank_share) * scores + p.rerank_share * second_scores


def _by_planner(query: Query, text: str, ids: Sequence[str], texts: Sequence[str], scores: Floats) -> Floats:
    """(K,) scores from the planner's order: 1 for the first tool, 0 for a tool that it does not name."""
    cards = [Card(*fields) for fields in zip(ids, texts, map(float, np.clip(scores, 0.0, 1.0)), strict=True)]
    cards.sort(key=lambda card: -card.score)
    order = query.planner.select(text, cards, PLANNER_ORDERS).ids
    place = {name: 1 - index / len(order) for index, name in enumerate(order)}
    return np.array([place.get(name, 0.0) for name in ids])


def best_first(rows: NDArray[np.int64], scores: Floats, match: Match, context: RoutingContext) -> NDArray[np.int64]:
    """Rows of tools by their scores (K,), ties by similarity, then name."""
    return rows[ranking(scores, match.tools[rows], context.tool_order[rows])]
