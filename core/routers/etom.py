"""ETOM's four routers: ReAct, ToolShed, MCP-Zero and Hybrid. `core.relevance.text_views` writes their enriched documents."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Exposure
from core.domain.params import FINE_SHARE, Range, knob
from core.domain.tools import count_many, count_tokens
from core.planning.base import Card
from core.relevance.text_views import enriched, full, profile
from core.routers.base import ETOM, Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext, per_catalog
from core.routers.orchestrator import OrchestratorParameters, RetrievalNotes, Retrieved, joined_result, orchestrate
from core.routers.parameters import FIT, SHOWN, SIMILARITY
from core.routers.ranked_result import Floats, Mask, best_tool, top
from core.routers.reranking import NONE, RERANK, RerankingParameters, best_first, reranked
from core.routers.utility import ranking


@per_catalog
def tool_documents(catalog: Catalog) -> tuple[str, ...]:
    return tuple(enriched(tool) for tool in catalog.tools)


# ReAct as ETOM runs it (its appendix C.1): reason, act, observe, without any retrieval.
#
#     for each next action (at most `cycles`):
#         reason    which servers, by their names and descriptions: select(action, cards of all servers, s)
#         act       which of their tools, by names and descriptions:  select(action, cards of their tools)
#         observe   the tool is looked up in the catalog; a missing tool fails, and the cycle goes on
#
# The generative baseline: it knows a server only by its name and description in the prompt. The paper's: the two
# selections, simulated execution, a bound on cycles. Ours: with rules, a card's similarity stands in for reasoning, and the
# next actions are the parts of the query. The list of servers never changes and counts as cached prefix. Newly
# exposed are the texts of the tools that are read, and the definitions of the chosen tools, which a call needs.

MOST_CARDS = 200  # a selection sees at most so many servers or tools, the nearest


@dataclass(frozen=True)
class ReactParameters(OrchestratorParameters):
    s: int = knob(3, Range(1, 50), group=SIMILARITY, symbol="s", label="Servers per cycle",
        help="Servers whose tools are shown in a cycle (server_top_k).")  # fmt: skip


class React(Router[ReactParameters]):
    """Reasons over names and descriptions, without retrieval: picks servers, then a tool of theirs, step by step."""

    id = "react"
    title = "ReAct"
    paper = ETOM
    score = "fit of the description"

    def decide(self, query: Query, context: RoutingContext, parameters: ReactParameters) -> RoutingResult:
        def retrieve(text: str, match: Match) -> Retrieved:
            if parameters.similarity == FIT:
                servers, tools = match.servers, match.tools
            else:
                servers = np.maximum(query.cosines("servers", "profile", text), 0)
                tools = np.maximum(query.cosines("tools", "full", text), 0)
            order = ranking(servers, match.servers, context.server_order)
            searched_servers = _chosen_servers(query, context, text, servers, order, parameters)
            rows = np.flatnonzero(searched_servers[context.tool_server])
            best = rows[ranking(tools[rows], match.tools[rows], context.tool_order[rows])]
            return Retrieved(servers, tools, searched_servers, best[:MOST_CARDS])

        parts = orchestrate(query, context, parameters, retrieve)
        called_rows = sorted({row for part in parts for row in part.chosen})
        read_rows = np.any([part.retrieved.searched for part in parts], axis=0)[context.tool_server]
        of_servers, of_tools = _text_tokens(context.catalog)
        return joined_result(
            context,
            parts,
            notes=RetrievalNotes(
                "tools", "Chosen by name and description.", "Names and descriptions of all their tools are read."
            ),
            planner=query.planner.name,
            exposure=Exposure(int(of_tools[read_rows].sum() + context.tool_tokens[called_rows].sum()), of_servers),
        )


def _chosen_servers(
    query: Query, context: RoutingContext, text: str, fit: Floats, order: NDArray[np.int64], p: ReactParameters
) -> Mask:
    """(S,) the servers to look into: the servers that a model names, or the fittest if it names none or rules plan."""
    rows = order[: p.s].tolist()
    if p.planner == "model":
        servers = context.catalog.servers
        cards = [
            Card(servers[row].name, profile(servers[row]), min(1.0, float(fit[row])))
            for row in map(int, sorted(order[:MOST_CARDS]))  # equal for every question, so that an endpoint caches it
        ]
        names = query.planner.select(text, cards, p.s).ids
        rows = [context.catalog.server_row[name] for name in names] or rows
    chosen_rows = np.zeros(len(order), dtype=np.bool_)
    chosen_rows[rows] = True
    return chosen_rows


@per_catalog
def _text_tokens(catalog: Catalog) -> tuple[int, NDArray[np.int64]]:
    """Tokens of the list of all servers, and (T,) tokens of each tool's name and description."""
    servers = count_tokens("\n".join(profile(server) for server in catalog.servers))
    return servers, np.array(count_many([full(tool) for tool in catalog.tools]), dtype=np.int64)


