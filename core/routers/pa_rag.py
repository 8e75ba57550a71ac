"""PA-RAG (paper 003): ranks servers before tools, and splits a query that asks for several things.

    S^  = servers that the cascade's first stage keeps for Q               pre-retrieval
    path(Q, S^) = simple:   Y = select(Q, cascade(Q))
                  complex:  {q_1 .. q_n} = decompose(Q);  Y_k = select(q_k, cascade(q_k));  Y = aggregate(Y_1 .. Y_n)

The paper's: the two-layer index and the cascade (`cascade`), a router of complexity that reads the query and the pre-retrieved
servers, isolated sub-queries, a selector, aggregation with verification (`aggregation`), and its ablations as switches: w/o
Hierarchy, Simple Only, Complex Only, w/o Reranker. Ours: the planner may be rules; the budget is in tokens; and a
check of the arguments that the chosen tools require (`arguments`), which the paper names as a limitation. Its result is a remark per tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Server, words
from core.domain.decision import Stage
from core.domain.params import SHARE, Range, knob
from core.planning.base import SubQuery
from core.routers.base import PA_RAG, Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.orchestrator import MAX_PARTS, Part, RetrievalNotes, Retrieved, joined_result
from core.routers.parameters import ABLATION, BUDGET, SIMILARITY, weight_knob
from core.routers.rag_baselines import RetrievalParameters, complexity_stage, selected
from core.routers.ranked_result import Floats, Mask, best_tool, top
from core.routers.reranking import NONE, RerankingParameters, reranked, reranker_knob
from core.routers.utility import ranking

# PA-RAG's aggregation and verification: the choices of all sub-queries as one set that fits into a model's context window.
#
#     Y = union over sub-queries of Y_k                          each tool once; its tokens are counted once
#     kept: first choices of all sub-queries, then second choices and so on, as long as the budget of tokens lasts
#
# The paper's: union, de-duplication, and a check that the set covers the query without exceeding the context (its section
# 4.5). Ours: the order in which the budget is spent, so that no sub-query's second choice drives out another's first; the check
# names the sub-queries without a tool, and the sub-queries that wait for their results.

QUOTED_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Rows of the final set, rows that the budget has removed, and both as stages."""

    kept: tuple[int, ...]
    cut: frozenset[int]
    stages: tuple[Stage, ...]


def aggregated(context: RoutingContext, parts: Sequence[Part], budget_tokens: int) -> Aggregate:
    """Merges the choices of all parts into definitions of at most `budget_tokens` tokens."""
    union = interleaved([part.chosen for part in parts])
    tokens = context.tool_tokens
    kept_rows = within_budget(union, [int(tokens[row]) for row in union], budget_tokens)
    count = sum(len(part.chosen) for part in parts)
    duplicates = count - len(union)
    note = (
        f"{count} choice{'s' * (count != 1)}{f', {duplicates} of a tool that was chosen before' if duplicates else ''}; "
        f"{int(tokens[list(kept_rows)].sum()):,} of {budget_tokens:,} tokens."
    )
    return Aggregate(
        kept_rows,
        frozenset(union) - set(kept_rows),
        (_verified(parts, kept_rows), Stage("aggregation", "tools", len(kept_rows), len(union), note)),
    )


