"""Parameters that several routers share. One declaration each; see `core.domain.params`."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import CUBE_ROOT, SHARE, Parameters, Range, knob
from core.routers.ema import Fading, Priors, Rates

SIMILARITY, VIEWS = "similarity", "views of the texts"
TIME, LEARNING = "reliability and time", "learning and priors"
AUCTION, BUDGET, ABLATION = "auction", "budget", "ablations"
PLANNING = "planner"
PRIOR_TIME = Range(0.0, 60.0, 0.1, "s", CUBE_ROOT)
TOOL_VIEWS, SERVER_VIEWS = (
    ("names", "full", "description", "parameters", "lexical"),
    ("profile", "summary", "best_tool", "lexical"),
)
FIT, VIEW_WEIGHTS = "fit", "views"  # measures of similarity: probability of fit, or weighted views of the texts


def weight_knob(default: float, symbol: str, what: str, *, label: str) -> float:
    return knob(default, SHARE, group=VIEWS, symbol=symbol, label=label, advanced=True,
        help=f"Weight of {what}.")  # fmt: skip


def _rate_knob(symbol: str, subject: str, *, label: str) -> float:
    return knob(0.15, Range(0.01, 0.99, 0.01), group=LEARNING, symbol=symbol, label=label, advanced=True,
        help=f"Smoothing of {subject}, EHRR (8).")  # fmt: skip


def _prior_knob(default: float, limits: Range, symbol: str, subject: str, *, label: str) -> float:
    return knob(default, limits, group=LEARNING, symbol=symbol, label=label, advanced=True,
        help=f"{subject} assumed where nothing is known.")  # fmt: skip


@dataclass(frozen=True)
class CandidateParameters(Parameters):
    n: int = knob(3, Range(1, 50, scale=CUBE_ROOT), group=SIMILARITY, symbol="n", label="Candidates",
        help="Candidates returned, EHRR (9).")  # fmt: skip


@dataclass(frozen=True)
class RefusingParameters(Parameters):
    wrong_refusals: float = knob(0.0, Range(0.0, 50.0, 1.0, "%"), group=SIMILARITY, symbol="wrong refusals", label="Wrong refusals at most",
        help="Share of answerable sub-tasks that may be refused. A higher share also refuses more of the impossible ones. 0 refuses none.")  # fmt: skip


@dataclass(frozen=True)
class SimilarityParameters(RefusingParameters, CandidateParameters):
    """The retrieval. All routers share its default, so that a comparison shows their methods and not their encoders."""

    similarity: str = knob(FIT, group=SIMILARITY, symbol="Sim", label="Similarity measure", choices=(FIT, VIEW_WEIGHTS),
        help="fit: the calibrated probability that a tool can do it. views: the form that the router's paper has, such as a cosine or BM25.")  # fmt: skip

    def measure(self, published: str) -> str:
        """The name of what ranks: `published` is that of the router's paper."""
        return "probability of fit" if self.similarity == FIT else published


