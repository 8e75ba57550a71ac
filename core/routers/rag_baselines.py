"""The common part of PA-RAG and its baselines: tools retrieved for a text, and a selector.

    chosen = select(q, cards of the m best tools, n)

The paper's: ten tools before the selector, for every retrieval. Ours: the selector takes at most n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.decision import Exposure, Stage
from core.domain.params import SHARE, Range, knob
from core.planning.base import Card, Complexity, SubQuery
from core.relevance.text_views import full
from core.routers.base import PA_RAG, Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.orchestrator import MAX_PARTS, Part, RetrievalNotes, Retrieved, joined_result
from core.routers.parameters import PLANNING, SIMILARITY, VIEWS, MatchingParameters, PlanningParameters
from core.routers.ranked_result import best_tool, top
from core.routers.utility import ranking


@dataclass(frozen=True)
class RetrievalParameters(PlanningParameters, MatchingParameters):
    """The number of retrieved and of selected tools. Similarities are used unchanged."""

    n: int = knob(3, Range(1, 50), group=SIMILARITY, symbol="n", label="Tools per query",
        help="Tools taken for a query or sub-query, at most.")  # fmt: skip
    m: int = knob(10, Range(1, 32), group=SIMILARITY, symbol="m", label="Tools shown to the selector",
        help="Tools put before the selector.")  # fmt: skip
    refuse: bool = knob(False, group=PLANNING, label="May refuse",
        help="On: the selector may answer that nothing of what was retrieved can do it.")  # fmt: skip
    sim_midpoint: float = knob(0.0, SHARE, group=VIEWS, symbol="Sim½", label="Middle of the scale", advanced=True,
        help="The similarity that counts as one half; 0 takes the cosine as it is.")  # fmt: skip


def flat(query: Query, context: RoutingContext, text: str, p: RetrievalParameters) -> tuple[Match, Retrieved]:
    """The m best of all tools, without a hierarchy. All of the paper's baselines retrieve so."""
    match = query.match(p, text)
    best = np.flatnonzero(top(match.tools, match.tools, context.tool_order, p.m))
    rows = best[np.lexsort((context.tool_order[best], -match.tools[best]))]
    all_servers = np.ones(len(context.server_names), dtype=np.bool_)
    return match, Retrieved(best_tool(context, match.tools), match.tools, all_servers, rows)


def selected(
    query: Query,
    context: RoutingContext,
    sub_query: SubQuery,
    match: Match,
    retrieved: Retrieved,
    p: RetrievalParameters,
) -> Part:
    """The tools that the selector takes. If it judges that none fits, it takes the nearest, unless it may refuse.

    Cards have scores in proportion to the retrieval's. The best score is the best cosine, because a planner's limit refers to it.
    """
    tools, rows = context.catalog.tools, [int(row) for row in retrieved.rows]
    cosines = query.cosines("tools", "full", sub_query.text)[rows]
    best = retrieved.tools[rows].max(initial=0.0)
    scores = np.clip(retrieved.tools[rows] * (cosines.max(initial=0.0) / best if best > 0 else 0.0), 0.0, 1.0)
    cards = [Card(tools[row].id, full(tools[row]), float(score)) for row, score in zip(rows, scores, strict=True)]
    selection = query.planner.select(sub_query.text, cards, p.n)
    chosen_rows = tuple(context.catalog.tool_row[name] for name in selection.ids)
    if chosen_rows or p.refuse or not rows:
        return Part(sub_query, match, retrieved, chosen_rows, selection.reason)
    nearest = tuple(rows[: p.n])
    return Part(sub_query, match, retrieved, nearest, f"{selection.reason} The nearest are taken all the same.")


def complexity_stage(complexity: Complexity, planner: str) -> Stage:
    evidence = f": {'; '.join(complexity.evidence)}" if complexity.evidence else ""
    note = f"{complexity.label.capitalize()} ({complexity.score:.2f}){evidence}."
    return Stage("complexity", "paths", 1, 2, note, by=planner)


# Naive RAG, PA-RAG's first baseline: one flat retrieval for the whole query, and a selector.
#
#     Y = select(Q, top-m over all tools of P(t | Q))                          P(t | Q) from Sim(e(Q), e(d_t)); m = 10
#
# The paper's: a flat layer, one vector for the whole question, ten candidates. Ours: the similarity is PA-RAG's mixture of
# views in its tool layer, so that the two differ only in the method.


class NaiveRag(Router[RetrievalParameters]):
    """The ten most similar tools of all, once for the whole question; a selector takes some of them."""

    id = "naive_rag"
    title = "Naive RAG"
    paper = f"The baseline B1 of: {PA_RAG}"

    def decide(self, query: Query, context: RoutingContext, parameters: RetrievalParameters) -> RoutingResult:
        return retrieved_once(query, context, parameters)


