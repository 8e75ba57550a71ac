"""The parameters of EHRR: Table V of the paper, the switches of its ablation study, and exploration."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import CUBE_ROOT, Range, knob
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
from core.routers.refusing import RefusingParameters


@dataclass(frozen=True)
class EhrrParameters(RefusingParameters, ExplorationParameters, LearningParameters, MatchingParameters):
    """EHRR's knobs, the switches of its ablation study, and exploration. Table V is the preset `paper`."""

    similarity: str = similarity_knob(FIT)
    k: int = knob(5, Range(1, 100, scale=CUBE_ROOT), group=SIMILARITY, symbol="k", label="Servers on the short-list",
        help="Servers on the short-list, top-k by (3).")  # fmt: skip
    alpha_s: float = knob(0.01, Range(0.0, 2.0, 0.01, "1/s", CUBE_ROOT), group=TIME, symbol="αs", label="Server time matters",
        help="Similarity given up per second of a server's expected time to success, EHRR (3).")  # fmt: skip
    alpha_t: float = knob(0.02, Range(0.0, 2.0, 0.01, "1/s", CUBE_ROOT), group=TIME, symbol="αt", label="Time matters",
        help="Similarity given up per second of a tool's expected cost, EHRR (7).")  # fmt: skip
    l_route_s: float = knob(0.0, Range(0.0, 5.0, 0.01, "s", CUBE_ROOT), group=TIME, symbol="Lroute", label="Routing overhead", advanced=True,
        help="Routing overhead before every call; G = Lroute + Lconn.")  # fmt: skip
    eps: float = knob(1e-3, Range(1e-3, 0.5, 1e-3, scale=CUBE_ROOT), group=TIME, symbol="ε", label="Least success", advanced=True,
        help="Floor of every success probability in (2), (6).")  # fmt: skip
    p_bs: float = knob(0.1, Range(0.0, 1.0, 0.0005, "$", CUBE_ROOT), group=AUCTION, symbol="p_bs", label="Base price",
        help="Base price: offered per unit of similarity, EHRR (4).")  # fmt: skip
    p_ofs: float = knob(0.0225, Range(0.0, 0.2, 0.0005, "$", CUBE_ROOT), group=AUCTION, symbol="p_ofs", label="Offset price",
        help="Offset price: offered per unit of ln(1 + C / L0), EHRR (4).")  # fmt: skip
    l0_s: float = knob(1.0, Range(0.1, 60.0, 0.1, "s", CUBE_ROOT), group=AUCTION, symbol="L0", label="Reference time", advanced=True,
        help="Reference time of the posted price, EHRR (4).")  # fmt: skip
    kappa: float = knob(100.0, Range(0.0, 1000.0, 0.5, "s/$", CUBE_ROOT), group=BUDGET, symbol="κ", label="Money matters",
        help="Seconds that one dollar is worth, EHRR (6).")  # fmt: skip
    budget_usd: float | None = knob(None, Range(0.0, 1.0, 0.001, "$", CUBE_ROOT), group=BUDGET, symbol="B", label="Price limit", kind=float,
        help="Cap of every posted price, Proposition 3; off where empty.")  # fmt: skip
    billing: str = knob("per_call", group=BUDGET, label="What a retry costs", advanced=True, choices=("per_call", "per_attempt"),
        help="per_call: the price counts once. per_attempt: it counts for each expected attempt (variant of (6)).")  # fmt: skip
    worthwhile: bool = knob(True, group=TIME, symbol="U > 0", label="Only tools worth a call",
        help="Only tools of positive utility: a try that is expected to cost more than it brings is not made. Off: the paper's top-n.")  # fmt: skip
    auction: bool = knob(True, group=ABLATION, label="Hold the auction", advanced=True,
        help="Off: no posted price, no ask, no price limit (w/o Auction).")  # fmt: skip
    execution_signals: bool = knob(True, group=ABLATION, label="Use time, reliability and price", advanced=True,
        help="Off: similarity alone ranks servers and tools (w/o Execution).")  # fmt: skip
    hierarchy: bool = knob(True, group=ABLATION, label="Rank servers before tools", advanced=True,
        help="Off: all servers are on the short-list, tools are ranked flat (w/o Hierarchical).")  # fmt: skip
