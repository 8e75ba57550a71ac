"""PA-RAG (paper 003): servers before tools, and a query that asks for several things taken apart.

    S^  = servers that the cascade's first stage keeps for Q               pre-retrieval
    path(Q, S^) = simple:   Y = select(Q, cascade(Q))
                  complex:  {q_1 .. q_n} = decompose(Q);  Y_k = select(q_k, cascade(q_k));  Y = aggregate(Y_1 .. Y_n)

The paper's: the two-layer index and the cascade (`cascade`), a router of complexity that reads the query and the pre-retrieved
servers, isolated sub-queries, a selector, aggregation with verification (`aggregation`), and its ablations as switches: w/o
Hierarchy, Simple Only, Complex Only, w/o Reranker. Ours: the planner may be rules; the budget is in tokens; and what the paper
names as a limitation, a check of the arguments that the chosen tools require (`arguments`), whose result is a remark on each tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.domain.decision import Stage
from core.domain.params import Range, knob
from core.planning.arguments import QuestionLiterals, missing_arguments, missing_note
from core.planning.base import SubQuery
from core.reranking import NONE
from core.routers.aggregation import aggregated
from core.routers.base import Router, RoutingResult
from core.routers.cascade import Cascade, CascadeParameters, Pruned, functional_summary
from core.routers.context import Query, RoutingContext
from core.routers.orchestrator import MAX_PARTS, Part, RetrievalNotes, joined_result
from core.routers.papers import PA_RAG
from core.routers.parameters import ABLATION, BUDGET
from core.routers.ranked_result import top
from core.routers.retrieval import complexity_stage, selected


@dataclass(frozen=True)
class PaRagParameters(CascadeParameters):
    """The cascade's, the path, the budget."""

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
        """Pre-retrieval, the path, its cascades, aggregation."""
        cascade = Cascade(query, context, parameters)
        whole = cascade.pruned(query.text)
        sub_queries, before = _path(query, context, whole, parameters)

        def part(sub_query: SubQuery) -> Part:
            pruned = whole if sub_query.text == whole.text else cascade.pruned(sub_query.text)
            return selected(query, context, sub_query, pruned.match, cascade.retrieve(pruned), parameters)

        parts = tuple(map(part, sub_queries))
        total = aggregated(context, parts, parameters.budget_tokens)
        remarks = _remarks(query, context, parts, total.kept if parameters.check_arguments else ())
        checked = (_check_stage(context, total.kept, remarks),) if parameters.check_arguments else ()
        result = joined_result(
            context, parts, score=self.score, notes=_notes(parameters), planner=query.planner.name, before=before,
            after=(*total.stages[:1], *checked, *total.stages[1:]), cut=total.cut,
        )  # fmt: skip
        reason = result.reason if total.kept or not total.cut else "No tool fits into the budget of tokens; raise it."
        return replace(result, remarks=remarks, reason=reason)


def _path(
    query: Query, context: RoutingContext, whole: Pruned, p: PaRagParameters
) -> tuple[Sequence[SubQuery], tuple[Stage, ...]]:
    """The queries to look up, and the stages that say how the path was chosen."""
    once = (SubQuery(query.text),)
    nearest = top(whole.score, whole.match.servers, context.server_order, p.k)
    reranking = "" if p.reranker == NONE or not p.hierarchy else ", reranked"
    before = (
        Stage(
            "pre-retrieval", "servers", int(nearest.sum()), len(nearest), f"Nearest functional summaries{reranking}."
        ),
    )
    if p.path == "simple":
        return once, before
    if p.path == "adaptive":
        servers = context.catalog.servers
        texts = [functional_summary(servers[row]) for row in map(int, nearest.nonzero()[0])]
        complexity = query.planner.complexity(query.text, texts)
        before = (*before, complexity_stage(complexity, query.planner.name))
        if complexity.label == "simple":
            return once, before
    sub_queries = query.planner.decompose(query.text, MAX_PARTS)
    return (sub_queries if len(sub_queries) > 1 else once), before


def _notes(p: PaRagParameters) -> RetrievalNotes:
    reranking = "not reranked" if p.reranker == NONE else f"reranked ({p.reranker})"
    if not p.hierarchy:
        return RetrievalNotes(
            "tools", "Without a hierarchy: every server is looked into.", f"The {p.m} best of all, {reranking}."
        )
    return RetrievalNotes(
        "scoped tools",
        f"The best {p.k} for each query by functional summary, {reranking}.",
        f"The {p.m} best of those servers' tools for each query, {reranking}.",
    )


def _remarks(query: Query, context: RoutingContext, parts: Sequence[Part], kept: Sequence[int]) -> Mapping[int, str]:
    literals = QuestionLiterals.of(query.text)
    later = {row for part in parts if part.sub_query.needs for row in part.chosen}
    tools = context.catalog.tools
    missing = {row: missing_arguments(tools[row].input_schema, literals) for row in kept}
    return {row: missing_note(names, from_earlier=row in later) for row, names in missing.items() if names}


def _check_stage(context: RoutingContext, kept: Sequence[int], remarks: Mapping[int, str]) -> Stage:
    listed = "; ".join(f"{context.tool_ids[row]} {remark}" for row, remark in remarks.items())
    note = f"{listed}." if listed else "The question holds something for every required argument."
    return Stage("argument check", "tools", len(kept), len(kept), note)
