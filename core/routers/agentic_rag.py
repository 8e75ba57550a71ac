"""Agentic RAG, PA-RAG's second baseline: ReAct over flat retrieval, with a context that grows step by step.

    context = ()
    for each thought (the parts of the question, at most 8):
        look up     top-m over all tools of P(t | context + thought)
        act         a tool of all that came up so far: select(context + thought, cards, n)
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
from core.domain.params import Parameters, knob
from core.economics.utility import ranking
from core.index.views import full
from core.planning.base import SubQuery
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.orchestrating import PARTS, Finding, Part, verdict
from core.routers.parameters import PLANNING
from core.routers.retrieving import RetrievalParameters, flat, selected


@dataclass(frozen=True)
class AgenticParameters(RetrievalParameters):
    """Retrieval's, and how far back the context reaches."""

    memory: int = knob(
        PARTS, symbol="memory", low=0, high=PARTS, step=1, group=PLANNING,
        help="Steps that stay in the context of the next ones. 0: each thought is looked up alone.",
    )  # fmt: skip


class AgenticRag(Router):
    """Think, look up, act, observe."""

    id = "agentic_rag"
    title = "Agentic RAG (ReAct)"
    paper = (
        "The baseline B2 of: PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
    )
    summary = "Step by step: flat retrieval for each thought, in a context that holds all the steps before."
    parameters = AgenticParameters
    score = "similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """A step for each thought, until nothing new comes."""
        if not isinstance(parameters, AgenticParameters):
            raise TypeError(f"Agentic RAG takes AgenticParameters, not {type(parameters).__name__}")
        return stepwise(question, scene, parameters, self.score)


def stepwise(
    question: Question, scene: Scene, p: AgenticParameters, score: str, before: tuple[Stage, ...] = ()
) -> Verdict:
    """Agentic RAG as a path: by itself, or where a question is complex."""
    thoughts = question.planner.decompose(question.text, PARTS)
    if len(thoughts) < 2:
        thoughts = (SubQuery(question.text),)
    steps: list[Part] = []
    for thought in thoughts:
        step = _step(question, scene, p, thought, steps)
        done = {row for earlier in steps for row in earlier.chosen}
        steps.append(step)
        if set(step.chosen) <= done:
            break
    shown = np.unique([row for step in steps for row in step.found.rows]).astype(np.int64)
    looked = (
        "retrieval",
        "Flat: every server is looked into.",
        f"The {p.m} most similar at each step, kept in the context.",
    )
    end = Stage(
        "steps", "thoughts", len(steps), len(thoughts),
        "All were come to." if len(steps) == len(thoughts) else "An early end: a step brought no new action.",
    )  # fmt: skip
    return verdict(
        scene, steps, score=score, looked=looked, by=question.planner.name, before=(*before, end),
        exposure=Exposure(int(scene.tool_tokens[shown].sum())),
    )  # fmt: skip


def _step(question: Question, scene: Scene, p: AgenticParameters, thought: SubQuery, earlier: Sequence[Part]) -> Part:
    remembered = earlier[len(earlier) - p.memory :] if 0 < p.memory < len(earlier) else earlier if p.memory else ()
    text = "\n".join([*(_told(scene, step) for step in remembered), thought.text])
    match, found = flat(question, scene, text, p)
    up = np.unique(np.concatenate([found.rows, *(step.found.rows for step in remembered)]))
    rows = up[ranking(match.tools[up], match.tools[up], scene.tool_order[up])]
    pool = Finding(found.servers, found.tools, found.listed, rows)
    part = selected(question, scene, SubQuery(text, thought.needs), match, pool, p)
    return Part(thought, match, pool, part.chosen, part.reason)


def _told(scene: Scene, step: Part) -> str:
    observed = [full(scene.catalog.tools[row]) for row in step.chosen[:1]]
    return "\n".join([step.query.text, *observed])
