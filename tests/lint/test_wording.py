"""The files of phrases: each phrase finds its own example, and none can keep a search busy."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from core.domain.english import DESTROYS, READS, REMOVES, WRITES
from core.lint import RULES
from core.lint.attacks import WORDING, PhraseRule, phrases
from core.lint.base import VOCABULARY
from core.lint.texts import fold
from tests.lint.conftest import catalog, found, tool

DATA = Path(__file__).parent / "data"
BY_RULE = [rule.id for rule in RULES.values() if issubclass(rule, PhraseRule)]
PHRASES = [(rule, one) for rule in BY_RULE for one in phrases(rule)]


def test_each_rule_has_a_file_and_each_file_a_rule():
    assert sorted(BY_RULE) == sorted(file.stem for file in WORDING.glob("*.toml"))


def test_no_part_is_left_over():
    for file in WORDING.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        assert all(f"<{part}>" in text for part in tomllib.loads(text).get("parts", {})), file.stem


def test_a_phrase_finds_its_example():
    for rule, one in PHRASES:
        assert any(one.find(folded.text) for folded in fold(one.example)), one
        named = {"input_schema": {"properties": {one.example: {}}}} if "_" in one.example[:30] else {}
        assert found(rule, catalog(tool("t", "Plain." if named else one.example, **named))), one


def test_no_text_is_found_without_the_words_that_it_needs():
    poisoned = (DATA / "poisoned.jsonl").read_text(encoding="utf-8").splitlines()
    every = [one for _, one in PHRASES]
    texts = [folded.text for text in (*poisoned, *(one.example for one in every)) for folded in fold(text)]
    for one in every:
        for text in filter(one.find, texts):
            assert one.needed
            assert all(any(word in text for word in words) for words in one.needed), (one.example, text)


def test_repetitions_do_not_multiply():
    """A repetition without end inside another one can take exponentially long."""
    for pattern in (pattern for _, one in PHRASES for pattern in (one.pattern, *one.near, one.unless)):
        flat = re.sub(r"\\.|\[[^]]*\]", "x", pattern)
        while group := re.search(r"\((?:\?(?:[:=!]|<[=!]))?([^()]*)\)([*+]?)", flat):
            endless = "x*" if re.search("[*+]", group[1]) else "x"
            assert not (group[2] and endless == "x*"), pattern
            flat = f"{flat[: group.start()]}{endless}{group[2]}{flat[group.end() :]}"
        assert not {"(", ")"} & set(flat)


def test_the_vocabulary_is_words():
    assert all(re.fullmatch(r"[a-z0-9]+", word) for words in VOCABULARY.values() for word in words)
    assert not DESTROYS & REMOVES
    assert not WRITES & READS
