"""The common part of ETOM's orchestrators: split a query, retrieve and select tools for each part, join the parts.

    parts = decompose(q)            each part: retrieved = retrieve(part), chosen = select(part, cards of retrieved)
    decision = the chosen tools of all parts; each part gets an equal share of n, and at least one

The paper's: decomposition, selection, and the rejection of impossible requests, {server: "no", tool: "no"}, in each of them
(ETOM, appendix C). Ours: a tool that several parts want is ranked by its best score; a model names its choice first and
the order of retrieval fills up behind it, while rules leave that order and judge whether anything fits at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Exposure, Stage, SubDecision
from core.domain.params import knob
from core.domain.trace import DROPS, KEPT, Drop
from core.planning.base import Card, SubQuery
from core.relevance.text_views import full
from core.routers.base import RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.parameters import PLANNING, SHOWN, PlanningParameters, SimilarityParameters
from core.routers.ranked_result import NO_TOOLS, Floats, Mask, Scored, ranked_result

MAX_PARTS = 8
REFUSED = "Nothing in the catalog can do it"


@dataclass(frozen=True)
class OrchestratorParameters(PlanningParameters, SimilarityParameters):
    decompose: bool = knob(True, group=PLANNING, label="Take the query apart",
        help="Off: the question is looked up as one, however much it asks for.")  # fmt: skip
    refuse: bool = knob(False, group=PLANNING, label="May refuse",
        help="On: the planner may answer that nothing in the catalog can do it (ETOM, level 5).")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The retrieved candidates of one part: scores of servers (S,) and tools (T,) of at least 0, the servers that were searched (S,), and
    the rows of the retrieved tools (K,), best first."""

    servers: Floats
    tools: Floats
    searched: Mask
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a query with its retrieved candidates and its chosen tools, best first. A refused part has no chosen tools."""

    sub_query: SubQuery
    match: Match
    retrieved: Retrieved
    chosen: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievalNotes:
    """The name of the retrieval stage, and one sentence each on how servers and tools were found."""

    stage: str
    servers: str
    tools: str


Retrieve = Callable[[str, Match], Retrieved]


def orchestrate(
    query: Query, context: RoutingContext, parameters: OrchestratorParameters, retrieve: Retrieve
) -> tuple[Part, ...]:
    sub_queries = query.planner.decompose(query.text, MAX_PARTS) if parameters.decompose else ()
    if len(sub_queries) < 2:
        sub_queries = (SubQuery(query.text),)
    share, tools = max(1, parameters.n // len(sub_queries)), context.catalog.tools

    def part(sub_query: SubQuery) -> Part:
        match = query.match(SHOWN[parameters.similarity], sub_query.text)
        retrieval = retrieve(sub_query.text, match)
        best = list(map(int, retrieval.rows))
        if parameters.planner == "rules" and not parameters.refuse:
            return Part(sub_query, match, retrieval, tuple(best[:share]), "The best by score.")
        fit = query.cosines("tools", "full", sub_query.text)  # a planner's limit on the fit is calibrated on these
        cards = [Card(tools[row].id, full(tools[row]), float(np.clip(fit[row], 0, 1))) for row in best]
        selection = query.planner.select(sub_query.text, cards, share)
        if not selection.ids and parameters.refuse:
            return Part(sub_query, match, retrieval, (), selection.reason)
        named_ids = selection.ids if parameters.planner == "model" else ()
        rows = dict.fromkeys((*(context.catalog.tool_row[name] for name in named_ids), *best))
        return Part(sub_query, match, retrieval, tuple(rows)[:share], selection.reason)

    return tuple(map(part, sub_queries))


def joined_result(
    context: RoutingContext,
    parts: Sequence[Part],
    *,
    notes: RetrievalNotes,
    planner: str,
    exposure: Exposure | None = None,
    before: tuple[Stage, ...] = (),
    after: tuple[Stage, ...] = (),
    cut: Collection[int] = (),
) -> RoutingResult:
    """Joins the parts into one decision. `cut` are rows that the stages `after` the selection have removed."""
    searched_servers = np.any([part.retrieved.searched for part in parts], axis=0)
    retrieved_tools = np.zeros(len(context.tool_ids), dtype=np.bool_)
    chosen_tools = np.zeros(len(context.tool_ids), dtype=np.bool_)
    for part in parts:
        retrieved_tools[part.retrieved.rows] = True
        chosen_tools[list(part.chosen)] = True
    kept_tools = chosen_tools.copy()
    kept_tools[list(cut)] = False
    counts = int(retrieved_tools.sum()), int(searched_servers[context.tool_server].sum())
    decomposition = "One thing is asked for." if len(parts) == 1 else f"{len(parts)} things are asked for."
    reasons = " ".join(part.reason for part in parts)
    servers, tools = _joined_scores(parts, len(context.server_names), len(context.tool_ids))
    return ranked_result(
        context,
        servers,
        tools,
        n=max(1, int(kept_tools.sum())),
        shortlisted=searched_servers,
        dropped=_dropped(context, searched_servers, retrieved_tools, kept_tools, refused=not chosen_tools.any()),
        stages=(
            *before,
            Stage(
                "decomposition",
                "sub-queries",
                len(parts),
                len(parts),
                decomposition,
                by=planner if len(parts) > 1 else "",
            ),
            Stage("servers", "servers", int(searched_servers.sum()), len(searched_servers), notes.servers),
            Stage(notes.stage, "tools", *counts, notes.tools),
            Stage("selection", "tools", int(chosen_tools.sum()), counts[0], reasons, by=planner),
            *after,
        ),
        steps=_steps(parts, cut),
        exposure=exposure,
        no_candidate=_why_none(context, parts, retrieved_tools),
    )


def _joined_scores(parts: Sequence[Part], servers: int, tools: int) -> tuple[Scored, Scored]:
    """The best scores over all parts, with the chosen tools of each part in the order of the choice."""
    server_scores, tool_scores = np.zeros((2, servers)), np.zeros((2, tools))
    for part in parts:
        server_scores = np.maximum(server_scores, [part.match.servers, part.retrieved.servers])
        tool_scores = np.maximum(tool_scores, [part.match.tools, in_order(part.retrieved.tools, part.chosen)])
    return Scored(*server_scores), Scored(*tool_scores)


def in_order(scores: Floats, chosen: Sequence[int]) -> Floats:
    """Scores whose chosen rows fall in the order of the choice. Chosen rows only exchange scores with each other.

    >>> in_order(np.array([0.5, 0.1, 0.9]), [0, 2]).tolist()
    [0.9, 0.1, 0.5]
    """
    result = scores.copy()
    result[list(chosen)] = np.sort(scores[list(chosen)])[::-1]
    return result


def _dropped(
    context: RoutingContext, searched_servers: Mask, retrieved_tools: Mask, kept_tools: Mask, *, refused: bool
) -> NDArray[np.int8]:
    not_chosen = DROPS.index(Drop.REFUSED if refused else Drop.OUTRANKED)
    conditions = [kept_tools, retrieved_tools, searched_servers[context.tool_server]]
    return np.select(conditions, [KEPT, not_chosen, DROPS.index(Drop.NOT_RETRIEVED)], KEPT).astype(np.int8)


def _steps(parts: Sequence[Part], cut: Collection[int]) -> tuple[SubDecision, ...]:
    if len(parts) < 2:
        return ()
    return tuple(
        SubDecision(
            part.sub_query.text, tuple(row for row in part.chosen if row not in cut), part.sub_query.needs, part.reason
        )
        for part in parts
    )


def _why_none(context: RoutingContext, parts: Sequence[Part], retrieved_tools: Mask) -> str:
    if not len(context.tool_ids):
        return NO_TOOLS
    if not retrieved_tools.any():
        return "No tool came up; look into more servers."
    return f"{REFUSED}: {parts[0].reason}"
