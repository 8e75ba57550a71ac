"""PA-RAG's cascade over its two-layer index: from a text to a few servers, and from their tools to a few candidates.

    I_s   server layer: name and functional summary        S_pool = top-p by P(S | q);   rerank;   S^ = top-k
    I_t   tool layer: name and description, by server      T_pool = top-32 of S^ by P(t | S^, q);   rerank;   T^ = top-m
    P(t | q) = P(S | q)^w P(t | S^, q)                     P(S | q) as a share of the best server's

The paper's: the two layers, both stages, pruning before reranking, k = 3 and m = 10, the chain rule (its sections 3, 4.2, 4.3,
figures 10 to 12), a summary that a model writes (`summaries=written`). Ours: by default it is extractive, a server's own description and its tools' names, embedded
apart so that no window cuts it, with words in common beside them; the reranker reads a server through its best `LINES`
tools, for a summary hides the one tool that fits; its score counts for `rerank_share` of the whole (1 is the paper's); a
kept server's score counts with an exponent w (0 where only being kept counts). Without a reranker the first order stands.

A cascade is a function of its text alone: what it finds for a sub-query does not depend on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Server, words
from core.domain.params import SHARE, Range, knob
from core.economics.utility import ranking
from core.reranking import NONE
from core.routers.context import Match, Query, RoutingContext
from core.routers.orchestrator import Retrieved
from core.routers.parameters import ABLATION, SIMILARITY, weight_knob
from core.routers.ranked_result import Floats, Mask, best_tool, top
from core.routers.rerank_step import RerankingParameters, reranked, reranker_knob
from core.routers.retrieval import RetrievalParameters

TOOL_POOL = 32  # tools of the kept servers that the reranker reads
LINES = 3  # tools through which it reads a server
EXTRACTED, WRITTEN = "extracted", "written"
SERVER_INDEX_SHARE = 0.25  # of a server's score after reranking


@dataclass(frozen=True)
class CascadeParameters(RerankingParameters, RetrievalParameters):
    """The sizes of the stages and the reranker. Servers are found by their summary."""

    w_server_profile: float = weight_knob(0.35, "w profile", "a server's own description in its functional summary", label="Weight of its description")  # fmt: skip
    w_server_summary: float = weight_knob(0.35, "w summary", "its tools' names in its functional summary", label="Weight of its summary")  # fmt: skip
    w_server_best_tool: float = weight_knob(0.0, "w best tool", "the similarity of a server's best tool: no part of a server index", label="Weight of its best tool")  # fmt: skip
    w_server_lexical: float = weight_knob(0.3, "w srv BM25", "words in common with the functional summary", label="Weight of words, servers")  # fmt: skip
    pool: int = knob(40, Range(1, 200), group=SIMILARITY, symbol="p", label="Servers before reranking",
        help="Servers retrieved before reranking.")  # fmt: skip
    k: int = knob(3, Range(1, 100), group=SIMILARITY, symbol="k", label="Servers kept",
        help="Servers kept after reranking.")  # fmt: skip
    chain: float = knob(0.5, SHARE, group=SIMILARITY, symbol="chain", label="Weight of the server", advanced=True,
        help="Exponent of a server's score in that of its tools. 1: the chain rule as it is; 0: being kept is all that counts.")  # fmt: skip
    summaries: str = knob(EXTRACTED, group=SIMILARITY, label="Summaries", choices=(EXTRACTED, WRITTEN),
        help="extracted: a server's description and its tools' names. written: by the planner's model, one answer a server at the first question.")  # fmt: skip
    reranker: str = reranker_knob("late", none="the order of retrieval (w/o Reranker)")
    hierarchy: bool = knob(True, group=ABLATION, symbol="hierarchy", label="Rank servers before tools", advanced=True,
        help="Off: one flat layer of all tools (w/o Hierarchy).")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pruned:
    """Stage 1 for a text: its similarities, the servers' score after reranking (S,), and which are kept (S,)."""

    text: str
    match: Match
    score: Floats
    kept: Mask


