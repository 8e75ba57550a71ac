"""The parameters of EHRR: Table V of the paper, the switches of its ablation study, and exploration."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import knob
from core.routers.exploration import ExplorationParameters
from core.routers.parameters import (
    ABLATION,
    AUCTION,
    BUDGET,
    FIT,
    SIMILARITY,
    TIME,
    LearningParameters,
    MatchingParameters,
    similarity_knob,
)


@dataclass(frozen=True)
class EhrrParameters(ExplorationParameters, LearningParameters, MatchingParameters):
    """EHRR's knobs, the switches of its ablation study, and exploration. Table V is the preset `paper`."""

    similarity: str = similarity_knob(FIT)
    k: int = knob(
        5,
        label="Servers on the short-list",
        symbol="k",
        low=1,
        high=100,
        step=1,
        group=SIMILARITY,
        help="Servers on the short-list, top-k by (3).",
    )
    alpha_s: float = knob(
        0.01, label="Server time matters", symbol="αs", unit="1/s", low=0.0, high=2.0, step=0.01, group=TIME,
        help="Similarity given up per second of a server's expected time to success, EHRR (3).",
    )  # fmt: skip
    alpha_t: float = knob(
        0.02, label="Time matters", symbol="αt", unit="1/s", low=0.0, high=2.0, step=0.01, group=TIME,
        help="Similarity given up per second of a tool's expected cost, EHRR (7).",
    )  # fmt: skip
    l_route_s: float = knob(
        0.0, label="Routing overhead", advanced=True, symbol="Lroute", unit="s", low=0.0, high=5.0, step=0.01, group=TIME,
        help="Routing overhead before every call; G = Lroute + Lconn.",
    )  # fmt: skip
    eps: float = knob(
        1e-3,
        label="Least success",
        advanced=True,
        symbol="ε",
        low=1e-3,
        high=0.5,
        step=1e-3,
        group=TIME,
        help="Floor of every success probability in (2), (6).",
    )
    p_bs: float = knob(
        0.1, label="Base price", symbol="p_bs", unit="$", low=0.0, high=1.0, step=0.0005, group=AUCTION,
        help="Base price: offered per unit of similarity, EHRR (4).",
    )  # fmt: skip
    p_ofs: float = knob(
        0.0225, label="Offset price", symbol="p_ofs", unit="$", low=0.0, high=0.2, step=0.0005, group=AUCTION,
        help="Offset price: offered per unit of ln(1 + C / L0), EHRR (4).",
    )  # fmt: skip
    l0_s: float = knob(
        1.0,
        label="Reference time",
        advanced=True,
        symbol="L0",
        unit="s",
        low=0.1,
        high=60.0,
        step=0.1,
        group=AUCTION,
        help="Reference time of the posted price, EHRR (4).",
    )
    kappa: float = knob(
        100.0,
        label="Money matters",
        symbol="κ",
        unit="s/$",
        low=0.0,
        high=1000.0,
        step=0.5,
        group=BUDGET,
        help="Seconds that one dollar is worth, EHRR (6).",
    )
    budget_usd: float | None = knob(
        None, label="Price limit", symbol="B", unit="$", low=0.0, high=1.0, step=0.001, group=BUDGET, kind=float,
        help="Cap of every posted price, Proposition 3; off where empty.",
    )  # fmt: skip
    billing: str = knob(
        "per_call", label="What a retry costs", advanced=True, choices=("per_call", "per_attempt"), group=BUDGET,
        help="per_call: the price counts once. per_attempt: it counts for each expected attempt (variant of (6)).",
    )  # fmt: skip
    worthwhile: bool = knob(
        True, label="Only tools worth a call", group=TIME, symbol="U > 0",
        help="Only tools of positive utility: a try that is expected to cost more than it brings is not made. Off: the paper's top-n.",
    )  # fmt: skip
    auction: bool = knob(
        True,
        label="Hold the auction",
        advanced=True,
        group=ABLATION,
        help="Off: no posted price, no ask, no price limit (w/o Auction).",
    )
    execution_signals: bool = knob(
        True,
        label="Use time, reliability and price",
        advanced=True,
        group=ABLATION,
        help="Off: similarity alone ranks servers and tools (w/o Execution).",
    )
    hierarchy: bool = knob(
        True,
        label="Rank servers before tools",
        advanced=True,
        group=ABLATION,
        help="Off: all servers are on the short-list, tools are ranked flat (w/o Hierarchical).",
    )