# ToolShed's retrieval: one query in several wordings over enriched documents, de-duplicated, reranked.
#
#     Q(q)       = {r} and the variations of expand(r)                 r = rewrite(q); Hybrid: r = the request's text
#     score(t)   = max over q' in Q of cos(e(q'), e(d_t))              d_t: the enriched document of t (`core.relevance.text_views`)
#     candidates = the union over q' of the top-k by cosine, at least the threshold
#     rerank     : (1 - w) score(t) + w rerank(q, t) among the best of them
#
# The paper's: wordings, k, threshold, union, a reranker that reads question and candidates. Ours: the reranker is one of
# `core.routers.reranking`, and retrieval keeps a share of the score (w): without a model that reads the
# candidates a reranker alone ranks worse than retrieval.


@dataclass(frozen=True)
class FusionParameters(RerankingParameters, OrchestratorParameters):
    """The parameters of ETOM's ablation study (its appendix G): breadth of retrieval, wordings, reranking."""

    k: int = knob(10, Range(1, 100), group=SIMILARITY, symbol="k", label="Tools per wording",
        help="Tools that each wording brings up (tool_top_k).")  # fmt: skip
    variations: int = knob(3, Range(0, 8), group=SIMILARITY, symbol="|Q|", label="Other wordings",
        help="Other wordings of the question that are looked up too (query_expansion_count).")  # fmt: skip
    threshold: float = knob(0.0, FINE_SHARE, group=SIMILARITY, symbol="cos₀", label="Least similarity",
        help="Least similarity of a tool that comes up.")  # fmt: skip
    rerank_top_k: int = knob(20, Range(1, 100), group=RERANK, symbol="k'", label="Candidates reranked",
        help="Candidates that are reranked.")  # fmt: skip


class FusionRouter(Router[FusionParameters]):
    """Flat multi-query retrieval for each part of a query. A subclass defines the first wording of a part."""

    @abstractmethod
    def first_wording(self, query: Query, text: str) -> str:
        """The first text to look up for a part. Its variations derive from it."""

    def decide(self, query: Query, context: RoutingContext, parameters: FusionParameters) -> RoutingResult:
        looked_up: list[str] = []

        def retrieve(text: str, match: Match) -> Retrieved:
            wordings = wordings_of(query, self.first_wording(query, text), parameters)
            looked_up.extend(wordings)
            return fused(query, context, match, wordings, parameters)

        parts = orchestrate(query, context, parameters, retrieve)
        notes = RetrievalNotes(
            "retrieval", "Flat: every server is looked into.", _tools_note(len(looked_up), parameters)
        )
        return joined_result(context, parts, notes=notes, planner=query.planner.name)


def fused(
    query: Query, context: RoutingContext, match: Match, wordings: tuple[str, ...], p: FusionParameters
) -> Retrieved:
    """Multi-query retrieval of `wordings`, and reranking by the first wording."""
    if p.similarity == FIT:
        cosines = np.array([query.match(SHOWN[FIT], wording).tools for wording in wordings])
    else:
        texts = tool_documents(context.catalog)
        cosines = np.maximum([query.cosines_of(texts, wording) for wording in wordings], 0)
    scores = cosines.max(axis=0)
    best = [top(row, match.tools, context.tool_order, p.k) & (row >= p.threshold) for row in cosines]
    rows = np.flatnonzero(np.any(best, axis=0))
    rows = best_first(rows, scores[rows], match, context)
    first, rest = rows[: p.rerank_top_k], rows[p.rerank_top_k :]
    scores[first] = reranked(query, context, wordings[0], first, scores[first], match, p)
    rows = np.concatenate([best_first(first, scores[first], match, context), rest])
    return Retrieved(best_tool(context, scores), scores, np.ones(len(context.server_names), dtype=np.bool_), rows)


def wordings_of(query: Query, text: str, p: FusionParameters) -> tuple[str, ...]:
    return tuple(dict.fromkeys((text, *query.planner.expand(text, p.variations)))) if p.variations else (text,)


def _tools_note(wordings: int, p: FusionParameters) -> str:
    reranking = "not reranked" if p.reranker == NONE else f"the best {p.rerank_top_k} reranked ({p.reranker})"
    return f"{wordings} wordings of {p.k} tools each by {p.measure('enriched document')}, merged, {reranking}."


# ToolShed as ETOM runs it (its appendix C.2): flat retrieval over enriched tool documents, in three phases.
#
#     before      enriched documents: name, description, parameters, hypothetical questions, key topics
#     retrieval   rewrite(q), decompose into parts; each part with its variations, top-k by cosine of each (`tool_fusion`)
#     after       de-duplicate, rerank, select; or reject: {server: "no", tool: "no"}
#
# The paper's: the phases and their parameters (top-k 5 to 25, three variations, the best 10 reranked). Ours: the documents are
# made by rules, the reranker is one of `core.routers.reranking`, and a server's score is its best tool's.