class Cascade:
    """Both stages over one routing context. One object serves one decision, and keeps nothing between two texts."""

    def __init__(self, query: Query, context: RoutingContext, parameters: CascadeParameters) -> None:
        self._query = query
        self._context = context
        self._parameters = parameters

    def pruned(self, text: str) -> Pruned:
        """Stage 1. A sub-query goes without the server hint, which was given for the whole query."""
        p, context = self._parameters, self._context
        match = self._query.match(p if text == self._query.text else p.replaced({"hint_weight": 0.0}), text)
        if p.summaries == WRITTEN:
            match = replace(match, servers=self._written(text))
        if not p.hierarchy:
            return Pruned(text, match, match.servers, np.ones(len(match.servers), dtype=np.bool_))
        pool = top(match.servers, match.servers, context.server_order, max(p.pool, p.k))
        score = match.servers if p.reranker == NONE else self._reranked_servers(text, match, pool)
        return Pruned(text, match, score, top(score, match.servers, context.server_order, p.k))

    def retrieve(self, pruned: Pruned) -> Retrieved:
        """Stage 2, within the servers that stage 1 has kept."""
        p, context, similarity = self._parameters, self._context, pruned.match.tools
        within = np.flatnonzero(pruned.kept[context.tool_server])
        pool = within[top(similarity[within], similarity[within], context.tool_order[within], TOOL_POOL)]
        score = similarity.copy()
        score[pool] = self._reranked(pruned.text, pool, pruned.match)
        if p.hierarchy:
            score *= chain_factor(pruned.score, p.chain)[context.tool_server]
        best = pool[ranking(score[pool], similarity[pool], context.tool_order[pool])]
        return Retrieved(pruned.score, score, pruned.kept, best[: p.m])

    def _written(self, text: str) -> Floats:
        """(S,) similarity to the functional summaries that the planner writes, once for each server."""
        summarise = self._query.planner.summarise
        texts = tuple(summarise(functional_summary(server)) for server in self._context.catalog.servers)
        return np.clip(self._query.cosines_of(texts, text), 0.0, 1.0)

    def _reranked_servers(self, text: str, match: Match, pool: Mask) -> Floats:
        """(S,) scores; what was not retrieved stays below what was."""
        lines = _best_lines(match.tools, self._context.tool_server, pool)
        read = np.zeros(len(match.tools))
        read[lines] = self._reranked(text, lines, match)
        best = best_tool(self._context, read)
        score = SERVER_INDEX_SHARE * match.servers + (1 - SERVER_INDEX_SHARE) * best
        return np.where(pool, score, match.servers * score[pool].min(initial=1.0))

    def _reranked(self, text: str, rows: NDArray[np.int64], match: Match) -> Floats:
        return reranked(self._query, self._context, text, rows, match.tools[rows], match, self._parameters)


def functional_summary(server: Server) -> str:
    """What a server is for, extracted from what it says: its description and its tools' names.

    >>> from core.domain.catalog import Tool
    >>> functional_summary(Server("files", "Local files.", tools=(Tool("files", "readText"), Tool("files", "list"))))
    'files: Local files. Tools: read Text, list'
    """
    tools = ", ".join(words(tool.name) for tool in server.tools)
    return f"{words(server.name)}: {server.description.strip()} Tools: {tools}"


def chain_factor(servers: Floats, exponent: float) -> Floats:
    """(S,) in [0, 1]: each server's score as a share of the best one's, to an exponent in [0, 1].

    >>> chain_factor(np.array([0.8, 0.2, 0.0]), 0.5).tolist()
    [1.0, 0.5, 0.0]
    """
    best = servers.max(initial=0.0)
    return (np.clip(servers, 0.0, best) / best) ** exponent if best > 0 else np.ones(len(servers))


def _best_lines(similarity: Floats, tool_server: NDArray[np.int64], servers: Mask) -> NDArray[np.int64]:
    """Rows of the `LINES` most similar tools of each of the servers."""
    rows = np.flatnonzero(servers[tool_server])
    order = rows[np.lexsort((rows, -similarity[rows], tool_server[rows]))]
    starts = np.searchsorted(tool_server[order], tool_server[order], side="left")
    return order[np.arange(len(order)) - starts < LINES]
