"""Parameters: parsing, ranges, names, and what a link or a flag may carry."""

from dataclasses import FrozenInstanceError, dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import ParameterError
from core.domain.params import Parameters, Range, knob
from tests.cases import each


@dataclass(frozen=True)
class Toy(Parameters):
    alpha: float = knob(0.1, Range(0.0, 2.0, 0.01), symbol="α", help="A weight.")
    k: int = knob(5, Range(1, 50), help="How many.")
    auction: bool = knob(True, help="A switch.")
    billing: str = knob("per_call", choices=("per_call", "per_attempt"), help="A choice.")
    budget: float | None = knob(None, Range(0.0, 1.0, 0.1), kind=float, help="A cap that may be off.")
    scopes: str = knob("none", help="A text.")


def value(name, raw):
    return Toy().replaced({name: raw}).values()[name]


@each(("name", "raw", "parsed"), [
    ("alpha", "0.3", 0.3), ("alpha", " 0.3 ", 0.3), ("alpha", "1e-3", 0.001), ("alpha", 1, 1.0), ("alpha", "0", 0.0), ("alpha", 2.0, 2.0),
    ("k", "7", 7), ("k", 7.0, 7), ("k", "7.0", 7), ("k", 1, 1), ("k", 50, 50), ("auction", "true", True), ("auction", "OFF", False),
    ("auction", "0", False), ("auction", 1, True), ("auction", False, False), ("billing", "per_attempt", "per_attempt"),
    ("budget", "0.5", 0.5), ("budget", 0.0, 0.0), ("budget", 1.0, 1.0), ("budget", None, None), ("budget", "", None), ("budget", "None", None),
    ("budget", "  off ", None), ("scopes", " mail:write ", "mail:write"), ("scopes", "", "none"), ("scopes", "  \n", "none"),
])  # fmt: skip
def test_text_and_numbers_become_values_of_the_declared_kind(name, raw, parsed):
    got = value(name, raw)
    assert got == parsed
    assert type(got) is type(parsed)


@each(("name", "raw"), [
    ("alpha", -0.01), ("alpha", 2.01), ("alpha", "1e308"), ("alpha", 10**400), ("k", 0), ("k", 51), ("k", "9" * 400), ("budget", -0.1), ("budget", "1.5"),
    ("alpha", "much"), ("alpha", ""), ("alpha", None), ("alpha", [1]), ("k", "2.5"), ("k", 2.5), ("k", None), ("auction", "maybe"),
    ("auction", None), ("auction", 2), ("billing", "sometimes"), ("billing", None), ("budget", "much"), ("billing", "x" * 10_000),
    *((name, raw) for name in ("alpha", "k", "budget") for raw in ("nan", "-inf", float("nan"), float("inf"), "1e999", True)),
], ids=lambda case: str(case)[:20])  # fmt: skip
def test_what_is_out_of_range_not_finite_or_of_another_kind_is_refused_by_name(name, raw):
    with pytest.raises(ParameterError, match=f"^{name} = ") as error:
        value(name, raw)
    assert len(str(error.value)) < 600
    assert "x" * 200 not in str(error.value)


def test_a_text_is_not_endless():
    assert value("scopes", "x" * 10_000)
    with pytest.raises(ParameterError, match="has 10,001 characters; give at most 10,000"):
        value("scopes", "x" * 10_001)


def test_zero_of_an_optional_number_is_a_value_and_not_off():
    assert Toy().replaced({"budget": "0"}).changed() == {"budget": 0.0}


@each("name", ["gamma", "Alpha", "", "__class__"])
def test_an_unknown_name_is_refused_with_where_to_look(name):
    with pytest.raises(ParameterError, match=r"There is no parameter .*wayfare parameters"):
        Toy().replaced({name: 1})


def test_the_constructor_checks_too_and_a_refusal_changes_nothing():
    with pytest.raises(ParameterError, match=r"outside 0\.0 to 2\.0"):
        Toy(alpha=9.0)
    assert Toy(alpha="0.5").alpha == 0.5
    toy = Toy()
    with pytest.raises(ParameterError):
        toy.replaced({"alpha": 0.5, "k": 0})
    assert toy == Toy()
    with pytest.raises(FrozenInstanceError):
        toy.alpha = 0.2
    assert hash(Toy(alpha=0.2)) == hash(Toy().replaced({"alpha": "0.2"}))
    assert Toy(alpha=0.3).replaced({"alpha": "0.1"}).changed() == {}
    assert [(info.name, info.symbol) for info in Toy.knobs()][:2] == [("alpha", "α"), ("k", "k")]


@settings(derandomize=True, max_examples=40)
@given(
    st.floats(0.0, 2.0),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from(["per_call", "per_attempt"]),
    st.one_of(st.none(), st.floats(0.0, 1.0)),
)
def test_values_as_text_come_back_exactly(alpha, k, auction, billing, budget):
    toy = Toy(alpha, k, auction, billing, budget)
    assert Toy().replaced({name: str(x) for name, x in toy.values().items()}) == toy
    assert Toy().replaced({name: str(x) for name, x in toy.changed().items()}) == toy
