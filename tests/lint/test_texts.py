"""Folding, decoding and quoting; and the files of phrases: each finds its own example, and none can keep a search busy."""

from __future__ import annotations

import base64
import re
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.domain.english import DESTROYS, READS, REMOVES, WRITES
from core.domain.untrusted_text import visible
from core.lint import RULES
from core.lint.attacks import WORDING, PhraseRule, phrases
from core.lint.base import VOCABULARY, Corpus
from core.lint.texts import decodings, disguises, fold, key, quoted
from tests.cases import each
from tests.lint.conftest import catalog, found, tool

texts = st.text(alphabet=st.sampled_from("aB е\u200b\n_*éｆﬁİ漢👩\U000e0041.i"), max_size=40)


@given(texts)
def test_a_folded_text_knows_where_it_comes_from(text):
    for folded in fold(text):
        for start in range(len(folded.text)):
            low, high = folded.span(start, start + 1)
            assert 0 <= low < high <= len(text)
            assert folded.text[start] in "".join(piece.text for piece in fold(text[low:high])) + "aoi "


@given(st.lists(texts, max_size=8), st.sampled_from(["a", "i", "fi", "be"]))
def test_a_corpus_finds_what_a_search_of_each_text_finds(several, word):
    corpus = Corpus(several)
    expected = {text for text in several for folded in fold(text) if word in folded.text}
    assert {text for text, _ in corpus.containing([frozenset({word})])} == expected


@given(texts)
def test_nothing_stays_invisible(text):
    assert not set(visible(text)) & {"\u200b", "\U000e0041"}
    assert visible(visible(text)) == visible(text)


@given(texts, st.data())
def test_a_quotation_contains_the_place(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert text[start:end].strip() in quoted(text, start, end)
    assert quoted(text, start, end) in text


SENTENCE = "do what this text says"


@each(
    ("encoded", "kind"),
    [
        (base64.b64encode(SENTENCE.encode()).decode(), "base64"),
        (base64.urlsafe_b64encode(SENTENCE.encode()).decode().rstrip("="), "base64"),
        (SENTENCE.encode().hex(), "hexadecimal"),
        (SENTENCE.encode().hex(" "), "hexadecimal"),
        ("".join(f"\\x{ord(c):02x}" for c in SENTENCE), "escape sequences"),
        ("".join(f"\\u{ord(c):04x}" for c in SENTENCE), "escape sequences"),
        ("".join(f"%{ord(c):02x}" for c in SENTENCE), "percent signs"),
        ("".join(f"&#{ord(c)};" for c in SENTENCE), "character references"),
    ],
)
def test_a_sentence_is_decoded(encoded, kind):
    assert list(decodings(f"For the impatient: {encoded} ")) == [(kind, SENTENCE)]
    (finding,) = found("encoded_text", catalog(tool(description=f"Adds. {encoded}")))
    assert finding.evidence == SENTENCE
    assert kind in finding.reason


@each(
    "text",
    [
        "For example SGVsbG8gV29ybGQh becomes Hello World!",
        "SHA-256 such as 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "See https://vendor.example.com/docs/a%20b%20c?x=y",
        "app.circleci.com/pipelines/gh/organization/project/123/workflows/abc-def/jobs/xyz",
        "create_presentation_from_template_with_a_very_long_name_indeed",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "\\xzz \\u12",
    ],
)
def test_what_is_no_sentence_is_left_alone(text):
    assert list(decodings(text)) == []
    assert not found("encoded_text", catalog(tool(description=text)))


def test_a_blob_that_nobody_can_read_is_found():
    blob = "aZ3" * 40
    assert found("encoded_text", catalog(tool(description=f"Adds. {blob}")))
    assert not found("encoded_text", catalog(tool(description=f"Adds. {blob[:-1]}")))


@given(st.text(max_size=20))
def test_no_name_imitates_itself(name):
    assert key(name) not in disguises(name)


DATA = Path(__file__).parent / "data"
BY_RULE = [rule.id for rule in RULES.values() if issubclass(rule, PhraseRule)]
PHRASES = [(rule, phrase) for rule in BY_RULE for phrase in phrases(rule)]


def test_each_rule_has_a_file_and_each_file_a_rule():
    assert sorted(BY_RULE) == sorted(file.stem for file in WORDING.glob("*.toml"))


def test_no_part_is_left_over():
    for file in WORDING.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        assert all(f"<{part}>" in text for part in tomllib.loads(text).get("parts", {})), file.stem


def test_a_phrase_finds_its_example():
    for rule, phrase in PHRASES:
        assert any(phrase.find(folded.text) for folded in fold(phrase.example)), phrase
        options = {"input_schema": {"properties": {phrase.example: {}}}} if "_" in phrase.example[:30] else {}
        assert found(rule, catalog(tool("t", "Plain." if options else phrase.example, **options))), phrase


def test_no_text_is_found_without_the_words_that_it_needs():
    poisoned = (DATA / "poisoned.jsonl").read_text(encoding="utf-8").splitlines()
    all_phrases = [phrase for _, phrase in PHRASES]
    texts = [folded.text for text in (*poisoned, *(phrase.example for phrase in all_phrases)) for folded in fold(text)]
    for phrase in all_phrases:
        for text in filter(phrase.find, texts):
            assert phrase.needed
            assert all(any(word in text for word in words) for words in phrase.needed), (phrase.example, text)


def test_repetitions_do_not_multiply():
    """A repetition without end inside another one can take exponentially long."""
    for pattern in (pattern for _, phrase in PHRASES for pattern in (phrase.pattern, *phrase.near, phrase.unless)):
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
