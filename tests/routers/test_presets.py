"""Presets: what they set, and which one some parameters are."""

from __future__ import annotations

import pytest

from core.domain.errors import ParameterError, UnknownNameError
from core.routers import ROUTERS
from core.routers.ehrr import EhrrParameters
from core.routers.expected_value import ExpectedValueParameters
from core.routers.presets import PRESETS, applied, preset, preset_of, preset_values
from tests.cases import each


@each("name", list(PRESETS))
def test_a_preset_can_be_had_of_every_router_and_is_found_again(name: str) -> None:
    assert preset(name).sentence.endswith(".")
    assert preset_of(applied(EhrrParameters, name)) == name
    for router in ROUTERS.values():
        chosen = applied(router.parameters, name)
        assert {key: chosen.values()[key] for key in preset_values(router.parameters, name)} == preset_values(
            router.parameters, name
        )


def test_no_preset_sets_what_no_router_has() -> None:
    known = {knob.name for router in ROUTERS.values() for knob in router.parameters.knobs()}
    assert {key for one in PRESETS.values() for key in one.values} <= known


def test_what_is_set_wins_over_the_preset() -> None:
    chosen = applied(EhrrParameters, "paper", {"kappa": "7"})
    assert (chosen.kappa, chosen.alpha_t, preset_of(chosen)) == (7.0, 0.25, "")


def test_a_router_that_counts_in_usd_keeps_its_kappa() -> None:
    chosen = applied(ExpectedValueParameters, "thrifty")
    assert (chosen.kappa, chosen.worth_usd) == (ExpectedValueParameters().kappa, 0.05)


def test_an_unknown_preset_or_value_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no preset 'cheap'; choose one of: balanced, paper"):
        applied(EhrrParameters, "cheap")
    with pytest.raises(ParameterError):
        applied(EhrrParameters, "paper", {"kappa": "much"})
