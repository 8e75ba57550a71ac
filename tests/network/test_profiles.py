"""Profiles: the state of each server, profiles as files, and saved profiles."""

import json
from pathlib import Path

import pytest

from core.domain.catalog import Server
from core.domain.errors import CatalogError, StoreError, UnknownNameError
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.network.profiles import (
    MOST_BYTES,
    NetworkProfiles,
    Profile,
    Rule,
    check_profile_name,
    load_profile,
    parse_profile,
    read_profile,
    shipped_profiles,
    tidy_name,
)
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
    states_of = profile.assign(SERVERS)
    assert list(states_of) == ["m1", "m2", "w1", "x"]
    assert (states_of["m1"], states_of["m2"], states_of["w1"]) == (DOWN, JITTER, CALM)


def test_the_first_rule_that_is_met_applies_and_its_entries_take_turns_by_name() -> None:
    profile = Profile("p", rules=(Rule((DOWN, CALM), category="mail"), Rule((JITTER,), name="m*")))
    states_of = profile.assign(list(reversed(SERVERS)))
    assert (states_of["m1"], states_of["m2"]) == (DOWN, CALM)
    assert states_of["w1"] == CALM  # the default


def test_chance_follows_the_seed_and_the_name_whoever_else_there_is() -> None:
    profile = Profile("p", random=(CALM, JITTER, DOWN))
    many = [Server(f"s{n}") for n in range(60)]
    states_of = profile.assign(many, seed=1)
    assert {states for states in states_of.values()} == {CALM, JITTER, DOWN}
    assert profile.assign(many[30:], seed=1) == {name: states_of[name] for name in list(states_of)[30:]}
    assert profile.assign(many, seed=2) != states_of


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


MINE = Profile("mine", "Über <b>all</b>.", {"a": (Outage(start=0.5),)})


def test_a_saved_profile_is_found_by_its_name_and_readable(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert NetworkProfiles(folder).saved() == ()
    path = NetworkProfiles(folder).save(MINE)
    assert (NetworkProfiles(folder).saved(), NetworkProfiles(folder).load("mine")) == (("mine",), MINE)
    assert "Über" in path.read_text(encoding="utf-8")
    assert len(path.read_text(encoding="utf-8").splitlines()) > 5
    NetworkProfiles(folder).save(Profile("mine", "Another."))
    assert NetworkProfiles(folder).load("mine").about == "Another."
    assert [path.name for path in folder.iterdir()] == ["mine.json"]
    NetworkProfiles(folder).remove("mine")
    assert NetworkProfiles(folder).saved() == ()
    with pytest.raises(UnknownNameError, match="'mine'"):
        NetworkProfiles(folder).remove("mine")
    with pytest.raises(UnknownNameError, match="hybrid"):
        NetworkProfiles(folder).load("mine")


@each("name", ["", ".", "..", "../x", "a/b", "a\\b", "a.b", "-x", "A", "con", "lpt1", "é", "a\n", "x" * 61])
def test_a_name_that_is_no_file_name_everywhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="cannot name a network"):
        NetworkProfiles(tmp_path).save(Profile(name))
    assert list(tmp_path.iterdir()) == []


def test_a_shipped_name_is_not_to_be_had(tmp_path: Path) -> None:
    for name in shipped_profiles():
        with pytest.raises(CatalogError, match="shipped"):
            NetworkProfiles(tmp_path).save(Profile(name))
    (tmp_path / "hybrid.json").write_text(Profile("hybrid", "False.").text())
    assert NetworkProfiles(tmp_path).saved() == ()
    assert NetworkProfiles(tmp_path).load("hybrid").about != "False."


def test_what_is_typed_becomes_a_name_that_is_free(tmp_path: Path) -> None:
    check_profile_name(tidy_name(" Monday  MESS "))
    assert NetworkProfiles(tmp_path).free_name("hybrid") == "my_hybrid"
    NetworkProfiles(tmp_path).save(Profile("my_hybrid"))
    assert NetworkProfiles(tmp_path).free_name("hybrid") == "my_hybrid_2"
    assert NetworkProfiles(tmp_path).free_name("x" * 60) == "my_network"


def test_a_damaged_file_is_named_and_harms_no_other(tmp_path: Path) -> None:
    NetworkProfiles(tmp_path).save(MINE)
    (tmp_path / "bad.json").write_text('{"name": "bad"')
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "Not A Name.json").write_text("{}")
    assert NetworkProfiles(tmp_path).saved() == ("bad", "mine")
    with pytest.raises(CatalogError, match=r"bad\.json: it cannot be read as a profile"):
        NetworkProfiles(tmp_path).load("bad")
    assert NetworkProfiles(tmp_path).load("mine") == MINE
    NetworkProfiles(tmp_path).remove("bad")
    assert NetworkProfiles(tmp_path).saved() == ("mine",)


@each(
    ("text", "words"),
    [
        (b"\xff\xfe\x00", "cannot be read"),
        (b"[" * 200_000, "cannot be read"),
        (b" " * (MOST_BYTES + 1), "more than"),
        (b'{"name": "x", "default": {"state": "ideal", "base_ms": NaN}}', "finite"),
        (b'{"name": "x", "default": {"state": "ideal", "base_ms": 1e999}}', "finite"),
        (b'{"name": "x", "default": {"state": ["ideal"]}}', "no network state"),
        (b'{"name": "x", "' + b"k" * 5000 + b'": 1}', "it has no 'kk"),
        (b'{"name": "x", "default": "' + b"k" * 5000 + b'"}', "no network state"),
        (b'{"name": "x", "default": ' + b"9" * 5000 + b"}", "cannot be read"),
    ],
)
def test_hostile_files_are_one_sentence(text: bytes, words: str) -> None:
    with pytest.raises(CatalogError, match=words) as error:
        read_profile(text, "theirs.json")
    assert str(error.value).startswith("theirs.json: ")
    assert len(str(error.value)) < 400


def test_a_folder_that_cannot_be_written_is_said_and_keeps_what_was(tmp_path: Path) -> None:
    (tmp_path / "networks").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be saved"):
        NetworkProfiles(tmp_path / "networks").save(MINE)
    assert NetworkProfiles(tmp_path / "networks").saved() == ()
    (tmp_path / "mine.json").mkdir()
    with pytest.raises(StoreError, match="nothing of it was kept"):
        NetworkProfiles(tmp_path).save(MINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.json", "networks"]
