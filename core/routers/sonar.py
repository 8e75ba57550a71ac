"""SONAR of NetMCP: PRAG's retrieval, and the network's recent state in the score.

    q' = predict_tool(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t)       (1) to (4)
    C(t) = exp(BM25(t)) / sum over the t tools of exp(BM25)                                               (5)
    N(t) = network score of the tool's server, `core.network.score`                                       (6), (7)
    S(t) = a C(t) + b N(t),   a + b = 1;   the best S wins                                                (8), (9)

Modes: quality first (a > b), latency sensitive (a < b), balanced. The latencies are those of the routing context: a profile's
traces, or those of real calls. Ours: a server without any history gets a neutral N, and the decision says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.decision import Stage
from core.domain.params import SHARE, Range, knob
from core.network.score import NEUTRAL, Weights, network_score
from core.routers.context import Query, RoutingContext
from core.routers.papers import NETMCP
from core.routers.ranked_result import Floats, Mask
from core.routers.two_stage import Retrieval, StageScores, TwoStageParameters, TwoStageRouter, predicted

MODES = {"quality": 0.7, "balanced": 0.5, "latency": 0.3}
NETWORK = "network"


def _penalty(default: float, symbol: str, what: str, *, label: str) -> float:
    return knob(default, SHARE, group=NETWORK, symbol=symbol, label=label, advanced=True,
        help=f"Penalty {what}, NetMCP (7).")  # fmt: skip


@dataclass(frozen=True)
class SonarParameters(TwoStageParameters):
    """PRAG's settings, what expertise weighs against the network, and how the network is judged."""

    mode: str = knob("balanced", group=NETWORK, label="What counts most", choices=tuple(MODES),
        help="quality: a = 0.7, b = 0.3. balanced: both 0.5. latency: a = 0.3, b = 0.7.")  # fmt: skip
    a: float | None = knob(None, SHARE, group=NETWORK, symbol="a", label="Expertise matters", kind=float,
        help="Weight of expertise, NetMCP (8); b = 1 - a is that of the network. The mode's where empty.")  # fmt: skip
    w: int = knob(10, Range(1, 1000), group=NETWORK, symbol="w", label="Latencies looked at", advanced=True,
        help="Latest latencies looked at.")  # fmt: skip
    ewma: float = knob(0.3, Range(0.01, 1.0, 0.01), group=NETWORK, symbol="λ", label="Smoothing of the latency", advanced=True,
        help="Factor of the moving average of latency.")  # fmt: skip
    w_high: float = _penalty(0.25, "w high", "of a high latency", label="Penalty of a high latency")
    w_trend: float = _penalty(0.15, "w trend", "of a rising latency", label="Penalty of a rising latency")
    w_outage: float = _penalty(0.40, "w outage", "of recent outages", label="Penalty of outages")
    w_unstable: float = _penalty(0.20, "w unstable", "of a latency that varies", label="Penalty of a varying latency")
    n_unknown: float = knob(NEUTRAL, Range(-1.0, 1.0, 0.05), group=NETWORK, symbol="N?", label="Score of an unknown server", advanced=True,
        help="N of a server without any history.")  # fmt: skip

    @property
    def expertise_weight(self) -> float:
        """a of NetMCP (8)."""
        return MODES[self.mode] if self.a is None else self.a

    def weights(self) -> Weights:
        """The weights of N."""
        return Weights(self.ewma, self.w_high, self.w_trend, self.w_outage, self.w_unstable)


class Sonar(TwoStageRouter[SonarParameters]):
    """Predicts the kind of tool that is wanted, finds it by words, and weighs that against recent latencies."""

    id = "sonar"
    title = "SONAR"
    paper = NETMCP
    score = "weighted score of expertise and network"
    lookup = staticmethod(predicted)

    def scored(
        self,
        query: Query,  # noqa: ARG002
        context: RoutingContext,
        found: Retrieval,
        parameters: SonarParameters,
    ) -> StageScores:
        """The weighted sum, NetMCP (8)."""
        network, known = network_scores(context, parameters)
        a, kept = parameters.expertise_weight, int(found.kept.sum())
        scores = a * expertise(found.tools, found.kept) + (1.0 - a) * network[context.tool_server]
        note = _network_note(known[context.tool_server[found.kept]], parameters)
        stage = Stage("network", "tools", kept, kept, note)
        return StageScores(scores, f"Highest {a:.2f} C + {1 - a:.2f} N.", (stage,))


def expertise(scores: Floats, kept: Mask) -> Floats:
    """(T,) C(t): softmax of the BM25 scores (T,) of the kept tools, NetMCP (5); 0 elsewhere.

    >>> expertise(np.array([3.0, 2.0, 9.0]), np.array([True, True, False])).round(3)
    array([0.731, 0.269, 0.   ])
    """
    found = np.zeros(len(scores))
    if kept.any():
        raised = np.exp(scores[kept] - scores[kept].max())
        found[kept] = raised / raised.sum()
    return found


def network_scores(context: RoutingContext, parameters: SonarParameters) -> tuple[Floats, Mask]:
    """(S,) N of each server, and whether there is any history of it."""
    if context.network is None:
        size = len(context.server_names)
        return np.full(size, parameters.n_unknown), np.zeros(size, dtype=np.bool_)
    recent_s = context.network.recent_s(parameters.w)
    return network_score(recent_s, parameters.weights(), neutral=parameters.n_unknown), ~np.isnan(recent_s[:, -1])


def _network_note(known: Mask, parameters: SonarParameters) -> str:
    lead = f"N of each tool's server from its last {parameters.w} latencies, NetMCP (6), (7)."
    unknown = int((~known).sum())
    if not unknown:
        return lead
    return f"{lead} No latency is known for {unknown} of {len(known)} tools: N is neutral there ({parameters.n_unknown:g})."
