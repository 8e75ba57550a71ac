"""PA-RAG's cascade over its two-layer index: from a text to a few servers, and from their tools to a few candidates.

    I_s   server layer: name and functional summary        S_pool = top-p by P(S | q);   rerank;   S^ = top-k
    I_t   tool layer: name and description, by server      T_pool = top-32 of S^ by P(t | S^, q);   rerank;   T^ = top-m

The paper's: the two layers, both stages, pruning before reranking, k = 3 and m = 10 (its section 4.2, 4.3, figures 10 to
12). Ours: the functional summary is extractive, a server's own description and its tools' names, embedded apart so that no
window cuts it, with words in common beside them; the reranker reads a server through its best `LINES` tools, for a summary
hides the one tool that fits; its score counts for `rerank_share` of the whole (1 is the paper's). Without a reranker the
first order stands in both stages.

A cascade is a function of its text alone: what it finds for a sub-query does not depend on the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Server, words
from core.domain.params import knob
from core.index.views import full
from core.reranking import NONE, RERANKERS, Documents, Reranker
from core.routers.base import Question, Scene
from core.routers.parameters import ABLATION, SIMILARITY, VIEWS, MatchingParameters, PlanningParameters
from core.routers.ranking import Floats, Mask, best_tool, top

TOOL_POOL = 32  # tools of the kept servers that the reranker reads
LINES = 3  # tools through which it reads a server
SERVER_INDEX_SHARE = 0.25  # of a server's score after reranking
RERANK = "reranking"


@dataclass(frozen=True)
class CascadeParameters(PlanningParameters, MatchingParameters):
    """The sizes of the stages and the reranker. The cosines are taken as they are, and servers found by their summary."""

    sim_midpoint: float = knob(
        0.0, symbol="Sim½", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="The similarity that counts as one half; 0 takes the cosine as it is.",
    )  # fmt: skip
    w_server_profile: float = knob(
        0.35, symbol="w profile", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="Weight of a server's own description in its functional summary.",
    )  # fmt: skip
    w_server_summary: float = knob(
        0.35, symbol="w summary", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="Weight of its tools' names in its functional summary.",
    )  # fmt: skip
    w_server_best_tool: float = knob(
        0.0, symbol="w best tool", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="Weight of the similarity of a server's best tool: no part of a server index.",
    )  # fmt: skip
    w_server_lexical: float = knob(
        0.3, symbol="w srv BM25", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="Weight of words in common with the functional summary.",
    )  # fmt: skip
    pool: int = knob(16, symbol="p", low=1, high=200, step=1, group=SIMILARITY, help="Servers retrieved before reranking.")
    k: int = knob(3, symbol="k", low=1, high=100, step=1, group=SIMILARITY, help="Servers kept after reranking.")
    m: int = knob(10, symbol="m", low=1, high=32, step=1, group=SIMILARITY, help="Tools put before the selector.")
    reranker: str = knob(
        "late", symbol="reranker", choices=(*RERANKERS, NONE), group=RERANK,
        help="late: token by token. lexical: words in common. fusion: ranks under all views. cross_encoder: the model that WAYFARE_RERANKER names. none: the order of retrieval.",
    )  # fmt: skip
    rerank_share: float = knob(
        0.35, symbol="rerank", low=0.0, high=1.0, step=0.05, group=RERANK,
        help="Share of the reranker's score; the rest is that of retrieval. 1 is the paper's form.",
    )  # fmt: skip
    hierarchy: bool = knob(
        True, group=ABLATION, symbol="hierarchy", help="Off: one flat layer of all tools (w/o Hierarchy)."
    )


@dataclass(frozen=True, slots=True)
class Servers:
    """Stage 1: similarity to the functional summaries and score after reranking, (S,) each; what was retrieved, and kept."""

    similarity: Floats
    score: Floats
    pool: Mask
    kept: Mask


@dataclass(frozen=True, slots=True)
class Found:
    """What the cascade found for one text: `candidates` are rows of tools, best first; (T,) similarity and score."""

    text: str
    servers: Servers
    similarity: Floats
    score: Floats
    candidates: tuple[int, ...]


class Cascade:
    """Both stages over one scene. One object serves one decision, and keeps nothing between two texts."""

    def __init__(self, question: Question, scene: Scene, parameters: CascadeParameters) -> None:
        self._question = question
        self._scene = scene
        self._parameters = parameters
        self.reranker: Reranker | None = (
            None if parameters.reranker == NONE else RERANKERS[parameters.reranker](question.tokens)
        )

    def find(self, text: str) -> Found:
        """Both stages for a text. A sub-query goes without the server hint, which was given for the whole question."""
        p, scene = self._parameters, self._scene
        whole = text == self._question.text
        match = self._question.match(p if whole else p.replaced({"hint_weight": 0.0}), text)
        servers = self._servers(text, match.servers, match.tools)
        within = np.flatnonzero(servers.kept[scene.tool_server])
        pool = within[top(match.tools[within], match.tools[within], scene.tool_order[within], TOOL_POOL)]
        score = match.tools.copy()
        score[pool] = self._reranked(text, pool, match.tools)
        order = np.lexsort((scene.tool_order[pool], -match.tools[pool], -score[pool]))
        return Found(text, servers, match.tools, score, tuple(int(row) for row in pool[order[: p.m]]))

    def _servers(self, text: str, similarity: Floats, tools: Floats) -> Servers:
        p, scene = self._parameters, self._scene
        everything = np.ones(len(similarity), dtype=np.bool_)
        if not p.hierarchy:
            return Servers(similarity, similarity, everything, everything)
        pool = top(similarity, similarity, scene.server_order, max(p.pool, p.k))
        score = similarity
        if self.reranker is not None:
            lines = _best_lines(tools, scene.tool_server, pool)
            read = np.full(len(tools), -1.0)
            read[lines] = self._reranked(text, lines, tools)
            best = np.maximum(best_tool(scene, read), 0.0)
            score = np.where(pool, SERVER_INDEX_SHARE * similarity + (1 - SERVER_INDEX_SHARE) * best, similarity - 1.0)
        return Servers(similarity, score, pool, top(score, similarity, scene.server_order, p.k) & pool)

    def _reranked(self, text: str, rows: NDArray[np.int64], similarity: Floats) -> Floats:
        """(rows,) scores of some tools: the reranker's in its share."""
        if self.reranker is None or not len(rows):
            return similarity[rows]
        tools = self._scene.catalog.tools
        views = {view: self._question.cosines("tools", view, text)[rows] for view in self._views()}
        found = self.reranker.rerank(text, Documents(tuple(full(tools[row]) for row in rows), views))
        share = self._parameters.rerank_share
        return (1 - share) * similarity[rows] + share * found

    def _views(self) -> tuple[str, ...]:
        return ("names", "full", "description", "parameters") if self._parameters.reranker == "fusion" else ()


def functional_summary(server: Server) -> str:
    """What a server is for, extracted from what it says: its description and its tools' names.

    >>> from core.domain.catalog import Tool
    >>> functional_summary(Server("files", "Local files.", tools=(Tool("files", "readText"), Tool("files", "list"))))
    'files: Local files. Tools: read Text, list'
    """
    tools = ", ".join(words(tool.name) for tool in server.tools)
    return f"{words(server.name)}: {server.description.strip()} Tools: {tools}"


def _best_lines(similarity: Floats, tool_server: NDArray[np.int64], servers: Mask) -> NDArray[np.int64]:
    """Rows of the `LINES` most similar tools of each of the servers."""
    rows = np.flatnonzero(servers[tool_server])
    order = rows[np.lexsort((rows, -similarity[rows], tool_server[rows]))]
    starts = np.searchsorted(tool_server[order], tool_server[order], side="left")
    return order[np.arange(len(order)) - starts < LINES]
