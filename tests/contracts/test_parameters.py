"""Contract of every knob: slider, flag, link and sweep are made from it."""

import pytest

from core.routers import ROUTERS
from core.routers.parameters import CandidateParameters
from tests.cases import each

DECLARED = {info: kind.parameters for kind in ROUTERS.values() for info in kind.parameters.knobs()}
"""Each declaration once, with the parameters of one router that has it: most are inherited by many."""
KNOBS = [pytest.param(kind, info, id=f"{kind.__name__}-{info.name}") for info, kind in DECLARED.items()]
NUMBERS = [p for p in KNOBS if p.values[1].kind in (int, float)]


each_router = each("parameters", [kind.parameters for kind in ROUTERS.values()], ids=list(ROUTERS))


def examples(info):
    """Some admitted values of a knob: its default, the ends of its range, one step in, each choice, off."""
    if info.kind is bool:
        return [True, False]
    if info.kind is str:
        return list(info.choices) or [info.default, "mail:write, files::read", "none"]
    ends = [info.kind(info.low), info.kind(info.high), info.kind(info.low + info.step)]
    return [info.default, *ends, *([None, 0.0] if info.optional else [])]


@each(("kind", "info"), KNOBS)
def test_a_knob_explains_itself(kind, info):
    assert info.help.strip().endswith(".")
    assert info.group.strip()
    assert info.symbol.strip()
    assert info.kind in (bool, int, float, str)
    assert not info.choices or info.kind is str


@each(("kind", "info"), KNOBS)
def test_a_default_is_an_admitted_value_of_its_kind(kind, info):
    assert info.parse(info.default) == info.default
    assert getattr(kind(), info.name) == info.default
    assert info.default is None if info.optional else type(info.default) is info.kind


def test_llm_is_another_word_for_the_planner_model():
    for planner in (info for info in DECLARED if info.name == "planner"):
        assert [planner.parse(word) for word in ("rules", "model", "llm")] == ["rules", "model", "model"]


@each(("kind", "info"), NUMBERS)
def test_a_number_has_a_range_and_a_step_that_fit(kind, info):
    assert info.low < info.high
    assert 0 < info.step <= info.high - info.low
    assert info.default is None or info.low <= info.default <= info.high


@each(("kind", "info"), KNOBS)
def test_each_admitted_value_survives_the_way_through_text(kind, info):
    for value in examples(info):
        parameters = kind().replaced({info.name: value})
        assert getattr(parameters, info.name) == value
        back = kind().replaced({name: str(x) for name, x in parameters.values().items()})
        assert back == parameters
        assert type(getattr(back, info.name)) is type(value)
        assert parameters.changed() == ({} if value == info.default else {info.name: value})


@each_router
def test_names_and_symbols_are_used_once(parameters):
    names, symbols = zip(*((info.name, info.symbol) for info in parameters.knobs()), strict=True)
    assert len(set(names)) == len(names)
    assert len(set(symbols)) == len(symbols)


@each_router
def test_all_values_at_once_survive_the_way_through_text(parameters):
    everything = {info.name: examples(info)[-1] for info in parameters.knobs()}
    replaced = parameters().replaced(everything)
    assert replaced.values() == everything
    assert parameters().replaced({name: str(x) for name, x in replaced.changed().items()}) == replaced


@each_router
def test_every_router_can_be_told_how_many_candidates_are_wanted(parameters):
    assert issubclass(parameters, CandidateParameters)
