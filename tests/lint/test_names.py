"""Rules on names: what says nothing, what collides, what imitates, and what they leave."""

from __future__ import annotations

import pytest

from core.lint.texts import lookalike
from tests.cases import each
from tests.lint.conftest import catalog, found, tool

EMPTY = "run do_it tool1 f x2 executeTool process Tool 3f2a9c1be4d7 f81d4fae-7dec-11d0-a765-00a0c91e6bf6 42 __"
SPEAKING = "ls hget start_process run_command search 查询天气 поиск feedback decade get x_ray"


def test_a_name_that_says_nothing():
    assert [name for name in f"{EMPTY} {SPEAKING}".split() if found("empty_name", catalog(tool(name)))] == EMPTY.split()


def test_one_name_on_several_servers():
    seen = catalog(
        *(tool("Get-Page", server=f"s{n}") for n in range(9)), tool("getPage", server="t"), tool("put", server="t")
    )
    (finding,) = found("shared_name", seen)
    assert (finding.server, finding.tool, finding.other) == ("s0", "Get-Page", "s1::Get-Page")
    assert finding.reason == "10 servers have a tool of this name: s0, s1, s2, s3, s4, s5 and 4 more."
    (pair,) = found("shared_name", catalog(tool("put"), tool("put", server="t")))
    assert pair.other == "t::put"


def test_one_name_twice_in_a_server():
    (finding,) = found("name_twice", catalog(tool("get_page"), tool("getPage"), tool("get_pages")))
    assert (finding.tool, finding.other) == ("getPage", "units::get_page")
    assert not found("name_twice", catalog(tool("get_page"), tool("getPage", server="other")))


def test_names_without_letters_do_not_collide():
    assert not found("name_twice", catalog(tool("__"), tool("--")))


IMITATIONS = {
    "rеad_file": "read_file",
    "read_fi1e": "read_file",
    "1ist": "list",
    "rnove": "move",
    "ema1l": "email",
    "g0": "go",
}


def test_a_name_that_imitates_another():
    for name, real in IMITATIONS.items():
        (finding,) = found("lookalike_name", catalog(tool(real, server="a"), tool(name, server="b")))
        assert (finding.server, finding.tool, finding.other) == ("b", name, f"a::{real}")


@pytest.mark.parametrize("name", ["rеad", "sеarch"])
def test_a_name_of_two_scripts(name):
    (finding,) = found("lookalike_name", catalog(tool(name)))
    assert "U+0435" in finding.reason


OTHERS = {"поиск": "search", "step_1": "step_l", "v10": "vio", "get_modern": "get_old", "Δx": "x", "café": "cafe"}


def test_names_that_imitate_nothing():
    for name, other in OTHERS.items():
        assert not found("lookalike_name", catalog(tool(name, server="a"), tool(other, server="b")))


@each(
    ("one", "other", "near"),
    [
        ("github", "githuub", True),
        ("github", "gthub", True),
        ("github", "gitbub", True),
        ("GitHub", "git-hub", True),
        ("search-1", "search-2", False),
        ("time", "lime", False),
        ("github", "gitlab", False),
        ("brave-search", "brave-search-legacy", False),
    ],
)
def test_server_names_that_nearly_agree(one, other, near):
    assert bool(found("similar_servers", catalog(tool(server=one), tool(server=other)))) is near


def test_a_letter_that_is_drawn_like_a_latin_one():
    drawn = {"е": "e", "Е": "e", "І": "i", "к": "k", "К": "k", "м": "m", "т": "t", "ο": "o", "Ν": "n", "ս": "u"}
    assert {letter: lookalike(letter) for letter in drawn} == drawn
    assert [letter for letter in "aéßжΔμ漢اו०1 " if lookalike(letter)] == []
