"""Copies of servers: other names, words and numbers; tools, schemas and parameters as they were."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Connection, Server, Tool
from core.domain.errors import CatalogError
from core.importers.shipped_catalogs import sample
from core.virtual.multiply import (
    MOST_COPIES,
    MOST_WORDINGS,
    SYNONYMS,
    VERB_SYNONYMS,
    VERBS,
    Recipe,
    copies,
    multiplied,
    wordings,
)
from tests.cases import each

SAMPLE = sample()
SERVERS = each("server", SAMPLE.servers[::8], ids=[server.name for server in SAMPLE.servers[::8]])


@SERVERS
def test_every_wording_is_another_one(server: Server) -> None:
    clones = copies(server, Recipe(MOST_COPIES, seed=3))
    for row, tool in enumerate(server.tools):
        descriptions = [tool.description, *(copy.tools[row].description for copy in clones)]
        assert len(set(descriptions)) == (len(descriptions) if tool.description.strip() else 1), tool.id
    assert len({server.description, *(copy.description for copy in clones)}) == MOST_COPIES + 1
    assert len({server.name, *(copy.name for copy in clones)}) == MOST_COPIES + 1


@SERVERS
def test_what_a_caller_needs_stays(server: Server) -> None:
    for copy in copies(server, Recipe(3, seed=1)):
        assert (copy.virtual, copy.connection, copy.category) == (True, None, server.category)
        for old, new in zip(server.tools, copy.tools, strict=True):
            assert (new.server, new.name, new.title) == (copy.name, old.name, old.title)
            assert (new.input_schema, new.output_schema, new.hints) == (old.input_schema, old.output_schema, old.hints)
            assert set(re.findall(r"\d+", new.description)) == set(re.findall(r"\d+", old.description))


def test_the_same_recipe_makes_the_same_copies() -> None:
    server = SAMPLE.servers[0]
    assert copies(server, Recipe(4, seed=5)) == copies(server, Recipe(4, seed=5))
    assert copies(server, Recipe(4, seed=5)) != copies(server, Recipe(4, seed=6))
    assert copies(server, Recipe(2, seed=5)) == copies(server, Recipe(4, seed=5))[:2]


@given(seed=st.integers(0, 999), spread=st.floats(1, 20))
@settings(max_examples=20)
def test_numbers_stay_within_their_spread(seed: int, spread: float) -> None:
    server = Server("a", conn_s=0.5, call_s=2.0, ask_usd=0.01, success=0.9, post_accept_failure=0.1, success_variance=0.01,
        tools=(Tool("a", "t", latency_s=4.0, price_usd=0.02, success=0.8), Tool("a", "u")))  # fmt: skip
    (copy,) = copies(server, Recipe(1, seed, spread))
    tool, silent = copy.tools

    def within(new: float | None, old: float) -> bool:
        return new is not None and old / spread * 0.999 <= new <= old * spread * 1.001

    def likely(new: float | None, odds: float) -> bool:
        low, high = (ratio / (1 + ratio) for ratio in (odds / spread, odds * spread))
        return new is not None and low - 6e-5 <= new <= high + 6e-5  # rounded to four digits

    assert within(copy.conn_s, 0.5)
    assert within(copy.call_s, 2.0)
    assert within(copy.ask_usd, 0.01)
    assert within(tool.price_usd, 0.02)
    assert within(tool.latency_s, 4.0)
    assert likely(copy.success, 9.0)
    assert likely(tool.success, 4.0)
    assert 0 < (copy.post_accept_failure or 0) < 1
    assert (silent.latency_s, silent.price_usd, silent.success) == (None, None, None)
    assert tool.latency_s == pytest.approx(2 * (copy.call_s or 0), rel=1e-3)  # a fast copy is fast in everything
    if spread == 1:
        assert (copy.call_s, copy.success, tool.price_usd) == (2.0, 0.9, 0.02)


WORLD = Catalog(
    "world",
    (
        Server(
            "web",
            "Finds pages.",
            tools=(Tool("web", "find", "Find a page."),),
            connection=Connection("http", url="http://x"),
        ),
        Server("web-1"),
        Server("mail"),
    ),
)


@pytest.mark.parametrize(
    ("keep", "names"),
    [(True, ["web", "web-2", "web-3", "web-1", "mail"]), (False, ["web-2", "web-3", "web-1", "mail"])],
)
def test_copies_follow_or_replace_the_original_and_take_no_name(keep: bool, names: list[str]) -> None:
    world = multiplied(WORLD, "web", Recipe(2, keep_original=keep), name="more")
    assert (world.name, [server.name for server in world.servers]) == ("more", names)
    assert [server for server in world.servers if server in WORLD.servers] == list(WORLD.servers[0 if keep else 1 :])


@each("copies_wanted", [0, -1, MOST_COPIES + 1])
def test_too_few_and_too_many(copies_wanted: int) -> None:
    with pytest.raises(CatalogError, match="give a number from 1 to 50"):
        Recipe(copies_wanted)


@each("spread", [0.5, 0.0, float("nan"), 101])
def test_a_spread_that_is_none(spread: float) -> None:
    with pytest.raises(CatalogError, match="is not a factor; give one from 1 to 100"):
        Recipe(1, spread=spread)


def test_a_strangers_schema_does_no_harm() -> None:
    tools = tuple(
        replace(Tool("a", f"t{n}", "Find it."), input_schema=schema)
        for n, schema in enumerate([{"properties": 7}, {"enum": 3}, {"properties": {"a": [1]}}, {"enum": [None, {}]}])
    )
    assert len(copies(Server("a", tools=tools), Recipe(2))) == 2


class TestWordings:
    """The rules of rewording."""

    @given(st.text(max_size=200), st.integers(0, 99))
    @settings(max_examples=8)
    def test_any_text_has_enough_and_none_twice(self, text: str, seed: int) -> None:
        variants = list(wordings(text, random.Random(seed)))
        if text.strip():
            assert len({*variants, text}) == len(variants) + 1 > MOST_WORDINGS >= MOST_COPIES
        else:
            assert variants == []

    @each(
        ("text", "kept", "words"),
        [
            ("Find files by location.", ["location"], "location"),
            ('Sorts by `latest` or "picture".', [], "`latest`"),
            ('Sorts by `latest` or "picture".', [], '"picture"'),
            ("Looks up web-pictures and pictures_all.", [], "web-pictures and pictures_all"),
        ],
    )
    def test_names_and_quotations_stay(self, text: str, kept: list[str], words: str) -> None:
        assert all(words in variant for variant in wordings(text, random.Random(1), kept=kept))

    def test_an_article_follows_its_word(self) -> None:
        text = " ".join(wordings("Draws a picture of an exact town and an image.", random.Random(1)))
        assert "an image of" in text
        assert "a precise town" in text
        assert not re.search(r"\ba (?:image|exact)|\ban (?:picture|precise)", text)

    def test_the_first_verb_is_certain_or_left_alone(self) -> None:
        assert any(variant.startswith("Use this to ") for variant in wordings("Search the web.", random.Random(1)))
        assert any(variant.startswith("This tool looks through") or variant.startswith("A tool that scans") or "searches the web" in variant
            for variant in wordings("Searches the web.", random.Random(1)))  # fmt: skip
        assert not any("this to" in variant for variant in wordings("Search engine for everything.", random.Random(1)))

    def test_what_a_second_sentence_returns(self) -> None:
        text = " ".join(wordings("Find a page. Returns its title; returns the text.", random.Random(1)))
        assert re.search(r"\. (?:Gives back|Answers with|Hands back|Comes back with) its title", text)

    def test_the_tables_are_sound(self) -> None:
        for word, synonyms in {**SYNONYMS, **VERB_SYNONYMS}.items():
            assert word not in synonyms
            assert all(synonym == synonym.strip() and synonym for synonym in (word, *synonyms))
        assert VERB_SYNONYMS.keys() <= VERBS