class Toolshed(FusionRouter):
    """Enriched tool documents, looked up in several wordings without a hierarchy, merged and reranked."""

    id = "toolshed"
    title = "ToolShed"
    paper = ETOM
    score = "fused similarity"

    def first_wording(self, query: Query, text: str) -> str:
        return query.planner.rewrite(text)


# MCP-Zero as ETOM runs it (its appendix C.3): the query becomes a request for a tool, looked up in two stages.
#
#     server: <domain>  tool: <operation>  = request(q)
#     s_i  = cos(e(server), e(f_i)),  top-s servers                          t_ij = cos(e(tool), e(d_ij))
#     score = (s * t) * max(s, t),    the best of their tools                s, t clipped at 0
#
# A hint that comes with the query is its request's server. The paper's: request, two stages, score, decomposition into
# parts that are looked up in turn, enriched documents (`core.relevance.text_views`), rejection. Ours: a server's text counts
# with the mean of its profile and its summary. By fit, which is of whole sub-tasks, no request is made, and the part itself is looked up:
# two halves find less (docs/decisions/0035-fair-comparisons.md).


@dataclass(frozen=True)
class McpZeroParameters(OrchestratorParameters):
    s: int = knob(5, Range(1, 100), group=SIMILARITY, symbol="s", label="Servers looked into",
        help="Servers that are looked into (server_top_k).")  # fmt: skip
    t: int = knob(20, Range(1, 200), group=SIMILARITY, symbol="t", label="Tools found",
        help="Tools that come up (tool_top_k).")  # fmt: skip


class McpZero(Router[McpZeroParameters]):
    """Makes a request "server: … tool: …", takes the nearest servers, then their tools by (s·t)·max(s, t)."""

    id = "mcp_zero"
    title = "MCP-Zero"
    paper = ETOM
    score = "(s·t)·max(s, t)"

    def decide(self, query: Query, context: RoutingContext, parameters: McpZeroParameters) -> RoutingResult:
        requests: list[str] = []

        def retrieve(text: str, match: Match) -> Retrieved:
            if parameters.similarity == FIT:
                return _two_stages(context, match, match.servers, match.tools, parameters)
            request = query.planner.request(text)
            server = query.hint or request.server
            requests.append(f"server: {server} tool: {request.tool}")
            s = np.mean([query.cosines("servers", view, server) for view in ("profile", "summary")], axis=0)
            t = query.cosines_of(tool_documents(context.catalog), request.tool)
            return _two_stages(context, match, np.maximum(s, 0), np.maximum(t, 0), parameters)

        parts = orchestrate(query, context, parameters, retrieve)
        nearest = (
            f"Nearest to the request's server. {'; '.join(requests)}" if requests else "Highest probability of fit."
        )
        return joined_result(
            context,
            parts,
            notes=RetrievalNotes("tools", nearest, "(s·t)·max(s, t), MCP-Zero."),
            planner=query.planner.name,
        )


def _two_stages(context: RoutingContext, match: Match, s: Floats, t: Floats, p: McpZeroParameters) -> Retrieved:
    searched_servers = top(s, match.servers, context.server_order, p.s)
    scores = zero_score(s[context.tool_server], t)
    rows = np.flatnonzero(searched_servers[context.tool_server])
    best = rows[ranking(scores[rows], match.tools[rows], context.tool_order[rows])][: p.t]
    return Retrieved(s, scores, searched_servers, best)


def zero_score(s: Floats, t: Floats) -> Floats:
    """(s * t) * max(s, t) of similarities in [0, 1]: both must agree, and the stronger one counts twice.

    >>> zero_score(np.array([0.5]), np.array([0.8])).round(3).tolist()
    [0.32]
    """
    return s * t * np.maximum(s, t)


# ETOM's Hybrid (its appendix C.4): MCP-Zero's request in place of ToolShed's rewriting, the rest as ToolShed.
#
#     server: <domain>  tool: <operation>  = request(part)
#     the request with its variations -> ToolShed's multi-query retrieval, de-duplication, reranking
#
# It is a probe of the paper's, not a contender: structured requests with flat retrieval. A hint that comes with the query
# is its request's server.


class Hybrid(FusionRouter):
    """MCP-Zero's structured request, looked up as ToolShed does: several wordings, no hierarchy, reranked."""

    id = "hybrid"
    title = "Hybrid"
    paper = ETOM
    score = "fused similarity"

    def first_wording(self, query: Query, text: str) -> str:
        request = query.planner.request(text)
        return f"{query.hint or request.server}: {request.tool}"