def retrieved_once(
    query: Query, context: RoutingContext, p: RetrievalParameters, before: tuple[Stage, ...] = ()
) -> RoutingResult:
    """Naive RAG as a path: by itself, or for a simple query."""
    match, retrieval = flat(query, context, query.text, p)
    part = selected(query, context, SubQuery(query.text), match, retrieval, p)
    notes = RetrievalNotes(
        "retrieval", "Flat: every server is looked into.", f"The {p.m} most similar to the whole question."
    )
    return joined_result(context, (part,), notes=notes, planner=query.planner.name, before=before)


# Agentic RAG, PA-RAG's second baseline: ReAct over flat retrieval, with a context that grows step by step.
#
#     context = ()
#     for each thought (the parts of the query, at most 8):
#         look up     top-m over all tools of P(t | context + thought)
#         act         a tool of all that were retrieved so far: select(context + thought, cards, n)
#         observe     context += thought and the text of the tool;  no action, or only earlier actions: the end
#
# The paper's: the loop, flat retrieval in each step, linear accumulation of thoughts, observations and retrieved tools, and the
# results, contamination and an early end (its section 5.2). Ours: with rules the accumulated text is looked up, in the place of a model
# that reads it; `memory` says how many steps back it reaches (0: each thought stands alone). Actions are not executed.


@dataclass(frozen=True)
class AgenticParameters(RetrievalParameters):
    memory: int = knob(MAX_PARTS, Range(0, MAX_PARTS), group=PLANNING, symbol="memory", label="Steps remembered",
        help="Steps that stay in the context of the next ones. 0: each thought is looked up alone.")  # fmt: skip


class AgenticRag(Router[AgenticParameters]):
    """Step by step: flat retrieval for each thought, in a context that holds all the steps before."""

    id = "agentic_rag"
    title = "Agentic RAG (ReAct)"
    paper = f"The baseline B2 of: {PA_RAG}"

    def decide(self, query: Query, context: RoutingContext, parameters: AgenticParameters) -> RoutingResult:
        return stepwise(query, context, parameters)


def stepwise(
    query: Query, context: RoutingContext, p: AgenticParameters, before: tuple[Stage, ...] = ()
) -> RoutingResult:
    """Agentic RAG as a path: by itself, or for a complex query."""
    thoughts = query.planner.decompose(query.text, MAX_PARTS)
    if len(thoughts) < 2:
        thoughts = (SubQuery(query.text),)
    steps: list[Part] = []
    for thought in thoughts:
        step = _step(query, context, p, thought, steps)
        taken_rows = {row for previous in steps for row in previous.chosen}
        steps.append(step)
        if set(step.chosen) <= taken_rows:
            break
    shown_rows = np.unique([row for step in steps for row in step.retrieved.rows]).astype(np.int64)
    notes = RetrievalNotes(
        "retrieval",
        "Flat: every server is looked into.",
        f"The {p.m} most similar at each step, kept in the context.",
    )
    end = Stage(
        "steps", "thoughts", len(steps), len(thoughts),
        "All were come to." if len(steps) == len(thoughts) else "An early end: a step brought no new action.",
    )  # fmt: skip
    return joined_result(
        context, steps, notes=notes, planner=query.planner.name, before=(*before, end),
        exposure=Exposure(int(context.tool_tokens[shown_rows].sum())),
    )  # fmt: skip


def _step(
    query: Query, context: RoutingContext, p: AgenticParameters, thought: SubQuery, steps: Sequence[Part]
) -> Part:
    memory = steps[len(steps) - p.memory :] if 0 < p.memory < len(steps) else steps if p.memory else ()
    text = "\n".join([*(_step_text(context, step) for step in memory), thought.text])
    match, retrieval = flat(query, context, text, p)
    union = np.unique(np.concatenate([retrieval.rows, *(step.retrieved.rows for step in memory)]))
    rows = union[ranking(match.tools[union], match.tools[union], context.tool_order[union])]
    pool = Retrieved(retrieval.servers, retrieval.tools, retrieval.searched, rows)
    part = selected(query, context, SubQuery(text, thought.needs), match, pool, p)
    return Part(thought, match, pool, part.chosen, part.reason)


def _step_text(context: RoutingContext, step: Part) -> str:
    tool_texts = [full(context.catalog.tools[row]) for row in step.chosen[:1]]
    return "\n".join([step.sub_query.text, *tool_texts])


# Adaptive RAG, PA-RAG's third baseline: a classifier of complexity before Naive RAG and Agentic RAG.
#
#     Y = naive(Q) if complexity(Q) is simple, else agentic(Q)
#
# The paper's: a general classifier (Jeong et al. 2024). Unlike PA-RAG's, it reads the query alone and not the servers.


class AdaptiveRag(Router[AgenticParameters]):
    """A simple question goes through Naive RAG, a complex one through Agentic RAG, as its wording says."""

    id = "adaptive_rag"
    title = "Adaptive RAG"
    paper = f"The baseline B3 of: {PA_RAG}"

    def decide(self, query: Query, context: RoutingContext, parameters: AgenticParameters) -> RoutingResult:
        complexity = query.planner.complexity(query.text, ())
        stages = (complexity_stage(complexity, query.planner.name),)
        if complexity.label == "simple":
            return retrieved_once(query, context, parameters, stages)
        return stepwise(query, context, parameters, stages)
