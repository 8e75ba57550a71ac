"""Presets: their values, the preset of given parameters, and presets as files."""

from __future__ import annotations

import pytest

from core.domain.errors import ParameterError, UnknownNameError
from core.routers import ROUTERS
from core.routers.ehrr import EhrrParameters
from core.routers.expected_value import ExpectedValueParameters
from core.routers.presets import PRESETS, PresetFile, applied, from_toml, preset, preset_of, preset_values, to_toml
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


def test_a_router_that_counts_in_usd_keeps_its_kappa() -> None:
    chosen = applied(ExpectedValueParameters, "thrifty")
    assert (chosen.kappa, chosen.worth_usd) == (ExpectedValueParameters().kappa, 0.05)


def test_an_unknown_preset_or_value_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no preset 'cheap'; choose one of: balanced, paper"):
        applied(EhrrParameters, "cheap")
    with pytest.raises(ParameterError):
        applied(EhrrParameters, "paper", {"kappa": "much"})


HEAD = 'router = "ehrr"\n'


@each("router", list(ROUTERS))
def test_what_is_exported_is_imported_the_same(router) -> None:
    defaults = ROUTERS[router].parameters()
    texts = {info.name: 'a "b"\n\x7f\\c' for info in defaults.knobs() if info.free_text}
    numbers = {info.name: info.high for info in defaults.knobs() if info.high is not None}
    preset = PresetFile('A "name" \x7f=\\', "<b>\nnote</b>", defaults.replaced({**texts, **numbers}))
    assert from_toml(to_toml(preset, router), "x.toml", router, defaults) == preset


def test_what_a_file_does_not_name_has_its_default_and_not_what_the_knobs_were() -> None:
    preset = from_toml(HEAD + "[parameters]\nk = 7\n", "x.toml", "ehrr", EhrrParameters(alpha_t=1.0))
    assert preset.parameters == EhrrParameters(k=7)


@each(
    ("text", "said"),
    [
        ("a = = 1", "it is not TOML (Invalid value"),
        ("[" * 5000, "it is not TOML"),
        (HEAD + 'colour = "red"\n[parameters]\nk = 3', "it has no 'colour'; correct the name or leave it out."),
        ("name = 3\n" + HEAD + "[parameters]\nk = 3", "name is 3; give a text of at most 80 characters."),
        (f'note = "{"a" * 401}"\n{HEAD}[parameters]\nk = 3', "aaa…; give a text of at most 400 characters."),
        ('router = "rag_mcp"\n[parameters]\nk = 3', "it is for the router 'rag_mcp', not 'ehrr'; choose that router first."),
        (HEAD, "parameters is missing; give it."),
        (HEAD + "[parameters]\nalpha_t = 99", "[parameters] alpha_t = 99.0 is outside 0.0 to 2.0; choose a value"),
        (HEAD + "[parameters]\nalpha_z = 1", "[parameters] There is no parameter 'alpha_z'"),
        (HEAD + "[parameters]\nk = [1]", "parameters.k is a list; give a number, a text, true or false."),
        (HEAD + "[parameters]\nkappa = nan", "[parameters] kappa = nan is not a finite number"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_one_sentence_with_its_place(text, said) -> None:
    with pytest.raises(ParameterError) as caught:
        from_toml(text, "bad\u202e.toml", "ehrr", EhrrParameters())
    sentence = str(caught.value)
    assert sentence.startswith("bad⟨U+202E⟩.toml: ")
    assert said in sentence
    assert "\n" not in sentence
