"""SONAR of NetMCP: PRAG's retrieval, and the network's recent state in the score.

    q' = predict_tool(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t)       (1) to (4)
    C(t) = exp(BM25(t)) / sum over the t tools of exp(BM25)                                               (5)
    N(t) = network score of the tool's server, `core.network.traces`                                       (6), (7)
    S(t) = a C(t) + b N(t),   a + b = 1;   the best S wins                                                (8), (9)

Modes: quality first (a > b), latency sensitive (a < b), balanced. The latencies come from the routing context: a profile's
traces, or real calls. Ours: a server without any history gets a neutral N, and the decision says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import NetworkTrace, Stage
from core.domain.params import SHARE, Range, knob
from core.domain.trace import DROPS, KEPT, Drop
from core.network.traces import NEUTRAL, Weights, network_score
from core.routers.base import NETMCP, Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.parameters import FIT, SHOWN, SIMILARITY, VIEW_WEIGHTS, PlanningParameters, SimilarityParameters
from core.routers.ranked_result import Floats, Mask, Scored, ranked_result, top
from core.routers.reranking import NONE, RerankingParameters, rerank_share_knob, reranked, reranker_knob

# The common part of NetMCP's routers: BM25 over servers, then BM25 over the tools of the best (its section IV-B).
#
#     S_c = the top-s servers by BM25(q, d_s)                                       NetMCP (1), (2)
#     T_c = the top-t tools of S_c by BM25(q, d_t)                                  NetMCP (3), (4)
#
# Ours: a tie goes to the higher similarity of meaning, which is also shown beside the scores. If a query has no word in
# common with any text, that similarity decides, and not the order of the catalog.

NO_TOOLS = "The servers that came up have no tools; raise s."


@dataclass(frozen=True)
class TwoStageParameters(PlanningParameters, SimilarityParameters):
    """The settings of NetMCP's experiments are s3t6, s4t8, s5t10 and s6t12."""

    s: int = knob(3, Range(1, 100), group=SIMILARITY, symbol="s", label="Servers kept",
        help="Servers kept, NetMCP (2).")  # fmt: skip
    t: int = knob(6, Range(1, 200), group=SIMILARITY, symbol="t", label="Tools kept",
        help="Tools kept of those servers, NetMCP (4).")  # fmt: skip


T = TypeVar("T", bound=TwoStageParameters)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The text that was looked up, BM25 scores of servers (S,) and tools (T,), masks of the kept servers and tools, and the
    similarities of the query."""

    text: str
    match: Match
    servers: Floats
    tools: Floats
    listed: Mask
    kept: Mask
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class StageScores:
    """The ranking of the kept tools: scores (T,), their description, and the stages that computed them."""

    tools: Floats
    note: str
    stages: tuple[Stage, ...] = ()
    network_trace: NetworkTrace | None = None


Lookup = Callable[[Query, TwoStageParameters], tuple[str, tuple[Stage, ...]]]


class TwoStageRouter(Router[T]):
    """Runs both stages for a text derived from the query, and takes the n best of the kept tools."""

    lookup: ClassVar[Lookup]
    """Makes the text that both stages look up, and the stage that describes it: `translated` or `predicted`."""
    score = "second-stage score"

    def scored(self, query: Query, context: RoutingContext, found: Retrieval, parameters: T) -> StageScores:  # noqa: ARG002
        """The ranking of the kept tools: by default the scores of the second stage."""
        return StageScores(found.tools, "Highest score of the second stage.")

    def decide(self, query: Query, context: RoutingContext, parameters: T) -> RoutingResult:
        text, lookup_stages = type(self).lookup(query, parameters)
        retrieval = retrieve(query, context, text, parameters)
        scores = self.scored(query, context, retrieval, parameters)
        kept_count = int(retrieval.kept.sum())
        last = Stage("candidates", "tools", min(parameters.n, kept_count), kept_count, scores.note)
        result = ranked_result(
            context,
            Scored(retrieval.match.servers, retrieval.servers),
            Scored(retrieval.match.tools, scores.tools),
            n=parameters.n,
            shortlisted=retrieval.listed,
            dropped=_dropped(context, retrieval),
            stages=(*lookup_stages, *retrieval.stages, *scores.stages, last),
            no_candidate=NO_TOOLS,
        )
        return replace(result, network_trace=scores.network_trace)


def translated(query: Query, parameters: TwoStageParameters) -> tuple[str, tuple[Stage, ...]]:
    """The query in the words of tool descriptions: a model's rewriting, or the unchanged query if rules plan."""
    if parameters.planner == "rules":
        return query.text, ()
    text = query.planner.rewrite(query.text)
    return text, (Stage("translation", "queries", 1, 1, f"Looked up: {text}", by=query.planner.name),)


