"""Parameters that several routers share. One declaration each; see `core.domain.params`."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import Parameters, knob
from core.stats.ema import Rates
from core.stats.projection import Priors

SIMILARITY, VIEWS = "similarity", "views of the texts"
TIME, LEARNING = "reliability and time", "learning and priors"
AUCTION, BUDGET, ABLATION = "auction", "budget", "ablations"
PLANNING = "planner"
FIT, VIEW_WEIGHTS = "fit", "views"  # what Sim is: the probability of fit, or the weighted views of the texts


def similarity_knob(default: str) -> str:
    """What Sim is; the probability of fit for the routers that weigh it against costs."""
    return knob(
        default, label="Similarity measure", choices=(FIT, VIEW_WEIGHTS), group=SIMILARITY, symbol="Sim",
        help="fit: the calibrated probability that a tool can do it. views: cosines of the views under their weights, the papers' form.",
    )  # fmt: skip


def _weight(default: float, symbol: str, what: str, paper: str = "", *, label: str) -> float:
    return knob(
        default, label=label, advanced=True, symbol=symbol, low=0.0, high=1.0, step=0.05, group=VIEWS,
        help=f"Weight of {what}. {paper}".strip(),
    )  # fmt: skip


@dataclass(frozen=True)
class CandidateParameters(Parameters):
    """How many tools are handed on."""

    n: int = knob(
        3,
        label="Candidates",
        symbol="n",
        low=1,
        high=50,
        step=1,
        group=SIMILARITY,
        help="Candidates returned, EHRR (9).",
    )


@dataclass(frozen=True)
class MatchingParameters(CandidateParameters):
    """How texts are compared: weights of the views of a tool and of a server. Weights are divided by their sum."""

    similarity: str = similarity_knob(VIEW_WEIGHTS)
    sim_midpoint: float = knob(
        0.7, label="Middle of the scale", advanced=True, symbol="Sim½", low=0.0, high=1.0, step=0.05, group=VIEWS,
        help="The share of the best similarity that counts as one half; 0 takes the cosine as it is, EHRR (1).",
    )  # fmt: skip
    sim_steepness: float = knob(
        6.0, label="Contrast", advanced=True, symbol="contrast", low=1.0, high=8.0, step=0.5, group=VIEWS,
        help="How sharply similarity rises around Sim½: Sim' = Sim^a / (Sim^a + m^a), m = Sim½ · best.",
    )  # fmt: skip
    w_names: float = _weight(
        0.3, "w names", "the names view: server and tool names as words", label="Weight of the names"
    )
    w_full: float = _weight(0.4, "w full", "the full view: names and description", label="Weight of the full text")
    w_description: float = _weight(
        0.0, "w description", "the description alone: the paper's text f_ij", label="Weight of the description"
    )
    w_parameters: float = _weight(
        0.0, "w params", "the parameters view: names and descriptions of the arguments", label="Weight of the arguments"
    )
    w_lexical: float = _weight(
        0.3, "w BM25", "word overlap (BM25 coverage of the sub-task)", label="Weight of words in common"
    )
    doubt_names: bool = knob(
        True, label="Doubt brand names", advanced=True, group=VIEWS, symbol="doubt names",
        help="Names count only as far as they agree with the description; brand names do not, and the description takes over.",
    )  # fmt: skip
    w_server_profile: float = _weight(
        0.5, "w profile", "a server's own description, the paper's text f_i", label="Weight of its description"
    )
    w_server_summary: float = _weight(
        0.0, "w summary", "a server's summary: its name and its tools' names", label="Weight of its summary"
    )
    w_server_best_tool: float = _weight(
        0.5, "w best tool", "the similarity of a server's best tool", label="Weight of its best tool"
    )
    w_server_lexical: float = _weight(
        0.0, "w srv BM25", "word overlap with a server's texts", label="Weight of words, servers"
    )
    hint_weight: float = _weight(
        0.3,
        "w hint",
        "the server hint against the sub-task at the server layer, where a hint is given",
        label="Weight of the hint",
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
        "rules", label="Planner", symbol="planner", choices=("rules", "model"), group=PLANNING,
        help="rules: deterministic, without a model. model: the language model that the environment names.",
    )  # fmt: skip


@dataclass(frozen=True)
class LearningParameters(Parameters):
    """How outcomes become statistics (EHRR (8)) and what is assumed before the first call."""

    lambda_r: float = knob(
        0.15,
        label="Learning rate of success",
        advanced=True,
        symbol="λr",
        low=0.01,
        high=0.99,
        step=0.01,
        group=LEARNING,
        help="Smoothing of success, EHRR (8).",
    )
    lambda_var: float = knob(
        0.15, label="Learning rate of the variance", advanced=True, symbol="λσ", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of the variance of success, EHRR (8).",
    )  # fmt: skip
    lambda_p: float = knob(
        0.15, label="Learning rate of late failures", advanced=True, symbol="λp", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of post-accept failure, EHRR (8).",
    )  # fmt: skip
    lambda_l: float = knob(
        0.15, label="Learning rate of times", advanced=True, symbol="λl", low=0.01, high=0.99, step=0.01, group=LEARNING,
        help="Smoothing of call and connection time, EHRR (8).",
    )  # fmt: skip
    prior_r: float = knob(
        0.9,
        label="Assumed success",
        advanced=True,
        symbol="r₀",
        low=0.01,
        high=1.0,
        step=0.01,
        group=LEARNING,
        help="Success assumed where nothing is known.",
    )
    prior_var: float = knob(
        0.0, label="Assumed variance", advanced=True, symbol="σ²₀", low=0.0, high=0.25, step=0.01, group=LEARNING,
        help="Variance of success assumed where nothing is known.",
    )  # fmt: skip
    prior_pfail: float = knob(
        0.02, label="Assumed late failures", advanced=True, symbol="pfail₀", low=0.0, high=0.99, step=0.01, group=LEARNING,
        help="Post-accept failure assumed where nothing is known.",
    )  # fmt: skip
    prior_call_s: float = knob(
        1.0, label="Assumed call time", advanced=True, symbol="Lcall₀", unit="s", low=0.0, high=60.0, step=0.1, group=LEARNING,
        help="Call time assumed where nothing is known.",
    )  # fmt: skip
    prior_conn_s: float = knob(
        0.3, label="Assumed connection time", advanced=True, symbol="Lconn₀", unit="s", low=0.0, high=60.0, step=0.1, group=LEARNING,
        help="Connection time assumed where nothing is known.",
    )  # fmt: skip
    half_life_s: float = knob(
        0.0, label="Half-life of experience", advanced=True, symbol="t½", unit="s", low=0.0, high=86_400.0, step=60.0, group=LEARNING,
        help="Time without a call after which a figure is half-way back to its declared or prior value; 0, the paper: never.",
    )  # fmt: skip

    def rates(self) -> Rates:
        """The smoothing coefficients and the half-life."""
        return Rates(self.lambda_r, self.lambda_var, self.lambda_p, self.lambda_l, self.half_life_s)

    def priors(self) -> Priors:
        """The assumptions."""
        return Priors(self.prior_r, self.prior_var, self.prior_pfail, self.prior_call_s, self.prior_conn_s)
