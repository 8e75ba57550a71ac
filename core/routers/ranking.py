"""The verdict of a router that ranks by a score of its own: economics are shown beside it and do not decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import DROPS, KEPT, Drop, Exposure, ServerTrace, Stage, SubDecision, ToolTrace
from core.economics.utility import ranking
from core.routers.base import Scene, Verdict
from core.routers.figures import ranks, server_figures, tool_figures

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NO_TOOLS = "The catalog has no tools; import or discover a catalog that has some."


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows of one layer: `similarity` in [0, 1] is shown, `score` (any finite number) ranks."""

    similarity: Floats
    score: Floats


def ranked_verdict(
    scene: Scene,
    servers: Scored,
    tools: Scored,
    *,
    n: int,
    shortlisted: Mask | None = None,
    dropped: NDArray[np.int8] | None = None,
    stages: tuple[Stage, ...] = (),
    steps: tuple[SubDecision, ...] = (),
    exposure: Exposure | None = None,
    score: str = "score",
    nothing: str = "Nothing came up.",
) -> Verdict:
    """The n best tools by score among those that nothing has dropped, ties by similarity, then name.

    `shortlisted` (S,): all servers where None. `dropped` (T,): codes of `DROPS`, `KEPT` where a tool is in the race; tools
    of servers that are not on the short-list are out of it. `nothing` is the reason where no tool of a catalog
    that has some is left.
    """
    on_list = np.ones(len(scene.server_names), dtype=np.bool_) if shortlisted is None else shortlisted
    codes = np.full(len(scene.tool_ids), KEPT, dtype=np.int8) if dropped is None else dropped.copy()
    codes[~on_list[scene.tool_server] & (codes == KEPT)] = DROPS.index(Drop.NOT_SHORTLISTED)
    racing = np.flatnonzero(codes == KEPT)
    best = racing[ranking(tools.score[racing], tools.similarity[racing], scene.tool_order[racing])]
    codes[best[n:]] = DROPS.index(Drop.OUTRANKED)
    rank = np.zeros(len(codes), dtype=np.int64)
    rank[best] = np.arange(1, len(best) + 1)
    candidates = tuple(int(row) for row in best[:n])
    return Verdict(
        servers=_servers(scene, servers, on_list),
        tools=_tools(scene, tools, rank, codes),
        candidates=candidates,
        reason=_reason(scene, tools, candidates, score) if candidates else nothing if scene.tool_ids else NO_TOOLS,
        stages=stages,
        steps=steps,
        exposure=exposure,
    )


def top(score: Floats, similarity: Floats, order: NDArray[np.int64], count: int) -> Mask:
    """The `count` best rows by score as a mask; ties by similarity, then name.

    >>> top(np.array([0.1, 0.9, 0.5]), np.zeros(3), np.arange(3), 2).tolist()
    [False, True, True]
    """
    chosen = np.zeros(len(score), dtype=np.bool_)
    chosen[ranking(score, similarity, order)[:count]] = True
    return chosen


def best_tool(scene: Scene, scores: Floats) -> Floats:
    """(S,) the best score among each server's tools; that of the worst tool of all for a server without tools."""
    best = np.full(len(scene.server_names), scores.min(initial=0.0))
    np.maximum.at(best, scene.tool_server, scores)
    return best


def _servers(scene: Scene, scored: Scored, on_list: Mask) -> ServerTrace:
    figures = server_figures(scene)
    return ServerTrace(
        names=scene.server_names,
        similarity=scored.similarity,
        fixed_s=figures.fixed_s,
        call_s=figures.call_s,
        success=figures.success,
        post_accept_failure=figures.post_accept_failure,
        cost_s=figures.cost_s,
        utility=scored.score,
        posted_price_usd=np.full(len(on_list), np.nan),
        ask_usd=scene.statistics.servers.ask_usd,
        rank=ranks(ranking(scored.score, scored.similarity, scene.server_order)),
        shortlisted=on_list,
        accepted=on_list.copy(),
    )


def _tools(scene: Scene, scored: Scored, rank: NDArray[np.int64], codes: NDArray[np.int8]) -> ToolTrace:
    figures = tool_figures(scene, server_figures(scene))
    return ToolTrace(
        ids=scene.tool_ids,
        server_row=scene.tool_server,
        similarity=scored.similarity,
        latency_s=figures.latency_s,
        success=figures.success,
        time_cost_s=figures.time_cost_s,
        money_cost_s=figures.money_cost_s,
        utility=scored.score,
        price_usd=figures.price_usd,
        affordable=np.ones(len(codes), dtype=np.bool_),
        rank=rank,
        dropped=codes,
    )


def _reason(scene: Scene, tools: Scored, candidates: tuple[int, ...], score: str) -> str:
    first = candidates[0]
    lead = f"{scene.tool_ids[first]} has the highest {score}, {tools.score[first]:.3f}"
    if len(candidates) == 1:
        return f"{lead}, and is the only candidate."
    margin = tools.score[first] - tools.score[candidates[1]]
    return f"{lead}, {margin:.3f} ahead of {scene.tool_ids[candidates[1]]}."
