"""Names count as far as they agree with the description."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog
from core.domain.errors import ParameterError
from core.relevance.catalog_index import SERVER_WEIGHTS, TOOL_WEIGHTS, CatalogIndex, ViewLayer, name_trust
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import SERVER_VIEWS, TOOL_VIEWS
from tests.cases import each
from tests.relevance.conftest import catalog
from tests.relevance.toy_encoders import WordEncoder

TEXT = "does thing 2 about topic path"


def weight_sets(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size).filter(lambda w: sum(w) > 0.01)


def build(source: Catalog) -> tuple[CatalogIndex, CachedEncoder]:
    encoder = CachedEncoder(EncoderSource.of(WordEncoder()), MemoryVectorStore())
    return CatalogIndex(source, encoder), encoder


TOY, TOY_ENCODER = build(catalog())


def by_hand(layer: str, query: np.ndarray, text: str, weights: dict[str, float]) -> np.ndarray:
    """The mixture from the texts themselves: (T,) or (S,)."""
    total = sum(weights.values())
    views, items, index = (
        (TOOL_VIEWS, TOY.catalog.tools, TOY.tools)
        if layer == "tools"
        else (SERVER_VIEWS, TOY.catalog.servers, TOY.servers)
    )
    dense = np.zeros(len(items))
    for name, view in views.items():
        dense += weights[name] / total * (WordEncoder().encode([view(item) for item in items]) @ query)
    return np.maximum(0, dense) + weights["lexical"] / total * index.lexical.coverage(text)


@settings(max_examples=30)
@given(
    weight_sets(len(TOOL_WEIGHTS)),
    weight_sets(len(SERVER_WEIGHTS)),
    st.floats(0, 1),
    st.sampled_from([TEXT, "", "nothing of this"]),
)
def test_similarities_are_the_declared_mixture(tool: list[float], server: list[float], hint: float, text: str) -> None:
    tool_weights = dict(zip(TOOL_WEIGHTS, tool, strict=True))
    server_weights = dict(zip(SERVER_WEIGHTS, server, strict=True))
    query, hint_vector = TOY_ENCODER.encode_query(text), TOY_ENCODER.encode_query("topic 2")
    tools = TOY.tool_similarity(query, text, tool_weights)
    np.testing.assert_allclose(tools, np.clip(by_hand("tools", query, text, tool_weights), 0, 1), atol=1e-5)

    mixture = TOY.server_similarity(
        query, text, server_weights, tools, hint=hint_vector, hint_text="topic 2", hint_weight=hint
    )
    mixed = (1 - hint) * query + hint * hint_vector
    no_words = server_weights | {"lexical": 0.0}
    total = sum(server_weights.values())
    dense_share = sum(no_words.values()) / total
    expected = by_hand("servers", mixed, "", no_words) * dense_share if dense_share > 0 else np.zeros(4)
    coverage = TOY.servers.lexical.coverage
    expected += server_weights["lexical"] / total * ((1 - hint) * coverage(text) + hint * coverage("topic 2"))
    best = np.array([tools[:3].max(), 0, tools[3:].max(), 0])
    expected += server_weights["best_tool"] / total * best
    np.testing.assert_allclose(mixture, np.clip(expected, 0, 1), atol=1e-5)
    assert ((mixture >= 0) & (mixture <= 1)).all()


def test_one_dense_view_alone_is_the_papers_equation_1() -> None:
    query = TOY_ENCODER.encode_query(TEXT)
    vectors = WordEncoder().encode([TOOL_VIEWS["full"](tool) for tool in TOY.catalog.tools])
    expected = np.maximum(0, vectors @ query)
    np.testing.assert_allclose(TOY.tool_similarity(query, TEXT, {"full": 1.0}), expected, atol=1e-6)
    assert not TOY.tool_similarity(np.zeros(48, dtype=np.float32), "", {"full": 1.0}).any()
    assert not TOY.tool_similarity(-vectors[0] * 3, TEXT, {"full": 1.0})[0]


@settings(max_examples=10)
@given(st.lists(st.integers(0, 4), max_size=6))
def test_the_best_tool_of_each_server_wherever_the_empty_ones_stand(sizes: list[int]) -> None:
    index, _ = build(catalog(tuple(sizes)))
    similarity = np.random.default_rng(0).random(sum(sizes)).astype(np.float32)
    ends = np.cumsum(sizes).tolist()
    expected = [similarity[end - size : end].max(initial=0) for size, end in zip(sizes, ends, strict=True)]
    np.testing.assert_array_equal(index.best_tool(similarity), np.array(expected, dtype=np.float32))


def test_without_a_hint_its_weight_is_nothing() -> None:
    query = TOY_ENCODER.encode_query(TEXT)
    weights = {"profile": 1.0, "summary": 1.0, "lexical": 1.0}
    without_hint = TOY.server_similarity(query, TEXT, weights, np.zeros(5, dtype=np.float32))
    np.testing.assert_array_equal(
        TOY.server_similarity(query, TEXT, weights, np.zeros(5, dtype=np.float32), hint_weight=0.7), without_hint
    )
    same = TOY.server_similarity(
        query, TEXT, weights, np.zeros(5, dtype=np.float32), hint=query, hint_text=TEXT, hint_weight=0.7
    )
    np.testing.assert_allclose(same, without_hint, atol=1e-6)


@each("size", [(), (0,), (1,), (0, 0)])
def test_empty_catalogs_and_one_tool(size: tuple[int, ...]) -> None:
    index, encoder = build(catalog(size))
    query = encoder.encode_query(TEXT)
    tools = index.tool_similarity(query, TEXT, {"names": 1.0, "full": 1.0, "lexical": 1.0})
    servers = index.server_similarity(query, TEXT, dict.fromkeys(SERVER_WEIGHTS, 1.0), tools)
    assert (tools.shape, servers.shape) == ((sum(size),), (len(size),))
    assert np.isfinite(servers).all()


def test_a_view_is_embedded_once_it_is_read_and_of_a_changed_catalog_only_what_changed(
    encoder: CachedEncoder, words: WordEncoder, toy: Catalog
) -> None:
    query = encoder.encode_query("sings song")
    words.seen.clear()
    first = CatalogIndex(toy, encoder)
    assert words.seen == []
    before = first.tool_similarity(query, "", {"full": 1})
    assert sorted(words.seen) == sorted(TOOL_VIEWS["full"](tool) for tool in toy.tools)
    _ = first.tools.views["description"]
    words.seen.clear()
    changed = dataclasses.replace(toy.servers[0].tools[1], description="sings a song")
    tools = (toy.servers[0].tools[0], changed, toy.servers[0].tools[2])
    second = CatalogIndex(
        dataclasses.replace(toy, servers=(dataclasses.replace(toy.servers[0], tools=tools), *toy.servers[1:])), encoder
    )
    assert second.tool_similarity(query, "", {"full": 1})[1] > before[1]
    _ = second.tools.views["description"]
    assert words.seen == ["server 0 tool1: sings a song", "sings a song"]  # its full text and its description


def test_numbers_that_are_none_are_refused() -> None:
    query = np.full(48, np.nan, dtype=np.float32)
    tools = np.zeros(5, dtype=np.float32)
    good = np.zeros(48, dtype=np.float32)
    with pytest.raises(ParameterError, match="not finite"):
        TOY.tool_similarity(query, "", {"full": 1.0})
    with pytest.raises(ParameterError, match="not finite"):
        TOY.server_similarity(good, "", {"profile": 1.0}, tools, hint=query, hint_weight=0.5)
    with pytest.raises(ParameterError, match="hint_weight"):
        TOY.server_similarity(good, "", {"profile": 1.0}, tools, hint_weight=1.5)
    with pytest.raises(ParameterError, match="There is no view 'best_tool'"):
        TOY.tool_similarity(good, "", {"best_tool": 1.0})
    with pytest.raises(ParameterError, match="All weights are 0"):
        TOY.tool_similarity(good, "", {"names": 0.0})
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError):
            TOY.tool_similarity(good, "", {"names": weight, "full": 3.0})


X, Y, Z = np.eye(3, dtype=np.float32)
ONLY_NAMES = {"names": 1.0, "description": 0.0, "lexical": 0.0}


def layer(names: np.ndarray, descriptions: np.ndarray) -> ViewLayer:
    return ViewLayer(
        {"names": names, "description": descriptions},
        lambda: LexicalIndex(["a"] * len(names)),
        lambda: name_trust(names, descriptions),
    )


def test_a_brand_name_is_replaced_by_its_description_and_a_telling_one_is_not():
    telling, brand = X, Y
    tools_layer = layer(np.stack([telling, brand]), np.stack([X, X]))
    assert tools_layer.similarity(X, {}, ONLY_NAMES, doubt_names=True).tolist() == [1.0, 1.0]
    assert tools_layer.similarity(X, {}, ONLY_NAMES, doubt_names=False).tolist() == [1.0, 0.0]
    assert tools_layer.similarity(Y, {}, ONLY_NAMES, doubt_names=True).tolist() == [0.0, 0.0]


def test_half_trust_mixes_the_two_views():
    half = np.array([0.25, np.sqrt(1 - 0.25**2), 0.0], dtype=np.float32)
    tools_layer = layer(half[None], X[None])
    np.testing.assert_allclose(tools_layer.similarity(Z, {}, ONLY_NAMES, doubt_names=True), [0.0], atol=1e-6)
    expected = 0.5 * 0.25 + 0.5 * 1.0
    np.testing.assert_allclose(tools_layer.similarity(X, {}, ONLY_NAMES, doubt_names=True), [expected], atol=1e-5)
