"""Saved profiles: found by name, whole at any time, and no harm from names, files or folders that are wrong."""

import json
from pathlib import Path

import pytest

from core.errors import CatalogError, StoreError, UnknownNameError
from core.network.outage import Outage
from core.network.profiles import MOST_BYTES, Profile, load_profile, read_profile, saved_profiles, shipped_profiles
from core.network.saved import check_profile_name, free_name, remove_profile, save_profile, tidy_name
from core.paths import networks_folder

MINE = Profile("mine", "Über <b>all</b>.", {"a": (Outage(start=0.5),)})


def test_a_saved_profile_is_found_by_its_name_and_readable(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert saved_profiles(folder) == ()
    path = save_profile(MINE, folder)
    assert (saved_profiles(folder), load_profile("mine", folder)) == (("mine",), MINE)
    assert "Über" in path.read_text(encoding="utf-8")
    assert len(path.read_text(encoding="utf-8").splitlines()) > 5
    save_profile(Profile("mine", "Another."), folder)
    assert load_profile("mine", folder).about == "Another."
    assert [one.name for one in folder.iterdir()] == ["mine.json"]
    remove_profile("mine", folder)
    assert saved_profiles(folder) == ()
    with pytest.raises(UnknownNameError, match="'mine'"):
        remove_profile("mine", folder)
    with pytest.raises(UnknownNameError, match="hybrid"):
        load_profile("mine", folder)


def test_they_lie_beside_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYFARE_DB", str(tmp_path / "a.duckdb"))
    save_profile(MINE)
    assert (tmp_path / "networks" / "mine.json").is_file()
    assert (saved_profiles(), load_profile("mine")) == (("mine",), MINE)
    assert networks_folder(Path("/data/b.duckdb")) == Path("/data/networks").absolute()
    monkeypatch.setenv("WAYFARE_DB", ":memory:")
    assert networks_folder().parent != Path.cwd()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "a.b", "-x", "A", "con", "lpt1", "é", "a\n", "x" * 61]
)
def test_a_name_that_is_no_file_name_everywhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="cannot name a network"):
        save_profile(Profile(name), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_shipped_name_is_not_to_be_had(tmp_path: Path) -> None:
    for name in shipped_profiles():
        with pytest.raises(CatalogError, match="shipped"):
            save_profile(Profile(name), tmp_path)
    (tmp_path / "hybrid.json").write_text(Profile("hybrid", "False.").text())
    assert saved_profiles(tmp_path) == ()
    assert load_profile("hybrid", tmp_path).about != "False."


def test_what_is_typed_becomes_a_name_that_is_free(tmp_path: Path) -> None:
    check_profile_name(tidy_name(" Monday  MESS "))
    assert free_name("hybrid", tmp_path) == "my_hybrid"
    save_profile(Profile("my_hybrid"), tmp_path)
    assert free_name("hybrid", tmp_path) == "my_hybrid_2"
    assert free_name("x" * 60, tmp_path) == "my_network"


def test_a_damaged_file_is_named_and_harms_no_other(tmp_path: Path) -> None:
    save_profile(MINE, tmp_path)
    (tmp_path / "bad.json").write_text('{"name": "bad"')
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "Not A Name.json").write_text("{}")
    assert saved_profiles(tmp_path) == ("bad", "mine")
    with pytest.raises(CatalogError, match=r"bad\.json: it cannot be read as a profile"):
        load_profile("bad", tmp_path)
    assert load_profile("mine", tmp_path) == MINE
    remove_profile("bad", tmp_path)
    assert saved_profiles(tmp_path) == ("mine",)


def test_the_file_says_the_name(tmp_path: Path) -> None:
    save_profile(MINE, tmp_path).rename(tmp_path / "copied.json")
    assert load_profile("copied", tmp_path).name == "copied"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe\x00", "cannot be read"),
        (b"[" * 200_000, "cannot be read"),
        (b" " * (MOST_BYTES + 1), "more than"),
        (b'{"name": "x", "default": {"state": "ideal", "base_ms": NaN}}', "finite"),
        (b'{"name": "x", "default": {"state": "ideal", "base_ms": 1e999}}', "finite"),
        (b'{"name": "x", "default": {"state": ["ideal"]}}', "no network state"),
        (b'{"name": "x", "' + b"k" * 5000 + b'": 1}', "no key"),
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
        save_profile(MINE, tmp_path / "networks")
    assert saved_profiles(tmp_path / "networks") == ()
    (tmp_path / "mine.json").mkdir()
    with pytest.raises(StoreError, match="nothing of it was kept"):
        save_profile(MINE, tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine.json", "networks"]


def test_every_text_is_a_file_that_comes_back() -> None:
    for name in shipped_profiles():
        profile = load_profile(name)
        assert read_profile(profile.text().encode(), name) == profile
        assert json.loads(profile.text())["name"] == name
