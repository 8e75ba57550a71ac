"""How a router ranks tools and servers step by step: its best candidates, and a score of each server that changes over time.

EHRR and its like have a chance that a call succeeds, (1 - pfail) r~, which their statistics change. SONAR has the network
score N of NetMCP (7), which the latencies change. A router with neither looks at words alone: no server's score changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.params import Value
from core.lab.scenarios.simulation import Step, World
from core.network.traces import TraceView
from core.routers import ROUTERS
from core.routers.ranked_result import Floats
from core.routers.sonar import Sonar, SonarParameters, network_scores

BEST = 3
CHANCE = "chance that a call succeeds, (1 - pfail) · r~"
NETWORK = "network score N"


@dataclass(frozen=True, slots=True)
class RankingHistory:
    """Of N steps: rows of the best tools (N, 3), -1 where there are fewer, and their scores, NaN there.

    `score` names what tools are ranked by, `server_score` what the servers' scores (N, S) in `server_scores` are; empty and
    None where the router looks at no server's state.
    """

    ranked: NDArray[np.int64]
    scores: NDArray[np.float64]
    score: str
    server_score: str
    server_scores: NDArray[np.float32] | None


class RankingCollector:
    """Collects the rankings of one run, step by step."""

    def __init__(self, router: str, parameters: Mapping[str, Value]) -> None:
        self._router = router
        self._parameters = parameters
        self._ranked: list[list[int]] = []
        self._scores: list[list[float]] = []
        self._chance: list[NDArray[np.float32]] = []

    def add(self, step: Step) -> None:
        """Take the ranking of a step's decision; the decision itself is not kept."""
        decision = step.decision
        best = decision.candidates[:BEST]
        none = BEST - len(best)
        self._ranked.append([*best, *[-1] * none])
        self._scores.append([*decision.tools.utility[list(best)].tolist(), *[np.nan] * none])
        if decision.economic:
            servers = decision.servers
            self._chance.append(((1.0 - servers.post_accept_failure) * servers.success).astype(np.float32))

    def history(self, world: World) -> RankingHistory:
        """All steps as arrays."""
        server_score, server_scores = "", None
        if self._chance:
            server_score, server_scores = CHANCE, np.array(self._chance, dtype=np.float32)
        elif ROUTERS[self._router] is Sonar:
            server_score, server_scores = NETWORK, self._network(world)
        return RankingHistory(
            np.array(self._ranked, dtype=np.int64).reshape(-1, BEST),
            np.array(self._scores, dtype=np.float64).reshape(-1, BEST),
            ROUTERS[self._router].score,
            server_score,
            server_scores,
        )

    def _network(self, world: World) -> NDArray[np.float32]:
        parameters = SonarParameters().replaced(self._parameters)
        view, scores = TraceView(world.traces), list[Floats]()
        context = replace(world.context, network=view)
        for step in range(len(self._ranked)):
            view.at = world.lead_in + step
            scores.append(network_scores(context, parameters)[0])
        return np.array(scores, dtype=np.float32)
