"""The files of phrases: each phrase finds its own example, and none can keep a search busy."""

from __future__ import annotations

import re
import tomllib
from re import _parser as parser

from core.domain.english import DESTROYS, READS, REMOVES, WRITES
from core.lint import RULES
from core.lint.base import VOCABULARY
from core.lint.injection import WORDING, PhraseRule, needed, phrases
from core.lint.texts import fold
from tests.cases import each
from tests.lint.conftest import catalog, found, tool

BY_RULE = [rule.id for rule in RULES.values() if issubclass(rule, PhraseRule)]
PHRASES = [(rule, number) for rule in BY_RULE for number in range(len(phrases(rule)))]


def test_each_rule_has_a_file_and_each_file_a_rule():
    assert sorted(BY_RULE) == sorted(file.stem for file in WORDING.glob("*.toml"))


def test_no_part_is_left_over():
    for file in WORDING.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        assert all(f"<{part}>" in text for part in tomllib.loads(text).get("parts", {})), file.stem


@each(("rule", "number"), PHRASES)
def test_a_phrase_finds_its_example(rule, number):
    one = phrases(rule)[number]
    assert any(one.find(folded.text) for folded in fold(one.example))
    example = tool("t", "Plain.", input_schema={"properties": {one.example: {}}}) if "_" in one.example[:30] else None
    assert found(rule, catalog(example or tool("t", one.example)))


@each(("rule", "number"), PHRASES)
def test_every_text_that_a_phrase_can_be_in_has_its_words(rule, number):
    one = phrases(rule)[number]
    sets = {pattern: needed(pattern) for pattern in (one.pattern, *one.near)}
    assert list(one.needed) == [words for of_pattern in sets.values() for words in of_pattern] != []
    for pattern, of_pattern in sets.items():
        for words in of_pattern:
            assert all(re.fullmatch(r"\S+", word) for word in words), "a gap between two words is not always one space"
            assert covered(parser.parse(pattern, re.DOTALL), words)


@each(("rule", "number"), PHRASES)
def test_repetitions_do_not_multiply(rule, number):
    """A repetition without end inside another one can take exponentially long."""
    one = phrases(rule)[number]
    for pattern in (one.pattern, *one.near, *([one.unless] if one.unless else [])):
        assert not nested(parser.parse(pattern, re.DOTALL), inside=False)


def test_the_vocabulary_is_words():
    assert all(re.fullmatch(r"[a-z0-9]+", word) for words in VOCABULARY.values() for word in words)
    assert not DESTROYS & REMOVES
    assert not WRITES & READS


def covered(parsed, words, before: frozenset[str] = frozenset({""})) -> bool:
    """Whether every match of a pattern, after one of these texts, has one of the words in it."""
    run = set(before)  # every text that can stand here without a gap
    for code, value in parsed:
        name = str(code)
        if name in {"AT", "ASSERT", "ASSERT_NOT"}:
            continue
        choices = finite([(code, value)])
        if choices is not None and len(run) * len(choices) < 5000:
            run = {start + end for start in run for end in choices}
            continue
        inner = value[1] if name == "BRANCH" else [value[3]] if name == "SUBPATTERN" else []
        if name in {"MAX_REPEAT", "MIN_REPEAT"} and value[0] > 0:
            inner = [value[2]]
        if has_word(run, words) or (inner and all(covered(one, words, frozenset(run)) for one in inner)):
            return True
        run = {""}
    return has_word(run, words)


def has_word(texts: set[str], words) -> bool:
    return all(any(word in text for word in words) for text in texts)


def finite(parsed) -> set[str] | None:
    """All texts that a pattern matches, None where they are too many to list."""
    texts = {""}
    for code, value in parsed:
        name = str(code)
        if name == "LITERAL":
            part: set[str] | None = {chr(value)}
        elif name == "IN" and all(str(kind) == "LITERAL" for kind, _ in value):
            part = {chr(letter) for _, letter in value}
        elif name == "SUBPATTERN":
            part = finite(value[3])
        elif name == "BRANCH":
            parts = [finite(choice) for choice in value[1]]
            part = None if None in parts else set().union(*parts)
        elif name == "MAX_REPEAT" and value[:2] == (0, 1):
            once = finite(value[2])
            part = None if once is None else once | {""}
        elif name in {"AT", "ASSERT", "ASSERT_NOT"}:
            part = {""}
        else:
            part = None
        if part is None or len(texts) * len(part) > 500:
            return None
        texts = {start + end for start in texts for end in part}
    return texts


def nested(parsed, *, inside: bool) -> bool:
    """Whether a repetition without end stands inside another one."""
    for code, value in parsed:
        name = str(code)
        within = inside
        inner = {"SUBPATTERN": [3], "ASSERT": [1], "ASSERT_NOT": [1], "MAX_REPEAT": [2], "MIN_REPEAT": [2]}.get(
            name, []
        )
        parts = value[1] if name == "BRANCH" else [value[place] for place in inner]
        if name.endswith("REPEAT") and value[1] is parser.MAXREPEAT:
            if inside:
                return True
            within = True
        if any(nested(part, inside=within) for part in parts):
            return True
    return False
