"""Parameters that several routers share, and EHRR's own. One declaration each; see `core.domain.params`."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import Parameters, knob
from core.routers.exploring import ExplorationParameters
from core.stats.book import Priors
from core.stats.ema import Rates

SIMILARITY, VIEWS = "similarity", "views of the texts"
TIME, LEARNING = "reliability and time", "learning and priors"
AUCTION, BUDGET, ABLATION = "auction", "budget", "ablations"
PLANNING = "planner"


def _weight(default: float, symbol: str, what: str, paper: str = "") -> float:
    return knob(
        default, symbol=symbol, low=0.0, high=1.0, step=0.05, group=VIEWS, help=f"Weight of {what}. {paper}".strip()
    )


@dataclass(frozen=True)
class CandidateParameters(Parameters):
    """How many tools are handed on."""

    n: int = knob(3, symbol="n", low=1, high=50, step=1, group=SIMILARITY, help="Candidates returned, EHRR (9).")


@dataclass(frozen=True)
class MatchingParameters(CandidateParameters):
    """How texts are compared: weights of the views of a tool and of a server. Weights are divided by their sum."""

    sim_midpoint: float = knob(
        0.7, symbol="Sim½", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="The share of the best similarity that counts as one half; 0 takes the cosine as it is, EHRR (1).",
    )  # fmt: skip
    sim_steepness: float = knob(
        6.0, symbol="contrast", low=1.0, high=8.0, step=0.5, group=VIEWS,
        help="How sharply similarity rises around Sim½: Sim' = Sim^a / (Sim^a + m^a), m = Sim½ · best.",
    )  # fmt: skip
    w_names: float = _weight(0.3, "w names", "the names view: server and tool names as words")
    w_full: float = _weight(0.4, "w full", "the full view: names and description")
    w_description: float = _weight(0.0, "w description", "the description alone: the paper's text f_ij")
    w_parameters: float = _weight(0.0, "w params", "the parameters view: names and descriptions of the arguments")
    w_lexical: float = _weight(0.3, "w BM25", "word overlap (BM25 coverage of the sub-task)")
    doubt_names: bool = knob(
        True, group=VIEWS, symbol="doubt names",
        help="Names count only as far as they agree with the description; brand names do not, and the description takes over.",
    )  # fmt: skip
    w_server_profile: float = _weight(0.5, "w profile", "a server's own description, the paper's text f_i")
    w_server_summary: float = _weight(0.0, "w summary", "a server's summary: its name and its tools' names")
    w_server_best_tool: float = _weight(0.5, "w best tool", "the similarity of a server's best tool")
    w_server_lexical: float = _weight(0.0, "w srv BM25", "word overlap with a server's texts")
    hint_weight: float = _weight(
        0.3, "w hint", "the server hint against the sub-task at the server layer, where a hint is given"
    )

    def tool_weights(self) -> dict[str, float]:
        """Weights by view of a tool."""
        return {
            "names": self.w_names,
            "full": self.w_full,
            "description": self.w_description,
            "parameters": self.w_parameters,
            "lexical": self.w_lexical,
        }

    def server_weights(self) -> dict[str, float]:
        """Weights by view of a server."""
        return {
            "profile": self.w_server_profile,
            "summary": self.w_server_summary,
            "best_tool": self.w_server_best_tool,
            "lexical": self.w_server_lexical,
        }


@dataclass(frozen=True)
class PlanningParameters(Parameters):
    """Who understands the question."""

    planner: str = knob(
        "rules", symbol="planner", choices=("rules", "model"), group=PLANNING,
        help="rules: deterministic, without a model. model: the language model that the environment names.",
    )  # fmt: skip


@dataclass(frozen=True)
class LearningParameters(Parameters):
    """How outcomes become statistics (EHRR (8)) and what is assumed before the first call."""

    lambda_r: float = knob(
        0.15, symbol="λr", low=0.01, high=0.99, step=0.01, group=LEARNING, help="Smoothing of success, EHRR (8)."
    )
    lambda_var: float = knob(
        0.15, symbol="λσ", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of the variance of success, EHRR (8).",
    )  # fmt: skip
    lambda_p: float = knob(
        0.15, symbol="λp", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of post-accept failure, EHRR (8).",
    )  # fmt: skip
    lambda_l: float = knob(
        0.15, symbol="λl", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of call and connection time, EHRR (8).",
    )  # fmt: skip
    prior_r: float = knob(
        0.9, symbol="r₀", low=0.01, high=1.0, step=0.01, group=LEARNING, help="Success assumed where nothing is known."
    )
    prior_var: float = knob(
        0.0, symbol="σ²₀", low=0.0, high=0.25, step=0.01, group=LEARNING,
        help="Variance of success assumed where nothing is known.",
    )  # fmt: skip
    prior_pfail: float = knob(
        0.02, symbol="pfail₀", low=0.0, high=0.99, step=0.01, group=LEARNING,
        help="Post-accept failure assumed where nothing is known.",
    )  # fmt: skip
    prior_call_s: float = knob(
        1.0, symbol="Lcall₀", unit="s", low=0.0, high=60.0, step=0.1, group=LEARNING,
        help="Call time assumed where nothing is known.",
    )  # fmt: skip
    prior_conn_s: float = knob(
        0.3, symbol="Lconn₀", unit="s", low=0.0, high=60.0, step=0.1, group=LEARNING,
        help="Connection time assumed where nothing is known.",
    )  # fmt: skip
    half_life_s: float = knob(
        0.0, symbol="t½", unit="s", low=0.0, high=86_400.0, step=60.0, group=LEARNING,
        help="Time without a call after which a figure is half-way back to its declared or prior value; 0, the paper: never.",
    )  # fmt: skip

    def rates(self) -> Rates:
        """The smoothing coefficients and the half-life."""
        return Rates(self.lambda_r, self.lambda_var, self.lambda_p, self.lambda_l, self.half_life_s)

    def priors(self) -> Priors:
        """The assumptions."""
        return Priors(self.prior_r, self.prior_var, self.prior_pfail, self.prior_call_s, self.prior_conn_s)


@dataclass(frozen=True)
class EhrrParameters(ExplorationParameters, LearningParameters, MatchingParameters):
    """EHRR, Table V, the switches of its ablation study, and exploration."""

    k: int = knob(
        5, symbol="k", low=1, high=100, step=1, group=SIMILARITY, help="Servers on the short-list, top-k by (3)."
    )
    alpha_s: float = knob(
        0.1, symbol="αs", unit="1/s", low=0.0, high=2.0, step=0.01, group=TIME,
        help="Similarity given up per second of a server's expected time to success, EHRR (3).",
    )  # fmt: skip
    alpha_t: float = knob(
        0.25, symbol="αt", unit="1/s", low=0.0, high=2.0, step=0.01, group=TIME,
        help="Similarity given up per second of a tool's expected cost, EHRR (7).",
    )  # fmt: skip
    l_route_s: float = knob(
        0.0, symbol="Lroute", unit="s", low=0.0, high=5.0, step=0.01, group=TIME,
        help="Routing overhead before every call; G = Lroute + Lconn.",
    )  # fmt: skip
    eps: float = knob(
        1e-3,
        symbol="ε",
        low=1e-3,
        high=0.5,
        step=1e-3,
        group=TIME,
        help="Floor of every success probability in (2), (6).",
    )
    p_bs: float = knob(
        0.0025, symbol="p_bs", unit="$", low=0.0, high=0.1, step=0.0005, group=AUCTION,
        help="Base price: offered per unit of similarity, EHRR (4).",
    )  # fmt: skip
    p_ofs: float = knob(
        0.0225, symbol="p_ofs", unit="$", low=0.0, high=0.2, step=0.0005, group=AUCTION,
        help="Offset price: offered per unit of ln(1 + C / L0), EHRR (4).",
    )  # fmt: skip
    l0_s: float = knob(
        1.0,
        symbol="L0",
        unit="s",
        low=0.1,
        high=60.0,
        step=0.1,
        group=AUCTION,
        help="Reference time of the posted price, EHRR (4).",
    )
    kappa: float = knob(
        1.0,
        symbol="κ",
        unit="s/$",
        low=0.0,
        high=200.0,
        step=0.5,
        group=BUDGET,
        help="Seconds that one dollar is worth, EHRR (6).",
    )
    budget_usd: float | None = knob(
        None, symbol="B", unit="$", low=0.0, high=1.0, step=0.001, group=BUDGET, kind=float,
        help="Cap of every posted price, Proposition 3; off where empty.",
    )  # fmt: skip
    billing: str = knob(
        "per_call", choices=("per_call", "per_attempt"), group=BUDGET,
        help="per_call: the price counts once. per_attempt: it counts for each expected attempt (variant of (6)).",
    )  # fmt: skip
    auction: bool = knob(True, group=ABLATION, help="Off: no posted price, no ask, no price limit (w/o Auction).")
    execution_signals: bool = knob(
        True, group=ABLATION, help="Off: similarity alone ranks servers and tools (w/o Execution)."
    )
    hierarchy: bool = knob(
        True, group=ABLATION, help="Off: all servers are on the short-list, tools are ranked flat (w/o Hierarchical)."
    )
