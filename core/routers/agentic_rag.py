"""Agentic RAG, PA-RAG's second baseline: ReAct over flat retrieval, with a context that grows step by step.

    context = ()
    for each thought (the parts of the query, at most 8):
        look up     top-m over all tools of P(t | context + thought)
        act         a tool of all that were retrieved so far: select(context + thought, cards, n)
        observe     context += thought and the text of the tool;  no action, or only ones that were taken before: the end

The paper's: the loop, flat retrieval in each step, linear accumulation of thoughts, observations and retrieved tools, and what comes
of it, contamination and an early end (its section 5.2). Ours: with rules the accumulated text is what is looked up, in the place of a
model that reads it; `memory` says how many steps back it reaches (0: each thought stands alone). Actions are not executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.decision import Exposure, Stage
from core.domain.params import Range, knob
from core.economics.utility import ranking
from core.index.text_views import full
from core.planning.base import SubQuery
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.orchestrator import MAX_PARTS, Part, RetrievalNotes, Retrieved, joined_result
from core.routers.papers import PA_RAG
from core.routers.parameters import PLANNING
from core.routers.retrieval import RetrievalParameters, flat, selected


@dataclass(frozen=True)
class AgenticParameters(RetrievalParameters):
    """Retrieval's, and how far back the context reaches."""

    memory: int = knob(MAX_PARTS, Range(0, MAX_PARTS), group=PLANNING, symbol="memory", label="Steps remembered",
        help="Steps that stay in the context of the next ones. 0: each thought is looked up alone.")  # fmt: skip


class AgenticRag(Router[AgenticParameters]):
    """Step by step: flat retrieval for each thought, in a context that holds all the steps before."""

    id = "agentic_rag"
    title = "Agentic RAG (ReAct)"
    paper = f"The baseline B2 of: {PA_RAG}"
    score = "similarity"

    def decide(self, query: Query, context: RoutingContext, parameters: AgenticParameters) -> RoutingResult:
        """A step for each thought, until one brings no new action."""
        return stepwise(query, context, parameters, self.score)


def stepwise(
    query: Query, context: RoutingContext, p: AgenticParameters, score: str, before: tuple[Stage, ...] = ()
) -> RoutingResult:
    """Agentic RAG as a path: by itself, or where a query is complex."""
    thoughts = query.planner.decompose(query.text, MAX_PARTS)
    if len(thoughts) < 2:
        thoughts = (SubQuery(query.text),)
    steps: list[Part] = []
    for thought in thoughts:
        step = _step(query, context, p, thought, steps)
        done = {row for earlier in steps for row in earlier.chosen}
        steps.append(step)
        if set(step.chosen) <= done:
            break
    shown = np.unique([row for step in steps for row in step.retrieved.rows]).astype(np.int64)
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
        context, steps, score=score, notes=notes, planner=query.planner.name, before=(*before, end),
        exposure=Exposure(int(context.tool_tokens[shown].sum())),
    )  # fmt: skip


def _step(
    query: Query, context: RoutingContext, p: AgenticParameters, thought: SubQuery, earlier: Sequence[Part]
) -> Part:
    in_context = earlier[len(earlier) - p.memory :] if 0 < p.memory < len(earlier) else earlier if p.memory else ()
    text = "\n".join([*(_step_text(context, step) for step in in_context), thought.text])
    match, found = flat(query, context, text, p)
    union = np.unique(np.concatenate([found.rows, *(step.retrieved.rows for step in in_context)]))
    rows = union[ranking(match.tools[union], match.tools[union], context.tool_order[union])]
    pool = Retrieved(found.servers, found.tools, found.searched, rows)
    part = selected(query, context, SubQuery(text, thought.needs), match, pool, p)
    return Part(thought, match, pool, part.chosen, part.reason)


def _step_text(context: RoutingContext, step: Part) -> str:
    observed = [full(context.catalog.tools[row]) for row in step.chosen[:1]]
    return "\n".join([step.sub_query.text, *observed])
