"""The result of a router that ranks by its own score. Time and prices are shown and do not decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Exposure, Stage, SubDecision
from core.domain.trace import DROPS, KEPT, Drop, ServerTrace, ToolTrace, columns
from core.routers.base import RoutingResult
from core.routers.context import RoutingContext
from core.routers.estimates import estimates
from core.routers.utility import ranking

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NO_TOOLS = "The catalog has no tools; import or discover a catalog that has some."


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows of one layer: `similarity` in [0, 1] is shown, `score` (any finite number) ranks."""

    similarity: Floats
    score: Floats


def ranked_result(
    context: RoutingContext,
    servers: Scored,
    tools: Scored,
    *,
    n: int,
    shortlisted: Mask | None = None,
    dropped: NDArray[np.int8] | None = None,
    stages: tuple[Stage, ...] = (),
    steps: tuple[SubDecision, ...] = (),
    exposure: Exposure | None = None,
    no_candidate: str = "Nothing came up.",
) -> RoutingResult:
    """Ranks the tools that are not dropped and takes the n best. Ties go by similarity, then by name.

    `shortlisted` (S,) drops the tools of other servers; None lists all servers. `dropped` (T,) holds codes of `DROPS`, or `KEPT`.
    `no_candidate` is the reason if the catalog has tools and none remains.
    """
    listed_servers = np.ones(len(context.server_names), dtype=np.bool_) if shortlisted is None else shortlisted
    codes = np.full(len(context.tool_ids), KEPT, dtype=np.int8) if dropped is None else dropped.copy()
    codes[~listed_servers[context.tool_server] & (codes == KEPT)] = DROPS.index(Drop.NOT_SHORTLISTED)
    rows = np.flatnonzero(codes == KEPT)
    best = rows[ranking(tools.score[rows], tools.similarity[rows], context.tool_order[rows])]
    codes[best[n:]] = DROPS.index(Drop.OUTRANKED)
    rank = np.zeros(len(codes), dtype=np.int64)
    rank[best] = np.arange(1, len(best) + 1)
    candidates = tuple(int(row) for row in best[:n])
    reason = no_candidate if context.tool_ids else NO_TOOLS
    server_figures, tool_figures = estimates(context)
    return RoutingResult(
        servers=ServerTrace(
            **columns(server_figures),
            names=context.server_names,
            similarity=servers.similarity,
            utility=servers.score,
            posted_price_usd=np.full(len(listed_servers), np.nan),
            ask_usd=context.statistics.servers.ask_usd,
            rank=np.argsort(ranking(servers.score, servers.similarity, context.server_order)) + 1,
            shortlisted=listed_servers,
            accepted=listed_servers.copy(),
        ),
        tools=ToolTrace(
            **columns(tool_figures),
            ids=context.tool_ids,
            server_row=context.tool_server,
            similarity=tools.similarity,
            utility=tools.score,
            payment_usd=tool_figures.price_usd,
            affordable=np.ones(len(codes), dtype=np.bool_),
            rank=rank,
            dropped=codes,
        ),
        candidates=candidates,
        reason="" if candidates else reason,
        stages=stages,
        steps=steps,
        exposure=exposure,
    )


def cosine_layers(context: RoutingContext, cosine: Floats) -> tuple[Scored, Scored]:
    """Both layers by the cosines of the tools (T,). A server scores as its best tool. Shown similarities are at least 0."""
    servers = best_tool(context, cosine)
    return Scored(np.maximum(servers, 0), servers), Scored(np.maximum(cosine, 0), cosine)


def servers_of(context: RoutingContext, tools: Mask | Sequence[int]) -> Mask:
    """(S,) the servers that have at least one of these tools, given by row or as a mask (T,)."""
    return np.isin(np.arange(len(context.server_names)), context.tool_server[tools])


def top(score: Floats, similarity: Floats, order: NDArray[np.int64], count: int) -> Mask:
    """The `count` best rows by score as a mask; ties by similarity, then name.

    >>> top(np.array([0.1, 0.9, 0.5]), np.zeros(3), np.arange(3), 2).tolist()
    [False, True, True]
    """
    mask = np.zeros(len(score), dtype=np.bool_)
    mask[ranking(score, similarity, order)[:count]] = True
    return mask


def best_tool(context: RoutingContext, scores: Floats) -> Floats:
    """(S,) the best score among each server's tools, for a server without tools the worst score of all."""
    best = np.full(len(context.server_names), scores.min(initial=0.0))
    np.maximum.at(best, context.tool_server, scores)
    return best