def predicted(query: Query, _: TwoStageParameters) -> tuple[str, tuple[Stage, ...]]:
    """The planner's prediction of the description of the tool that the query needs."""
    text = query.planner.predict_tool(query.text)
    return text, (Stage("tool prediction", "queries", 1, 1, f"Looked up: {text}", by=query.planner.name),)


def retrieve(query: Query, context: RoutingContext, text: str, parameters: TwoStageParameters) -> Retrieval:
    """Runs the two stages for a text: the query itself, or a planner's version of it."""
    if parameters.similarity == FIT:
        match = query.match(SHOWN[FIT], text)
        servers, tools = match.servers, match.tools
    else:
        match = query.match(SHOWN[VIEW_WEIGHTS])
        servers, tools = query.bm25("servers", text), query.bm25("tools", text)
    score = parameters.measure("BM25 score")
    shortlist = top(servers, match.servers, context.server_order, parameters.s)
    rows = np.flatnonzero(shortlist[context.tool_server])
    kept_tools = np.zeros(len(tools), dtype=np.bool_)
    kept_tools[rows] = top(tools[rows], match.tools[rows], context.tool_order[rows], parameters.t)
    stages = (
        Stage("server filter", "servers", int(shortlist.sum()), len(shortlist), f"Highest {score}, NetMCP (1), (2)."),
        Stage("tool filter", "tools", int(kept_tools.sum()), len(rows), f"Highest {score}, NetMCP (3), (4)."),
    )
    return Retrieval(text, match, servers, tools, shortlist, kept_tools, stages)


def _dropped(context: RoutingContext, retrieval: Retrieval) -> NDArray[np.int8]:
    missed_tools = retrieval.listed[context.tool_server] & ~retrieval.kept
    return np.where(missed_tools, DROPS.index(Drop.NOT_RETRIEVED), KEPT).astype(np.int8)


TINY = 1e-12  # of a probability of fit: its logarithm takes the place of a BM25 score
MODES = {"quality": 0.7, "balanced": 0.5, "latency": 0.3}
NETWORK = "network"


def _penalty(default: float, symbol: str, cause: str, *, label: str) -> float:
    return knob(default, SHARE, group=NETWORK, symbol=symbol, label=label, advanced=True,
        help=f"Penalty {cause}, NetMCP (7).")  # fmt: skip


@dataclass(frozen=True)
class SonarParameters(TwoStageParameters):
    """PRAG's settings, the weight of expertise against the network, and the weights of the network score."""

    mode: str = knob("balanced", group=NETWORK, label="What counts most", choices=tuple(MODES),
        help="quality: a = 0.7, b = 0.3. balanced: both 0.5. latency: a = 0.3, b = 0.7.")  # fmt: skip
    a: float | None = knob(None, SHARE, group=NETWORK, symbol="a", label="Expertise matters", kind=float,
        help="Weight of expertise, NetMCP (8); b = 1 - a is that of the network. The mode's where empty.")  # fmt: skip
    w: int = knob(10, Range(1, 1000), group=NETWORK, symbol="w", label="Latencies looked at", advanced=True,
        help="Latest latencies looked at.")  # fmt: skip
    ewma: float = knob(0.3, Range(0.01, 1.0, 0.01), group=NETWORK, symbol="λ", label="Smoothing of the latency", advanced=True,
        help="Factor of the moving average of latency.")  # fmt: skip
    w_high: float = _penalty(0.25, "w high", "of a high latency", label="Penalty of a high latency")
    w_trend: float = _penalty(0.15, "w trend", "of a rising latency", label="Penalty of a rising latency")
    w_outage: float = _penalty(0.40, "w outage", "of recent outages", label="Penalty of outages")
    w_unstable: float = _penalty(0.20, "w unstable", "of a latency that varies", label="Penalty of a varying latency")
    n_unknown: float = knob(NEUTRAL, Range(-1.0, 1.0, 0.05), group=NETWORK, symbol="N?", label="Score of an unknown server", advanced=True,
        help="N of a server without any history.")  # fmt: skip

    @property
    def expertise_weight(self) -> float:
        return MODES[self.mode] if self.a is None else self.a

    def weights(self) -> Weights:
        return Weights(self.ewma, self.w_high, self.w_trend, self.w_outage, self.w_unstable)


class Sonar(TwoStageRouter[SonarParameters]):
    """Predicts the kind of tool that is wanted, finds it by words, and weighs that against recent latencies."""

    id = "sonar"
    title = "SONAR"
    paper = NETMCP
    score = "weighted score of expertise and network"
    lookup = staticmethod(predicted)

    def scored(
        self,
        query: Query,  # noqa: ARG002
        context: RoutingContext,
        found: Retrieval,
        parameters: SonarParameters,
    ) -> StageScores:
        network, history = network_scores(context, parameters)
        a, count = parameters.expertise_weight, int(found.kept.sum())
        logits = np.log(np.maximum(found.tools, TINY)) if parameters.similarity == FIT else found.tools
        skill = expertise(logits, found.kept)
        scores = a * skill + (1.0 - a) * network[context.tool_server]
        note = _network_note(history[context.tool_server[found.kept]], parameters)
        stage = Stage("network", "tools", count, count, note)
        return StageScores(scores, f"Highest {a:.2f} C + {1 - a:.2f} N.", (stage,), NetworkTrace(skill, network))


