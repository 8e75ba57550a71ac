"""What PA-RAG and its baselines share: tools that were retrieved for a text, and a selector that takes some of them.

    chosen = select(q, cards of the m best tools, n)

The paper's: ten tools before the selector, whoever retrieved them. Ours: the selector takes at most n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.decision import Stage
from core.domain.params import SHARE, Range, knob
from core.index.text_views import full
from core.planning.base import Card, Complexity, SubQuery
from core.routers.context import Match, Query, RoutingContext
from core.routers.orchestrator import Part, Retrieved
from core.routers.parameters import PLANNING, SIMILARITY, VIEWS, MatchingParameters, PlanningParameters
from core.routers.ranked_result import best_tool, top


@dataclass(frozen=True)
class RetrievalParameters(PlanningParameters, MatchingParameters):
    """How many tools are retrieved and taken. Similarities are taken as they are."""

    n: int = knob(3, Range(1, 50), group=SIMILARITY, symbol="n", label="Tools per query",
        help="Tools taken for a query or sub-query, at most.")  # fmt: skip
    m: int = knob(10, Range(1, 32), group=SIMILARITY, symbol="m", label="Tools shown to the selector",
        help="Tools put before the selector.")  # fmt: skip
    refuse: bool = knob(False, group=PLANNING, label="May refuse",
        help="On: the selector may answer that nothing of what was retrieved can do it.")  # fmt: skip
    sim_midpoint: float = knob(0.0, SHARE, group=VIEWS, symbol="Sim½", label="Middle of the scale", advanced=True,
        help="The similarity that counts as one half; 0 takes the cosine as it is.")  # fmt: skip


def flat(query: Query, context: RoutingContext, text: str, p: RetrievalParameters) -> tuple[Match, Retrieved]:
    """The m best of all tools, without a hierarchy: what all of the paper's baselines retrieve."""
    match = query.match(p, text)
    best = np.flatnonzero(top(match.tools, match.tools, context.tool_order, p.m))
    rows = best[np.lexsort((context.tool_order[best], -match.tools[best]))]
    every = np.ones(len(context.server_names), dtype=np.bool_)
    return match, Retrieved(best_tool(context, match.tools), match.tools, every, rows)


def selected(
    query: Query,
    context: RoutingContext,
    sub_query: SubQuery,
    match: Match,
    retrieved: Retrieved,
    p: RetrievalParameters,
) -> Part:
    """What the selector takes of the retrieved tools: where it judges that none fits, the nearest unless it may refuse.

    Cards have the retrieval's scores in proportion, and the best of them the best cosine: what a planner's limit is set on.
    """
    tools, rows = context.catalog.tools, [int(row) for row in retrieved.rows]
    cosines = query.cosines("tools", "full", sub_query.text)[rows]
    best = retrieved.tools[rows].max(initial=0.0)
    scores = np.clip(retrieved.tools[rows] * (cosines.max(initial=0.0) / best if best > 0 else 0.0), 0.0, 1.0)
    cards = [Card(tools[row].id, full(tools[row]), float(score)) for row, score in zip(rows, scores, strict=True)]
    selection = query.planner.select(sub_query.text, cards, p.n)
    chosen = tuple(context.catalog.tool_row[name] for name in selection.ids)
    if chosen or p.refuse or not rows:
        return Part(sub_query, match, retrieved, chosen, selection.reason)
    nearest = tuple(rows[: p.n])
    return Part(sub_query, match, retrieved, nearest, f"{selection.reason} The nearest are taken all the same.")


def complexity_stage(complexity: Complexity, planner: str) -> Stage:
    """The path that was taken, with its evidence."""
    evidence = f": {'; '.join(complexity.evidence)}" if complexity.evidence else ""
    note = f"{complexity.label.capitalize()} ({complexity.score:.2f}){evidence}."
    return Stage("complexity", "paths", 1, 2, note, by=planner)
