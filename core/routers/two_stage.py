"""What NetMCP's routers share: BM25 over servers, then BM25 over the tools of the best (its section IV-B).

    S_c = the top-s servers by BM25(q, d_s)                                       NetMCP (1), (2)
    T_c = the top-t tools of S_c by BM25(q, d_t)                                  NetMCP (3), (4)

Ours: a tie goes to the higher similarity of meaning, which is also what is shown beside the scores. Where a query has
no word in common with any text, that decides, and not the order of the catalog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Stage
from core.domain.params import Range, knob
from core.domain.trace import DROPS, KEPT, Drop
from core.routers.base import Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.parameters import SIMILARITY, CandidateParameters, MatchingParameters, PlanningParameters
from core.routers.ranked_result import Floats, Mask, Scored, ranked_result, top

NO_TOOLS = "The servers that came up have no tools; raise s."
SHOWN_SIMILARITY = MatchingParameters()  # of the similarity that is shown beside the scores


@dataclass(frozen=True)
class TwoStageParameters(PlanningParameters, CandidateParameters):
    """The settings of NetMCP's experiments are s3t6, s4t8, s5t10 and s6t12."""

    s: int = knob(3, Range(1, 100), group=SIMILARITY, symbol="s", label="Servers kept",
        help="Servers kept, NetMCP (2).")  # fmt: skip
    t: int = knob(6, Range(1, 200), group=SIMILARITY, symbol="t", label="Tools kept",
        help="Tools kept of those servers, NetMCP (4).")  # fmt: skip


T = TypeVar("T", bound=TwoStageParameters)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The text that was looked up, BM25 scores of servers (S,) and tools (T,), what was kept of both, and the similarities of
    the query."""

    text: str
    match: Match
    servers: Floats
    tools: Floats
    listed: Mask
    kept: Mask
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class StageScores:
    """What ranks the kept tools: scores (T,), what they are in a sentence, and the stages that made them."""

    tools: Floats
    note: str
    stages: tuple[Stage, ...] = ()


Lookup = Callable[[Query, TwoStageParameters], tuple[str, tuple[Stage, ...]]]


class TwoStageRouter(Router[T]):
    """Both stages for a text that is made of the query, and the n best of the tools that they keep."""

    lookup: ClassVar[Lookup]
    """Makes the text that both stages look up, and the stage that says so: `translated` or `predicted`."""
    score = "BM25 score"

    def scored(self, query: Query, context: RoutingContext, found: Retrieval, parameters: T) -> StageScores:  # noqa: ARG002
        """What ranks the kept tools: the scores of the second stage where a subclass has nothing better."""
        return StageScores(found.tools, "Highest BM25 score.")

    def decide(self, query: Query, context: RoutingContext, parameters: T) -> RoutingResult:
        """A text, two stages, scores, best first."""
        text, before = type(self).lookup(query, parameters)
        found = retrieve(query, context, text, parameters)
        scores = self.scored(query, context, found, parameters)
        kept = int(found.kept.sum())
        last = Stage("candidates", "tools", min(parameters.n, kept), kept, scores.note)
        return ranked_result(
            context,
            Scored(found.match.servers, found.servers),
            Scored(found.match.tools, scores.tools),
            n=parameters.n,
            shortlisted=found.listed,
            dropped=_dropped(context, found),
            stages=(*before, *found.stages, *scores.stages, last),
            score=self.score,
            no_candidate=NO_TOOLS,
        )


def translated(query: Query, parameters: TwoStageParameters) -> tuple[str, tuple[Stage, ...]]:
    """The query in words that tools are described with: a model's rewriting, or the query as it is where rules plan."""
    if parameters.planner == "rules":
        return query.text, ()
    text = query.planner.rewrite(query.text)
    return text, (Stage("translation", "queries", 1, 1, f"Looked up: {text}", by=query.planner.name),)


def predicted(query: Query, _: TwoStageParameters) -> tuple[str, tuple[Stage, ...]]:
    """The description of the tool that the query wants, as the planner predicts it."""
    text = query.planner.predict_tool(query.text)
    return text, (Stage("tool prediction", "queries", 1, 1, f"Looked up: {text}", by=query.planner.name),)


def retrieve(query: Query, context: RoutingContext, text: str, parameters: TwoStageParameters) -> Retrieval:
    """The two stages for a text: the query itself, or what a planner made of it."""
    match = query.match(SHOWN_SIMILARITY)
    servers, tools = query.bm25("servers", text), query.bm25("tools", text)
    listed = top(servers, match.servers, context.server_order, parameters.s)
    within = np.flatnonzero(listed[context.tool_server])
    kept = np.zeros(len(tools), dtype=np.bool_)
    kept[within] = top(tools[within], match.tools[within], context.tool_order[within], parameters.t)
    stages = (
        Stage("server filter", "servers", int(listed.sum()), len(listed), "Highest BM25 score, NetMCP (1), (2)."),
        Stage("tool filter", "tools", int(kept.sum()), len(within), "Highest BM25 score, NetMCP (3), (4)."),
    )
    return Retrieval(text, match, servers, tools, listed, kept, stages)


def _dropped(context: RoutingContext, found: Retrieval) -> NDArray[np.int8]:
    missed = found.listed[context.tool_server] & ~found.kept
    return np.where(missed, DROPS.index(Drop.NOT_RETRIEVED), KEPT).astype(np.int8)
