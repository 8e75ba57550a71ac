"""The words of a query against those of tools, and the signals of a query over a small catalog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.lexical import K1, B, LexicalIndex, terms
from core.relevance.relevance_index import SIGNALS, RelevanceIndex
from core.relevance.text_views import (
    FULL_CHARACTERS,
    SERVER_VIEWS,
    SUMMARY_CHARACTERS,
    TOOL_VIEWS,
    profile,
    summary,
)
from tests.cases import each
from tests.relevance.toy_encoders import WordEncoder

vocabulary = ["alpha", "beta", "gamma", "delta", "eps", "the", "搜索关键", "camelCase", "snake_case"]
texts = st.lists(st.lists(st.sampled_from(vocabulary), max_size=12).map(" ".join), max_size=12)
query = st.lists(st.sampled_from([*vocabulary, "unknown", "другое"]), max_size=6).map(" ".join)


def bm25(corpus: list[str], question: str) -> tuple[np.ndarray, np.ndarray]:
    """The two formulas, written down term by term."""
    documents = [terms(text) for text in corpus]
    mean = sum(map(len, documents)) / max(1, len(documents))
    score, bound = np.zeros(len(corpus)), 0.0
    for term in set(terms(question)):
        frequency = sum(term in document for document in documents)
        idf = np.log(1 + (len(corpus) - frequency + 0.5) / (frequency + 0.5))
        bound += idf * (K1 + 1)
        for row, document in enumerate(documents):
            tf = document.count(term)
            if tf:
                score[row] += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(document) / mean))
    return score, score / bound if bound else score


@settings(max_examples=40)
@given(texts, query)
def test_scores_and_coverage_are_the_formulas(corpus: list[str], wanted: str) -> None:
    index = LexicalIndex(corpus)
    score, coverage = bm25(corpus, wanted)
    np.testing.assert_allclose(index.scores(wanted), score, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(index.coverage(wanted), coverage, rtol=1e-4, atol=1e-6)


@settings(max_examples=25)
@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=30))
def test_coverage_is_a_share_for_any_text(corpus: list[str], wanted: str) -> None:
    coverage = LexicalIndex(corpus).coverage(wanted)
    assert coverage.shape == (len(corpus),)
    assert coverage.dtype == np.float32
    assert ((coverage >= 0) & (coverage <= 1)).all()


def test_coverage_is_absolute_an_unknown_term_lowers_it() -> None:
    index = LexicalIndex(["read a file", "send an email", "list folders"])
    known_terms = index.coverage("read file")[0]
    assert index.coverage("read file quantum")[0] < known_terms
    assert index.coverage("read quantum")[0] < index.coverage("read")[0]
    assert index.coverage("read read read")[0] == index.coverage("read")[0]


@each("corpus", [[], [""], ["", "  "], ["the of", "a"], ["one"]])
@each("wanted", ["", "the", "!?", "word"])
def test_nothing_to_match_gives_zeros(corpus: list[str], wanted: str) -> None:
    index = LexicalIndex(corpus)
    assert index.scores(wanted).tolist() == index.coverage(wanted).tolist() == [0.0] * len(corpus)


@each(
    ("text", "expected"),
    [
        ("getHTTPResponse", ["gethttpresponse", "get", "http", "response"]),
        ("snake_case-and.dots", ["snake", "case", "dots"]),
        ("ＡＢＣ ｶﾀｶﾅ", ["abc", "カタ", "タカ", "カナ"]),
        ("漢", ["漢"]),
        ("Straße ÄPFEL", ["strasse", "äpfel"]),
        ("파일 읽기", ["파일", "읽기"]),
        ("v2 top10 GPT4", ["v2", "top10", "gpt4"]),
        ("mix中文mix", ["mix", "中文", "mix"]),
        ("running runs", ["running", "runs"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30)
@given(st.text(), st.text(), st.text(), json_values, st.dictionaries(st.text(max_size=9), json_values, max_size=5))
def test_every_view_of_any_tool_is_a_bounded_text(server: str, name: str, text: str, odd: Any, properties: Any) -> None:
    for schema in (odd, {"properties": odd}, {"properties": properties}):
        tool = Tool(server, name, text, input_schema=schema)
        for view in TOOL_VIEWS.values():
            assert len(view(tool)) <= max(FULL_CHARACTERS, len(server) + len(name) + 1)
            assert view(tool) == view(tool)
        for view in SERVER_VIEWS.values():
            assert len(view(Server(server, text, tools=(tool,)))) <= SUMMARY_CHARACTERS


def test_long_texts_are_cut() -> None:
    tools = tuple(Tool("s", f"name_{n}", "d" * 5000) for n in range(500))
    assert len(TOOL_VIEWS["full"](tools[0])) == FULL_CHARACTERS
    assert len(summary(Server("s", tools=tools))) == SUMMARY_CHARACTERS
    assert len(profile(Server("s", tools=tools))) == SUMMARY_CHARACTERS


CATALOG = Catalog(
    "toy",
    (
        Server("bare", "Nothing yet"),
        Server("inn", "Beds for the night", tools=(Tool("inn", "find_stays", "Finds a hotel room"), Tool("inn", "cancel", "Cancels"))),
        Server("mail", "Post", tools=(Tool("mail", "send", "Sends a letter"),)),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def encoder() -> CachedEncoder:
    return CachedEncoder(EncoderSource.of(WordEncoder()), MemoryVectorStore())


@pytest.fixture(scope="module")
def index(encoder: CachedEncoder) -> RelevanceIndex:
    return RelevanceIndex.build(CATALOG, encoder)


def test_every_signal_has_a_number_for_every_tool(index: RelevanceIndex, encoder: CachedEncoder) -> None:
    for text in ("find a hotel room", "", "zzz", "酒店"):
        signals = index.signals(text, encoder.encode_query(text))
        assert set(signals) == set(SIGNALS)
        assert all(x.shape == (3,) and np.isfinite(x).all() for x in signals.values())


def test_tools_are_told_apart_by_meaning_and_words_and_share_their_server(
    index: RelevanceIndex, encoder: CachedEncoder
) -> None:
    signals = index.signals("find hotel room", encoder.encode_query("find hotel room"))
    assert signals["dense"].argmax() == signals["words"].argmax() == 0
    assert signals["profile"][0] == signals["profile"][1] != signals["profile"][2]
    assert index.server_of.tolist() == [1, 1, 2]


def test_everyday_words_find_what_tools_call_it(index: RelevanceIndex, encoder: CachedEncoder) -> None:
    text = "somewhere to sleep"
    signals = index.signals(text, encoder.encode_query(text))
    assert not signals["words"].any()
    assert signals["everyday"].argmax() == 0


def test_a_moved_vector_moves_the_dense_signal_alone(index: RelevanceIndex, encoder: CachedEncoder) -> None:
    vector, sent = encoder.encode_query("find hotel room"), encoder.encode_query("send letter")
    unmoved, moved = index.signals("x", vector), index.signals("x", vector, sent)
    assert moved["dense"].argmax() == 2 != unmoved["dense"].argmax()
    assert all((moved[name] == unmoved[name]).all() for name in SIGNALS if name != "dense")
