"""Profiles: which server is in which state, and profiles as files."""

import json

import pytest

from core.domain.catalog import Server
from core.domain.errors import CatalogError, UnknownNameError
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.network.profiles import Profile, Rule, load_profile, parse_profile, shipped_profiles
from core.network.states import HighJitter, Ideal, Outage
from tests.cases import each

CALM, JITTER, DOWN = (Ideal(),), (HighJitter(),), (Outage(),)
SERVERS = [
    Server(name, category=category) for name, category in [("m1", "mail"), ("m2", "mail"), ("w1", "web"), ("x", "")]
]


def test_by_hand_comes_before_a_rule_and_a_rule_before_chance() -> None:
    profile = Profile(
        "p", servers={"m1": DOWN, "not-there": DOWN}, rules=(Rule((JITTER,), category="mail"),), random=(CALM,)
    )
    found = profile.assign(SERVERS)
    assert list(found) == ["m1", "m2", "w1", "x"]
    assert (found["m1"], found["m2"], found["w1"]) == (DOWN, JITTER, CALM)


def test_the_first_rule_that_is_met_applies_and_its_entries_take_turns_by_name() -> None:
    profile = Profile("p", rules=(Rule((DOWN, CALM), category="mail"), Rule((JITTER,), name="m*")))
    found = profile.assign(list(reversed(SERVERS)))
    assert (found["m1"], found["m2"]) == (DOWN, CALM)
    assert found["w1"] == CALM  # the default


def test_chance_follows_the_seed_and_the_name_whoever_else_there_is() -> None:
    profile = Profile("p", random=(CALM, JITTER, DOWN))
    many = [Server(f"s{n}") for n in range(60)]
    found = profile.assign(many, seed=1)
    assert {states for states in found.values()} == {CALM, JITTER, DOWN}
    assert profile.assign(many[30:], seed=1) == {name: found[name] for name in list(found)[30:]}
    assert profile.assign(many, seed=2) != found


def test_a_profile_survives_its_file(tmp_path) -> None:
    profile = Profile(
        "mine",
        "What it is.",
        {"m1": (Ideal(base_ms=0), Outage(start=0.5))},
        (Rule((JITTER,), "mail", "m*"),),
        (CALM, DOWN),
        JITTER,
    )
    (tmp_path / "mine.json").write_text(profile.text(), encoding="utf-8")
    assert load_profile(str(tmp_path / "mine.json")) == profile


@each("name", shipped_profiles())
def test_shipped_profiles_fit_the_shipped_catalogs_and_come_back_from_json(name) -> None:
    profile = load_profile(name)
    assert (profile.name, profile.about.endswith(".")) == (name, True)
    assert parse_profile(json.loads(json.dumps(profile.to_json()))) == profile
    testbed = {json.loads(path.read_text(encoding="utf-8"))["name"] for path in SHIPPED_CATALOGS["search-15"].files()}
    assert set(profile.servers) <= testbed


def test_the_papers_scenarios_are_shipped() -> None:
    assert {"ideal", "hybrid", "fluctuating", "chaos_monday"} <= set(shipped_profiles())
    by_hand = load_profile("hybrid").servers
    assert sorted(states[0].id for states in by_hand.values()) == [
        "fluctuating", "high_jitter", "high_latency", "ideal", "outage",
    ]  # fmt: skip
    assert len({states[0].phase for states in load_profile("fluctuating").servers.values()}) == 5


@each(
    ("document", "words"),
    [
        ([], "it is a list; give an object"),
        ({}, "name is missing"),
        ({"name": "x", "sevrers": {}}, "sevrers"),
        ({"name": "x", "default": "stormy"}, "no network state 'stormy'"),
        ({"name": "x", "default": []}, "no state"),
        ({"name": "x", "default": {"state": "ideal", "base_ms": -1}}, "base_ms"),
        ({"name": "x", "default": {"state": "ideal", "bass_ms": 1}}, "bass_ms"),
        ({"name": "x", "rules": [{"category": "mail"}]}, "cycle is missing"),
        ({"name": "x", "rules": [{"cycle": ["ideal"], "catgeory": "mail"}]}, "has no 'catgeory'"),
        ({"name": "x", "random": "ideal"}, "random is .ideal.; give a list"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path, document, words) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(document))
    with pytest.raises(CatalogError, match=words) as error:
        load_profile(str(file))
    assert "bad.json" in str(error.value)


def test_a_file_that_is_not_there_or_no_json_is_said(tmp_path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        load_profile(str(tmp_path / "none.json"))
    (tmp_path / "no.json").write_text("{")
    with pytest.raises(CatalogError, match="cannot be read"):
        load_profile(str(tmp_path / "no.json"))
    with pytest.raises(UnknownNameError, match="hybrid"):
        load_profile("nothing")