def interleaved(choices: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Every row once: all first choices in the order of the sub-queries, then all second choices.

    >>> interleaved([(4, 7), (5,), (4, 9)])
    (4, 5, 7, 9)
    """
    turns = zip_longest(*choices)
    return tuple(dict.fromkeys(row for turn in turns for row in turn if row is not None))


def within_budget(rows: Sequence[int], tokens: Sequence[int], budget: int) -> tuple[int, ...]:
    """The rows that fit, in their order. A row that is too long is skipped, and the next may still fit.

    >>> within_budget([4, 5, 7], [60, 70, 30], 100)
    (4, 7)
    """
    kept_rows: list[int] = []
    for row, size in zip(rows, tokens, strict=True):
        if size <= budget:
            kept_rows.append(row)
            budget -= size
    return tuple(kept_rows)


def _verified(parts: Sequence[Part], kept_rows: Collection[int]) -> Stage:
    missing = {i for i, part in enumerate(parts) if not set(part.chosen) & set(kept_rows)}
    waiting = {i for i, part in enumerate(parts) if i not in missing and missing & set(part.sub_query.needs)}
    notes = [f"No tool for: {_quoted(parts, missing)}."] if missing else ["Every sub-query has a tool."]
    if waiting:
        notes.append(f"Waiting for the result of one of those: {_quoted(parts, waiting)}.")
    return Stage("verification", "sub-queries", len(parts) - len(missing), len(parts), " ".join(notes))


def _quoted(parts: Sequence[Part], indices: Collection[int]) -> str:
    return "; ".join(parts[index].sub_query.text[:QUOTED_CHARACTERS] for index in sorted(indices))


# PA-RAG's cascade over its two-layer index: from a text to a few servers, and from their tools to a few candidates.
#
#     I_s   server layer: name and functional summary        S_pool = top-p by P(S | q);   rerank;   S^ = top-k
#     I_t   tool layer: name and description, by server      T_pool = top-32 of S^ by P(t | S^, q);   rerank;   T^ = top-m
#     P(t | q) = P(S | q)^w P(t | S^, q)                     P(S | q) as a share of the best server's
#
# The paper's: the two layers, both stages, pruning before reranking, k = 3 and m = 10, the chain rule (its sections 3, 4.2, 4.3,
# figures 10 to 12), a summary that a model writes (`summaries=written`). Ours: by default it is extractive, a server's own description and its tools' names, embedded
# apart so that no window cuts it, with words in common beside them; the reranker reads a server through its best `LINES`
# tools, for a summary hides the tool that fits; its score counts for `rerank_share` of the whole (1 is the paper's); a
# kept server's score counts with an exponent w (0: only being kept counts). Without a reranker the first order stands.
#
# A cascade is a function of its text alone. Its result for a sub-query does not depend on other sub-queries.

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
    pool: int = knob(40, Range(1, 200), group=SIMILARITY, symbol="p", label="Servers before reranking", advanced=True,
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
    """Stage 1 for a text: its similarities, the servers' score after reranking (S,), and the mask of kept servers (S,)."""

    text: str
    match: Match
    score: Floats
    kept: Mask


@dataclass(eq=False)
class Cascade:
    """Both stages over one routing context. An object serves one decision and keeps nothing between two texts."""

    query: Query
    context: RoutingContext
    parameters: CascadeParameters

    def pruned(self, text: str) -> Pruned:
        """Stage 1. A sub-query does not use the server hint, which belongs to the whole query."""
        p, context = self.parameters, self.context
        match = self.query.match(p if text == self.query.text else p.replaced({"hint_weight": 0.0}), text)
        if p.summaries == WRITTEN:
            match = replace(match, servers=self._written(text))
        if not p.hierarchy:
            return Pruned(text, match, match.servers, np.ones(len(match.servers), dtype=np.bool_))
        pool = top(match.servers, match.servers, context.server_order, max(p.pool, p.k))
        score = match.servers if p.reranker == NONE else self._reranked_servers(text, match, pool)
        return Pruned(text, match, score, top(score, match.servers, context.server_order, p.k))

    def retrieve(self, pruned: Pruned) -> Retrieved:
        """Stage 2, within the servers that stage 1 keeps."""
        p, context, similarity = self.parameters, self.context, pruned.match.tools
        rows = np.flatnonzero(pruned.kept[context.tool_server])
        pool = rows[top(similarity[rows], similarity[rows], context.tool_order[rows], TOOL_POOL)]
        score = similarity.copy()
        score[pool] = self._reranked(pruned.text, pool, pruned.match)
        if p.hierarchy:
            score *= chain_factor(pruned.score, p.chain)[context.tool_server]
        best = pool[ranking(score[pool], similarity[pool], context.tool_order[pool])]
        return Retrieved(pruned.score, score, pruned.kept, best[: p.m])

    def _written(self, text: str) -> Floats:
        """(S,) similarity to the functional summaries that the planner writes, once for each server."""
        summarise = self.query.planner.summarise
        texts = tuple(summarise(functional_summary(server)) for server in self.context.catalog.servers)
        return np.clip(self.query.cosines_of(texts, text), 0.0, 1.0)

    def _reranked_servers(self, text: str, match: Match, pool: Mask) -> Floats:
        """(S,) scores. Retrieved servers stay above all other servers."""
        lines = _best_lines(match.tools, self.context.tool_server, pool)
        line_scores = np.zeros(len(match.tools))
        line_scores[lines] = self._reranked(text, lines, match)
        best = best_tool(self.context, line_scores)
        score = SERVER_INDEX_SHARE * match.servers + (1 - SERVER_INDEX_SHARE) * best
        return np.where(pool, score, match.servers * score[pool].min(initial=1.0))

    def _reranked(self, text: str, rows: NDArray[np.int64], match: Match) -> Floats:
        return reranked(self.query, self.context, text, rows, match.tools[rows], match, self.parameters)


def functional_summary(server: Server) -> str:
    """The purpose of a server, extracted from its description and its tools' names.

    >>> from core.domain.catalog import Tool
    >>> functional_summary(Server("files", "Local files.", tools=(Tool("files", "readText"), Tool("files", "list"))))
    'files: Local files. Tools: read Text, list'
    """
    tools = ", ".join(words(tool.name) for tool in server.tools)
    return f"{words(server.name)}: {server.description.strip()} Tools: {tools}"


def chain_factor(servers: Floats, exponent: float) -> Floats:
    """(S,) in [0, 1]: each server's score as a share of the best server's, to an exponent in [0, 1].

    >>> chain_factor(np.array([0.8, 0.2, 0.0]), 0.5).tolist()
    [1.0, 0.5, 0.0]
    """
    best = servers.max(initial=0.0)
    return (np.clip(servers, 0.0, best) / best) ** exponent if best > 0 else np.ones(len(servers))


def _best_lines(similarity: Floats, tool_server: NDArray[np.int64], servers: Mask) -> NDArray[np.int64]:
    rows = np.flatnonzero(servers[tool_server])
    order = rows[np.lexsort((rows, -similarity[rows], tool_server[rows]))]
    starts = np.searchsorted(tool_server[order], tool_server[order], side="left")
    return order[np.arange(len(order)) - starts < LINES]


@dataclass(frozen=True)
class PaRagParameters(CascadeParameters):
    path: str = knob("adaptive", group=ABLATION, label="Depth of the search", advanced=True, choices=("adaptive", "simple", "complex"),
        help="adaptive: the complexity decides. simple: one pass (Simple Only). complex: always taken apart (Complex Only).")  # fmt: skip
    budget_tokens: int = knob(8_000, Range(100, 32_000, 100, "tokens"), group=BUDGET, symbol="budget", label="Token limit",
        help="Most tokens that the definitions of the chosen tools may take together.")  # fmt: skip
    check_arguments: bool = knob(True, group=BUDGET, symbol="check arguments", label="Check arguments",
        help="Says at each chosen tool which required arguments the question holds nothing for. No tool is dropped for it.")  # fmt: skip


class PaRag(Router[PaRagParameters]):
    """Servers first, then their tools, reranked; a complex question is taken apart and each part looked up alone."""

    id = "pa_rag"
    title = "PA-RAG"
    paper = PA_RAG
    score = "chained relevance"

    def decide(self, query: Query, context: RoutingContext, parameters: PaRagParameters) -> RoutingResult:
        cascade = Cascade(query, context, parameters)
        whole_result = cascade.pruned(query.text)
        sub_queries, path_stages = _path(query, context, whole_result, parameters)

        def part(sub_query: SubQuery) -> Part:
            pruned = whole_result if sub_query.text == whole_result.text else cascade.pruned(sub_query.text)
            return selected(query, context, sub_query, pruned.match, cascade.retrieve(pruned), parameters)

        parts = tuple(map(part, sub_queries))
        union = aggregated(context, parts, parameters.budget_tokens)
        remarks = _remarks(query, context, parts, union.kept if parameters.check_arguments else ())
        check_stages = (_check_stage(context, union.kept, remarks),) if parameters.check_arguments else ()
        result = joined_result(
            context, parts, notes=_notes(parameters), planner=query.planner.name, before=path_stages,
            after=(*union.stages[:1], *check_stages, *union.stages[1:]), cut=union.cut,
        )  # fmt: skip
        reason = result.reason if union.kept or not union.cut else "No tool fits into the budget of tokens; raise it."
        return replace(result, remarks=remarks, reason=reason)


def _path(
    query: Query, context: RoutingContext, whole_result: Pruned, p: PaRagParameters
) -> tuple[Sequence[SubQuery], tuple[Stage, ...]]:
    """The queries to look up, and the stages that say how the path was chosen."""
    single = (SubQuery(query.text),)
    nearest = top(whole_result.score, whole_result.match.servers, context.server_order, p.k)
    reranking = "" if p.reranker == NONE or not p.hierarchy else ", reranked"
    stages = (
        Stage(
            "pre-retrieval", "servers", int(nearest.sum()), len(nearest), f"Nearest by {_server_measure(p)}{reranking}."
        ),
    )
    if p.path == "simple":
        return single, stages
    if p.path == "adaptive":
        servers = context.catalog.servers
        texts = [functional_summary(servers[row]) for row in map(int, nearest.nonzero()[0])]
        complexity = query.planner.complexity(query.text, texts)
        stages = (*stages, complexity_stage(complexity, query.planner.name))
        if complexity.label == "simple":
            return single, stages
    sub_queries = query.planner.decompose(query.text, MAX_PARTS)
    return (sub_queries if len(sub_queries) > 1 else single), stages


def _server_measure(p: PaRagParameters) -> str:
    return "functional summary" if p.summaries == WRITTEN else p.measure("functional summary")


def _notes(p: PaRagParameters) -> RetrievalNotes:
    reranking = "not reranked" if p.reranker == NONE else f"reranked ({p.reranker})"
    if not p.hierarchy:
        return RetrievalNotes(
            "tools", "Without a hierarchy: every server is looked into.", f"The {p.m} best of all, {reranking}."
        )
    return RetrievalNotes(
        "scoped tools",
        f"The best {p.k} for each query by {_server_measure(p)}, {reranking}.",
        f"The {p.m} best of those servers' tools for each query, {reranking}.",
    )


def _remarks(query: Query, context: RoutingContext, parts: Sequence[Part], rows: Sequence[int]) -> Mapping[int, str]:
    from core.planning.literals import QuestionLiterals, missing_arguments, missing_note

    literals = QuestionLiterals.of(query.text)
    waiting_rows = {row for part in parts if part.sub_query.needs for row in part.chosen}
    tools = context.catalog.tools
    missing = {row: missing_arguments(tools[row].input_schema, literals) for row in rows}
    return {row: missing_note(names, from_earlier=row in waiting_rows) for row, names in missing.items() if names}


def _check_stage(context: RoutingContext, kept_rows: Sequence[int], remarks: Mapping[int, str]) -> Stage:
    details = "; ".join(f"{context.tool_ids[row]} {remark}" for row, remark in remarks.items())
    note = f"{details}." if details else "The question holds something for every required argument."
    return Stage("argument check", "tools", len(kept_rows), len(kept_rows), note)
