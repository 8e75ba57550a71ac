"""What PA-RAG and its baselines share: tools that were retrieved for a text, and a selector that takes some of them.

    chosen = select(q, cards of the m best tools, n)

The paper's: ten tools before the selector, whoever retrieved them. Ours: the selector takes at most n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.decision import Stage
from core.domain.params import knob
from core.index.views import full
from core.planning.base import Card, Complexity, SubQuery
from core.routers.base import Match, Question, Scene
from core.routers.orchestrating import Finding, Part
from core.routers.parameters import PLANNING, SIMILARITY, VIEWS, MatchingParameters, PlanningParameters
from core.routers.ranking import best_tool, top


@dataclass(frozen=True)
class RetrievalParameters(PlanningParameters, MatchingParameters):
    """How many tools are retrieved and taken. Similarities are taken as they are."""

    n: int = knob(
        3, symbol="n", low=1, high=50, step=1, group=SIMILARITY, help="Tools taken for a query or sub-query, at most."
    )
    m: int = knob(10, symbol="m", low=1, high=32, step=1, group=SIMILARITY, help="Tools put before the selector.")
    refuse: bool = knob(
        False, group=PLANNING, help="On: the selector may answer that nothing of what was retrieved can do it."
    )
    sim_midpoint: float = knob(
        0.0, symbol="Sim½", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="The similarity that counts as one half; 0 takes the cosine as it is.",
    )  # fmt: skip


def flat(question: Question, scene: Scene, text: str, p: RetrievalParameters) -> tuple[Match, Finding]:
    """The m best of all tools, without a hierarchy: what all of the paper's baselines retrieve."""
    match = question.match(p, text)
    up = np.flatnonzero(top(match.tools, match.tools, scene.tool_order, p.m))
    rows = up[np.lexsort((scene.tool_order[up], -match.tools[up]))]
    return match, Finding(
        best_tool(scene, match.tools), match.tools, np.ones(len(scene.server_names), dtype=np.bool_), rows
    )


def selected(
    question: Question, scene: Scene, query: SubQuery, match: Match, found: Finding, p: RetrievalParameters
) -> Part:
    """What the selector takes of what was found: where it judges that nothing fits, the nearest unless it may refuse.

    Cards have the retrieval's scores in proportion, and the best of them the best cosine: what a planner's limit is set on.
    """
    tools, rows = scene.catalog.tools, [int(row) for row in found.rows]
    cosines = question.cosines("tools", "full", query.text)[rows]
    best = found.tools[rows].max(initial=0.0)
    scores = np.clip(found.tools[rows] * (cosines.max(initial=0.0) / best if best > 0 else 0.0), 0.0, 1.0)
    cards = [Card(tools[row].id, full(tools[row]), float(score)) for row, score in zip(rows, scores, strict=True)]
    selection = question.planner.select(query.text, cards, p.n)
    chosen = tuple(scene.catalog.tool_row[name] for name in selection.ids)
    if chosen or p.refuse or not rows:
        return Part(query, match, found, chosen, selection.reason)
    return Part(query, match, found, tuple(rows[: p.n]), f"{selection.reason} The nearest are taken all the same.")


def complexity_stage(judged: Complexity, by: str) -> Stage:
    """The path that was taken, with its evidence."""
    evidence = f": {'; '.join(judged.evidence)}" if judged.evidence else ""
    return Stage("complexity", "paths", 1, 2, f"{judged.label.capitalize()} ({judged.score:.2f}){evidence}.", by=by)