@dataclass(frozen=True)
class MatchingParameters(SimilarityParameters):
    """Weights of the views of a tool and of a server in comparisons of texts. Weights are divided by their sum."""

    sim_midpoint: float = knob(0.7, SHARE, group=VIEWS, symbol="Sim½", label="Middle of the scale", advanced=True,
        help="The share of the best similarity that counts as one half; 0 takes the cosine as it is, EHRR (1).")  # fmt: skip
    sim_steepness: float = knob(6.0, Range(1.0, 8.0, 0.5), group=VIEWS, symbol="contrast", label="Contrast", advanced=True,
        help="How sharply similarity rises around Sim½: Sim' = Sim^a / (Sim^a + m^a), m = Sim½ · best.")  # fmt: skip
    w_names: float = weight_knob(0.3, "w names", "the names view: server and tool names as words", label="Weight of the names")  # fmt: skip
    w_full: float = weight_knob(0.4, "w full", "the full view: names and description", label="Weight of the full text")
    w_description: float = weight_knob(0.0, "w description", "the description alone: the paper's text f_ij", label="Weight of the description")  # fmt: skip
    w_parameters: float = weight_knob(0.0, "w params", "the parameters view: names and descriptions of the arguments", label="Weight of the arguments")  # fmt: skip
    w_lexical: float = weight_knob(0.3, "w BM25", "word overlap (BM25 coverage of the sub-task)", label="Weight of words in common")  # fmt: skip
    doubt_names: bool = knob(True, group=VIEWS, symbol="doubt names", label="Doubt brand names", advanced=True,
        help="Names count only as far as they agree with the description; brand names do not, and the description takes over.")  # fmt: skip
    w_server_profile: float = weight_knob(0.5, "w profile", "a server's own description, the paper's text f_i", label="Weight of its description")  # fmt: skip
    w_server_summary: float = weight_knob(0.0, "w summary", "a server's summary: its name and its tools' names", label="Weight of its summary")  # fmt: skip
    w_server_best_tool: float = weight_knob(0.5, "w best tool", "the similarity of a server's best tool", label="Weight of its best tool")  # fmt: skip
    w_server_lexical: float = weight_knob(0.0, "w srv BM25", "word overlap with a server's texts", label="Weight of words, servers")  # fmt: skip
    hint_weight: float = weight_knob(0.3, "w hint", "the server hint against the sub-task at the server layer, where a hint is given", label="Weight of the hint")  # fmt: skip


@dataclass(frozen=True)
class PlanningParameters(Parameters):
    planner: str = knob("rules", group=PLANNING, symbol="planner", label="Planner", choices=("rules", "model"),
        help="rules: deterministic, without a model. model: the language model that the environment names.")  # fmt: skip


@dataclass(frozen=True)
class LearningParameters(Parameters):
    """How outcomes become statistics (EHRR (8)), and the priors before the first call."""

    lambda_r: float = _rate_knob("λr", "success", label="Learning rate of success")
    lambda_var: float = _rate_knob("λσ", "the variance of success", label="Learning rate of the variance")
    lambda_p: float = _rate_knob("λp", "post-accept failure", label="Learning rate of late failures")
    lambda_l: float = _rate_knob("λl", "call and connection time", label="Learning rate of times")
    prior_r: float = _prior_knob(0.9, Range(0.01, 1.0, 0.01), "r₀", "Success", label="Assumed success")
    prior_var: float = _prior_knob(0.0, Range(0.0, 0.25, 0.01), "σ²₀", "Variance of success", label="Assumed variance")
    prior_pfail: float = _prior_knob(0.02, Range(0.0, 0.99, 0.01), "pfail₀", "Post-accept failure", label="Assumed late failures")  # fmt: skip
    prior_call_s: float = _prior_knob(1.0, PRIOR_TIME, "Lcall₀", "Call time", label="Assumed call time")
    prior_conn_s: float = _prior_knob(0.3, PRIOR_TIME, "Lconn₀", "Connection time", label="Assumed connection time")
    half_life_s: float = knob(120.0, Range(0.0, 86_400.0, 60.0, "s", CUBE_ROOT), group=LEARNING, symbol="t½", label="Half-life of experience", advanced=True,
        help="Time without a call after which what failures have taught is half forgotten. It is longer the longer they lasted. 0, the paper: never.")  # fmt: skip
    fading: str = knob("failures", group=LEARNING, symbol="fading", label="What fades", advanced=True, choices=("failures", "everything"),
        help="failures: a figure goes back to where it stood after the last success. everything: to its declared or prior value.")  # fmt: skip

    def rates(self) -> Rates:
        fading: Fading = "everything" if self.fading == "everything" else "failures"
        return Rates(self.lambda_r, self.lambda_var, self.lambda_p, self.lambda_l, self.half_life_s, fading)

    def priors(self) -> Priors:
        return Priors(self.prior_r, self.prior_var, self.prior_pfail, self.prior_call_s, self.prior_conn_s)


SHOWN = {name: MatchingParameters(similarity=name) for name in (FIT, VIEW_WEIGHTS)}
"""The similarity that is shown beside a router's own scores."""
