"""Where the servers and tools stand with a router, step by step: its best candidates, and what it holds of each server.

EHRR and its like hold a chance that a call succeeds, (1 - pfail) r~, which their statistics move. SONAR holds the network
score N of NetMCP (7), which the latencies move. A router that knows neither goes by words: nothing of a server moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.params import Value
from core.lab.scenario import Step, World
from core.network.traces import TraceView
from core.routers import ROUTERS
from core.routers.ranking import Floats
from core.routers.sonar import Sonar, SonarParameters, network_scores

BEST = 3
CHANCE = "chance that a call succeeds, (1 - pfail) · r~"
NETWORK = "network score N"


@dataclass(frozen=True, slots=True)
class Standing:
    """Of N steps: rows of the best tools (N, 3), -1 where there are fewer, and their scores, NaN there.

    `score` names what tools are ranked by, `regard` what is held of the servers, (N, S) in `held`; empty and None where
    the router looks at no server's state.
    """

    ranked: NDArray[np.int64]
    scores: NDArray[np.float64]
    score: str
    regard: str
    held: NDArray[np.float32] | None


class Standings:
    """Collects the standing of one run while its steps go by."""

    def __init__(self, router: str, parameters: Mapping[str, Value]) -> None:
        self._router = router
        self._parameters = parameters
        self._ranked: list[list[int]] = []
        self._scores: list[list[float]] = []
        self._chance: list[NDArray[np.float32]] = []

    def add(self, step: Step) -> None:
        """Take what a step's decision says; the decision itself is let go."""
        decision = step.decision
        best = decision.candidates[:BEST]
        none = BEST - len(best)
        self._ranked.append([*best, *[-1] * none])
        self._scores.append([*decision.tools.utility[list(best)].tolist(), *[np.nan] * none])
        if decision.economic:
            servers = decision.servers
            self._chance.append(((1.0 - servers.post_accept_failure) * servers.success).astype(np.float32))

    def standing(self, world: World) -> Standing:
        """All of it as arrays."""
        regard, held = "", None
        if self._chance:
            regard, held = CHANCE, np.array(self._chance, dtype=np.float32)
        elif ROUTERS[self._router] is Sonar:
            regard, held = NETWORK, self._network(world)
        return Standing(
            np.array(self._ranked, dtype=np.int64).reshape(-1, BEST),
            np.array(self._scores, dtype=np.float64).reshape(-1, BEST),
            ROUTERS[self._router].score,
            regard,
            held,
        )

    def _network(self, world: World) -> NDArray[np.float32]:
        parameters = SonarParameters().replaced(self._parameters)
        view, scores = TraceView(world.traces), list[Floats]()
        scene = replace(world.scene, network=view)
        for step in range(len(self._ranked)):
            view.at = world.lead_in + step
            scores.append(network_scores(scene, parameters)[0])
        return np.array(scores, dtype=np.float32)
