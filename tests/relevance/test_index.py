"""The signals of a query over a small catalog."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.relevance_index import SIGNALS, RelevanceIndex
from tests.relevance.toy_encoders import WordEncoder

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
        found = index.signals(text, encoder.encode_query(text))
        assert set(found) == set(SIGNALS)
        assert all(x.shape == (3,) and np.isfinite(x).all() for x in found.values())


def test_tools_are_told_apart_by_meaning_and_words_and_share_their_server(
    index: RelevanceIndex, encoder: CachedEncoder
) -> None:
    found = index.signals("find hotel room", encoder.encode_query("find hotel room"))
    assert found["dense"].argmax() == found["words"].argmax() == 0
    assert found["profile"][0] == found["profile"][1] != found["profile"][2]
    assert index.server_of.tolist() == [1, 1, 2]


def test_everyday_words_find_what_tools_call_it(index: RelevanceIndex, encoder: CachedEncoder) -> None:
    text = "somewhere to sleep"
    found = index.signals(text, encoder.encode_query(text))
    assert not found["words"].any()
    assert found["everyday"].argmax() == 0


def test_a_moved_vector_moves_the_dense_signal_alone(index: RelevanceIndex, encoder: CachedEncoder) -> None:
    vector, other = encoder.encode_query("find hotel room"), encoder.encode_query("send letter")
    plain, moved = index.signals("x", vector), index.signals("x", vector, other)
    assert moved["dense"].argmax() == 2 != plain["dense"].argmax()
    assert all((moved[name] == plain[name]).all() for name in SIGNALS if name != "dense")