def expertise(scores: Floats, kept: Mask) -> Floats:
    """(T,) C(t): softmax of the BM25 scores (T,) of the kept tools, NetMCP (5); 0 elsewhere.

    >>> expertise(np.array([3.0, 2.0, 9.0]), np.array([True, True, False])).round(3)
    array([0.731, 0.269, 0.   ])
    """
    shares = np.zeros(len(scores))
    if kept.any():
        powers = np.exp(scores[kept] - scores[kept].max())
        shares[kept] = powers / powers.sum()
    return shares


def network_scores(context: RoutingContext, parameters: SonarParameters) -> tuple[Floats, Mask]:
    """(S,) N of each server, and whether it has any history."""
    if context.network is None:
        size = len(context.server_names)
        return np.full(size, parameters.n_unknown), np.zeros(size, dtype=np.bool_)
    recent_s = context.network.recent_s(parameters.w)
    return network_score(recent_s, parameters.weights(), neutral=parameters.n_unknown), ~np.isnan(recent_s[:, -1])


def _network_note(history: Mask, parameters: SonarParameters) -> str:
    lead = f"N of each tool's server from its last {parameters.w} latencies, NetMCP (6), (7)."
    unknown = int((~history).sum())
    if not unknown:
        return lead
    return f"{lead} No latency is known for {unknown} of {len(history)} tools: N is neutral there ({parameters.n_unknown:g})."


# RAG, the plainest baseline of NetMCP: the query in English, BM25 in two stages, the best tool wins.
#
#     q' = translate(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t);   the best wins
#
# The settings s3t6 to s6t12 are the paper's. Ours: "translate" is left out with rules, which know no language but the
# query's own, and a rewriting by the model otherwise; ties go to the higher similarity (`core.routers.sonar`).


class RagBm25(TwoStageRouter[TwoStageParameters]):
    """Words in common (BM25): a few servers, a few of their tools, the best of those."""

    id = "rag_bm25"
    title = "RAG (BM25)"
    paper = NETMCP
    lookup = staticmethod(translated)


# PRAG, prediction-enhanced RAG of NetMCP: the question becomes the description of a tool, then BM25 in two stages.
#
#     q' = predict_tool(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t);   the best wins
#
# The prediction (section IV-A) removes the other words of a question: "Who founded the first luxury goods company?" asks
# for a web search, and shares its words with tools about companies. SONAR is this with the network's state in the score.


class Prag(TwoStageRouter[TwoStageParameters]):
    """Predicts the kind of tool that is wanted, then looks its words up: a few servers, a few tools, the best."""

    id = "prag"
    title = "PRAG"
    paper = NETMCP
    lookup = staticmethod(predicted)


# RerankRAG of NetMCP: RAG, and a second look at the tools that it keeps.
#
#     T_c as RAG (BM25 in two stages);   score(t) = (1 - w) C(t) + w rerank(q, t) over T_c;   the best wins
#     C(t) = BM25(t) / max over T_c of BM25                                                  in [0, 1]
#
# A language model reranks in the paper (`reranker=planner`), and decides alone: w = 1. Ours: an offline reranker of `core.routers.reranking`.


@dataclass(frozen=True)
class RerankRagParameters(RerankingParameters, TwoStageParameters):
    """RAG's settings and the reranker. It compares meaning, because BM25 has already counted words, and decides alone."""

    reranker: str = reranker_knob("fusion", none="RAG as it is")
    rerank_share: float = rerank_share_knob(1.0, "BM25. 1: the reranker decides alone, as in the paper.")


class RerankRag(TwoStageRouter[RerankRagParameters]):
    """Words in common (BM25) keep a few tools of a few servers; a reranker decides among those."""

    id = "rerank_rag"
    title = "RerankRAG"
    paper = NETMCP
    score = "reranked score"
    lookup = staticmethod(translated)

    def scored(
        self, query: Query, context: RoutingContext, found: Retrieval, parameters: RerankRagParameters
    ) -> StageScores:
        rows = np.flatnonzero(found.kept)
        scores = found.tools / max(TINY if parameters.similarity == FIT else 1.0, found.tools[rows].max(initial=0.0))
        scores[rows] = reranked(query, context, found.text, rows, scores[rows], found.match, parameters)
        note = f"The {len(rows)} that were kept, looked at again."
        stage = Stage("reranking", "tools", len(rows), len(rows), note, by=parameters.reranker)
        stages = () if parameters.reranker == NONE else (stage,)
        return StageScores(scores, "Highest score after reranking.", stages)
