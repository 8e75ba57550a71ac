"""A profile as names of states, and back."""

from dataclasses import replace

import pytest

from core.domain.catalog import Server
from core.domain.errors import CatalogError
from core.network import STATES
from core.network.draft import MOST_STATES, Draft, DraftRule
from core.network.profiles import Profile, Rule, load_profile, shipped_profiles
from core.network.states import Fluctuating, HighJitter, Ideal, Outage
from tests.cases import each

SERVERS = [Server("a", category="mail"), Server("b", category="mail"), Server("c"), Server("<b>d")]
BOTH = (HighJitter(), Outage(base_ms=0))
PROFILE = Profile(
    "p",
    "About.",
    servers={"a": BOTH, "not-there": (Ideal(base_ms=99),)},
    rules=(Rule((BOTH, (Ideal(),)), category="mail"), Rule(((Outage(),),), name="c*")),
    random=((Ideal(),), (Ideal(),), (Fluctuating(phase=1),)),
    default=(Ideal(base_ms=30),),
)


@each("profile", [PROFILE, *map(load_profile, shipped_profiles())], ids=lambda profile: profile.name)
def test_a_profile_comes_back_as_it_was(profile: Profile) -> None:
    draft = Draft.of(profile)
    assert draft.profile(profile.name, profile.about) == profile
    assert {type(state) for state in draft.states.values()} == set(STATES.values())
    for texts in (draft.random, *(rule.cycle for rule in draft.rules)):
        assert len(set(texts)) == len(texts)  # a list of choices names each choice once


def test_default_parameters_have_the_plain_name() -> None:
    draft = Draft.of(PROFILE)
    assert (draft.default, draft.servers["not-there"]) == (("Ideal 2",), ("Ideal 3",))
    assert draft.random == ("Ideal", "Ideal 4", "Fluctuating")
    assert draft.states["Ideal 4"] == draft.states["Ideal"] == Ideal()
    assert draft.servers["a"] == ("High jitter", "Intermittent outage 2")


def test_a_row_says_what_applies_and_why() -> None:
    rows = Draft.of(PROFILE).rows(SERVERS)
    assert [(row.server, row.because) for row in rows] == [
        ("a", "by hand"), ("b", "rule 1"), ("c", "rule 2"), ("<b>d", "at random"),
    ]  # fmt: skip
    assert rows[0].applies == "High jitter + Intermittent outage 2"
    assert rows[1].applies == "Ideal"  # the second in the cycle: `a` has the first
    assert rows[2].applies == "Intermittent outage"
    calm = replace(Draft.of(PROFILE), random=())
    assert (calm.rows(SERVERS)[3].applies, calm.rows(SERVERS)[3].because) == ("Ideal 2", "all others")


def test_chance_follows_the_seed() -> None:
    draft = Draft.of(load_profile("chaos_monday"))
    many = [Server(f"s{n}") for n in range(30)]
    assert draft.rows(many, 1) == draft.rows(many, 1) != draft.rows(many, 2)


def test_one_more_of_a_kind_has_parameters_of_its_own() -> None:
    draft, name = Draft.of(Profile("p")).another("Ideal")
    assert name == "Ideal 2"
    assert list(draft.states)[:2] == ["Ideal", "Ideal 2"]
    draft = replace(draft, states={**draft.states, name: Ideal(base_ms=70)}, servers={"a": (name,)})
    assert draft.profile("p").servers == {"a": (Ideal(base_ms=70),)}


def test_names_are_found_as_people_write_them() -> None:
    draft = replace(Draft.of(Profile("p")), random=("high  jitter+ ideal",), rules=(DraftRule(("Ideal",), name=""),))
    profile = draft.profile("p")
    assert profile.random == ((HighJitter(), Ideal()),)
    assert profile.rules == (Rule(((Ideal(),),)),)


def test_what_says_nothing_is_left_out() -> None:
    draft = replace(Draft.of(Profile("p")), servers={"a": ()}, rules=(DraftRule((), "mail"),))
    assert draft.profile("p") == Profile("p")


def test_what_cannot_be_is_said() -> None:
    draft = Draft.of(Profile("p"))
    with pytest.raises(CatalogError, match="choose one"):
        replace(draft, default=()).profile("p")
    with pytest.raises(CatalogError, match=r"no state 'Stormy'.*High jitter"):
        replace(draft, random=("Ideal + Stormy",)).profile("p")
    with pytest.raises(CatalogError, match="no state ''"):
        replace(draft, random=("Ideal +",)).profile("p")


def test_a_file_with_thousands_of_states_is_refused_at_once() -> None:
    many = tuple((Ideal(base_ms=n),) for n in range(MOST_STATES + 1))
    for profile in (Profile("p", random=many), Profile("p", random=((Ideal(),),) * (MOST_STATES + 1))):
        with pytest.raises(CatalogError, match="edit its file"):
            Draft.of(profile)
