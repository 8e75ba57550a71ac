"""What NetMCP's routers share: BM25 over servers, then BM25 over the tools of the best (its section IV-B).

    S_c = the top-s servers by BM25(q, d_s)                                       NetMCP (1), (2)
    T_c = the top-t tools of S_c by BM25(q, d_t)                                  NetMCP (3), (4)

Ours: a tie goes to the higher similarity of meaning, which is also what is shown beside the scores. Where a question has
no word in common with any text, that decides, and not the order of the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import DROPS, KEPT, Drop, Stage
from core.domain.params import knob
from core.routers.base import Match, Question, Scene, Verdict
from core.routers.parameters import SIMILARITY, CandidateParameters, MatchingParameters, PlanningParameters
from core.routers.ranking import Floats, Mask, Scored, ranked_verdict, top

NO_TOOLS = "The servers that came up have no tools; raise s."
SHOWN = MatchingParameters()  # the similarity beside the scores


@dataclass(frozen=True)
class TwoStageParameters(PlanningParameters, CandidateParameters):
    """The settings of NetMCP's experiments are s3t6, s4t8, s5t10 and s6t12."""

    s: int = knob(3, symbol="s", low=1, high=100, step=1, group=SIMILARITY, help="Servers kept, NetMCP (2).")
    t: int = knob(
        6, symbol="t", low=1, high=200, step=1, group=SIMILARITY, help="Tools kept of those servers, NetMCP (4)."
    )


@dataclass(frozen=True, slots=True)
class Retrieval:
    """BM25 scores of servers (S,) and tools (T,), what was kept of both, and the similarities of the question."""

    match: Match
    servers: Floats
    tools: Floats
    listed: Mask
    kept: Mask
    stages: tuple[Stage, ...]


def retrieve(question: Question, scene: Scene, text: str, parameters: TwoStageParameters) -> Retrieval:
    """The two stages for a text: the question itself, or what a planner made of it."""
    match = question.match(SHOWN)
    servers, tools = question.bm25("servers", text), question.bm25("tools", text)
    listed = top(servers, match.servers, scene.server_order, parameters.s)
    within = np.flatnonzero(listed[scene.tool_server])
    kept = np.zeros(len(tools), dtype=np.bool_)
    kept[within] = top(tools[within], match.tools[within], scene.tool_order[within], parameters.t)
    stages = (
        Stage("server filter", "servers", int(listed.sum()), len(listed), "Highest BM25 score, NetMCP (1), (2)."),
        Stage("tool filter", "tools", int(kept.sum()), len(within), "Highest BM25 score, NetMCP (3), (4)."),
    )
    return Retrieval(match, servers, tools, listed, kept, stages)


def chosen_verdict(
    scene: Scene,
    found: Retrieval,
    scores: Floats,
    parameters: TwoStageParameters,
    *,
    how: str,
    score: str,
    before: tuple[Stage, ...] = (),
    between: tuple[Stage, ...] = (),
) -> Verdict:
    """The n best of the kept tools by `scores` (T,); `how` says in a sentence what they are."""
    kept = int(found.kept.sum())
    last = Stage("candidates", "tools", min(parameters.n, kept), kept, how)
    return ranked_verdict(
        scene,
        Scored(found.match.servers, found.servers),
        Scored(found.match.tools, scores),
        n=parameters.n,
        shortlisted=found.listed,
        dropped=_dropped(scene, found),
        stages=(*before, *found.stages, *between, last),
        score=score,
        nothing=NO_TOOLS,
    )


def _dropped(scene: Scene, found: Retrieval) -> NDArray[np.int8]:
    missed = found.listed[scene.tool_server] & ~found.kept
    return np.where(missed, DROPS.index(Drop.NOT_RETRIEVED), KEPT).astype(np.int8)
