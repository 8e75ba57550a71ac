"""Presets: named sets of parameters with one sentence each. A router takes those of a preset's values that it has.

>>> from core.routers.ehrr_parameters import EhrrParameters
>>> applied(EhrrParameters, "paper").alpha_t, applied(EhrrParameters, "balanced") == EhrrParameters()
(0.25, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from core.domain.params import Parameters, Value
from core.routers.parameters import VIEW_WEIGHTS
from core.shared.errors import UnknownNameError

P = TypeVar("P", bound=Parameters)
DEFAULT_PRESET = "balanced"


@dataclass(frozen=True, slots=True)
class Preset:
    """A name for a purpose: what it is for, and what it sets."""

    title: str
    sentence: str
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


PRESETS: dict[str, Preset] = {
    DEFAULT_PRESET: Preset("Balanced", "The defaults: the likeliest tool, cheaper or quicker where it hardly fits less."),
    "paper": Preset(
        "Paper",
        "EHRR's Table V to the letter: the cosine of descriptions against time and price; a quick tool may beat one that fits.",
        {
            "similarity": VIEW_WEIGHTS, "sim_midpoint": 0.0, "doubt_names": False, "w_names": 0.0, "w_full": 0.0,
            "w_description": 1.0, "w_parameters": 0.0, "w_lexical": 0.0, "w_server_profile": 1.0, "w_server_summary": 0.0,
            "w_server_best_tool": 0.0, "w_server_lexical": 0.0, "k": 5, "n": 3, "alpha_s": 0.1, "alpha_t": 0.25, "kappa": 1.0,
            "p_bs": 0.0025, "p_ofs": 0.0225, "l0_s": 1.0, "eps": 1e-3, "worthwhile": False,
        },
    ),
    "thrifty": Preset(
        "Thrifty", "Money matters most: dear tools are asked only where they fit much better.",
        {"alpha_t": 0.03, "kappa": 200.0, "p_bs": 0.06, "p_ofs": 0.015, "worth_usd": 0.05},
    ),
    "quick": Preset(
        "Quick", "Time matters most: a second is worth giving up a little fit.",
        {"alpha_s": 0.02, "alpha_t": 0.08, "kappa": 10.0},
    ),
    "quality": Preset(
        "Quality", "The likeliest tool at nearly any price.",
        {"alpha_s": 0.001, "alpha_t": 0.002, "kappa": 10.0, "p_bs": 0.2, "worthwhile": False, "worth_usd": 1.0},
    ),
}  # fmt: skip


def preset(name: str) -> Preset:
    """A preset by name. Raises UnknownNameError."""
    if name not in PRESETS:
        raise UnknownNameError(f"There is no preset {name!r}; choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]


def preset_values(parameters: type[Parameters], name: str) -> dict[str, Value]:
    """What a preset sets of these parameters. A kappa is EHRR's: a router that counts in USD keeps its own."""
    known = {knob.name for knob in parameters.knobs()}
    values = {key: value for key, value in preset(name).values.items() if key in known}
    if "worth_usd" in known:
        values.pop("kappa", None)
    return values


def preset_of(parameters: Parameters) -> str:
    """The preset that these parameters are, "" where something else is set; the number of candidates does not matter.

    >>> from core.routers.ehrr_parameters import EhrrParameters
    >>> preset_of(EhrrParameters(n=10)), preset_of(EhrrParameters(alpha_t=0.5))
    ('balanced', '')
    """
    n = parameters.values().get("n")
    return next((name for name in PRESETS if _with_candidates(type(parameters), name, n) == parameters), "")


def applied(parameters: type[P], name: str, settings: Mapping[str, object] | None = None) -> P:
    """The parameters of a preset, with some values set on top. Raises UnknownNameError, ParameterError."""
    return parameters().replaced({**preset_values(parameters, name), **(settings or {})})


@cache
def _with_candidates(parameters: type[Parameters], name: str, n: Value) -> Parameters:
    """The parameters of a preset, with this number of candidates where there is one; asked for at every decision."""
    return applied(parameters, name, {} if n is None else {"n": n})
