"""Names count as far as they agree with the description."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import ParameterError
from core.relevance.catalog_index import BEST_TOOL, LEXICAL, CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.text_views import SERVER_VIEWS, TOOL_VIEWS
from tests.cases import each
from tests.relevance.conftest import catalog
from tests.relevance.toy_encoders import WordEncoder

TEXT, HINT = "does thing 2 about topic path", "topic 2"
TOOL_WEIGHTS, SERVER_WEIGHTS = (*TOOL_VIEWS, LEXICAL), (*SERVER_VIEWS, LEXICAL, BEST_TOOL)


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
    query, hint_vector = TOY_ENCODER.encode_query(text), TOY_ENCODER.encode_query(HINT)
    signals = TOY.signals(text, HINT)
    tools = signals.tools(tool_weights)
    np.testing.assert_allclose(tools, np.clip(by_hand("tools", query, text, tool_weights), 0, 1), atol=1e-5)

    mixture = signals.servers(server_weights, tools, hint)
    mixed = (1 - hint) * query + hint * hint_vector
    no_words = server_weights | {"lexical": 0.0}
    total = sum(server_weights.values())
    dense_share = sum(no_words.values()) / total
    expected = by_hand("servers", mixed, "", no_words) * dense_share if dense_share > 0 else np.zeros(4)
    coverage = TOY.servers.lexical.coverage
    expected += server_weights["lexical"] / total * ((1 - hint) * coverage(text) + hint * coverage(HINT))
    best = np.array([tools[:3].max(), 0, tools[3:].max(), 0])
    expected += server_weights["best_tool"] / total * best
    np.testing.assert_allclose(mixture, np.clip(expected, 0, 1), atol=1e-5)
    assert ((mixture >= 0) & (mixture <= 1)).all()


def test_one_dense_view_alone_is_the_papers_equation_1() -> None:
    query = TOY_ENCODER.encode_query(TEXT)
    vectors = WordEncoder().encode([TOOL_VIEWS["full"](tool) for tool in TOY.catalog.tools])
    expected = np.maximum(0, vectors @ query)
    np.testing.assert_allclose(TOY.signals(TEXT).tools({"full": 1.0}), expected, atol=1e-6)
    assert not TOY.signals("").tools({"full": 1.0}).any()


@settings(max_examples=10)
@given(st.lists(st.integers(0, 4), max_size=6))
def test_the_best_tool_of_each_server_wherever_the_empty_ones_stand(sizes: list[int]) -> None:
    index, _ = build(catalog(tuple(sizes)))
    similarity = np.random.default_rng(0).random(sum(sizes)).astype(np.float32)
    ends = np.cumsum(sizes).tolist()
    expected = [similarity[end - size : end].max(initial=0) for size, end in zip(sizes, ends, strict=True)]
    np.testing.assert_array_equal(index.best_tool(similarity), np.array(expected, dtype=np.float32))


def test_without_a_hint_its_weight_is_nothing() -> None:
    weights = {"profile": 1.0, "summary": 1.0, "lexical": 1.0}
    without_hint = TOY.signals(TEXT).servers(weights, np.zeros(5))
    np.testing.assert_array_equal(TOY.signals(TEXT).servers(weights, np.zeros(5), 0.7), without_hint)
    np.testing.assert_allclose(TOY.signals(TEXT, TEXT).servers(weights, np.zeros(5), 0.7), without_hint, atol=1e-6)


def test_points_of_weights_give_what_each_gives_alone() -> None:
    points = np.array([[0.0], [0.25], [1.0]])
    signals = TOY.signals(TEXT, HINT, doubt_names=True)
    tools = signals.tools({"names": points, "full": 0.5, "lexical": 0.25})
    servers = signals.servers({"profile": 0.5, "lexical": points, "best_tool": 0.25}, tools, 1 - points)
    for point, weight in enumerate(points[:, 0]):
        alone = signals.tools({"names": weight, "full": 0.5, "lexical": 0.25})
        np.testing.assert_allclose(tools[point], alone, rtol=1e-5)
        of_servers = signals.servers({"profile": 0.5, "lexical": weight, "best_tool": 0.25}, alone, 1 - weight)
        np.testing.assert_allclose(servers[point], of_servers, rtol=1e-5)


@each("size", [(), (0,), (1,), (0, 0)])
def test_empty_catalogs_and_one_tool(size: tuple[int, ...]) -> None:
    signals = build(catalog(size))[0].signals(TEXT)
    tools = signals.tools({"names": 1.0, "full": 1.0, "lexical": 1.0})
    servers = signals.servers(dict.fromkeys(SERVER_WEIGHTS, 1.0), tools)
    assert (tools.shape, servers.shape) == ((sum(size),), (len(size),))
    assert np.isfinite(servers).all()


def test_a_view_is_embedded_once_it_is_read_and_of_a_changed_catalog_only_what_changed(
    encoder: CachedEncoder, words: WordEncoder, toy: Catalog
) -> None:
    encoder.encode_query("sings song")
    words.seen.clear()
    first = CatalogIndex(toy, encoder)
    assert words.seen == []
    before = first.signals("sings song").tools({"full": 1})
    assert sorted(words.seen) == sorted(TOOL_VIEWS["full"](tool) for tool in toy.tools)
    first.tools.view("description")
    words.seen.clear()
    changed = dataclasses.replace(toy.servers[0].tools[1], description="sings a song")
    tools = (toy.servers[0].tools[0], changed, toy.servers[0].tools[2])
    second = CatalogIndex(
        dataclasses.replace(toy, servers=(dataclasses.replace(toy.servers[0], tools=tools), *toy.servers[1:])), encoder
    )
    assert second.signals("sings song").tools({"full": 1})[1] > before[1]
    second.tools.view("description")
    assert words.seen == ["server 0 tool1: sings a song", "sings a song"]  # its full text and its description


class Vectors(WordEncoder):
    """Texts with vectors of our own."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    def with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.encode(texts), [self.encode(texts) for _ in texts]


def by_names(query: np.ndarray, names: list[np.ndarray], descriptions: list[np.ndarray], *, doubt: bool) -> list[float]:
    """Similarities by names alone of tools with these vectors of their names and descriptions."""
    tools = tuple(Tool("s", f"t{i}", f"about {i}") for i in range(len(names)))
    rows = {TOOL_VIEWS["names"](tool): vector for tool, vector in zip(tools, names, strict=True)}
    rows |= {f"about {i}": vector for i, vector in enumerate(descriptions)}
    encoder = CachedEncoder(EncoderSource.of(Vectors({**rows, "query": query})), MemoryVectorStore())
    index = CatalogIndex(Catalog("vectors", (Server("s", tools=tools),)), encoder)
    return index.signals("query", doubt_names=doubt).tools({"names": 1.0}).tolist()


X, Y, Z = np.eye(48, dtype=np.float32)[:3]


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="not finite"):
        by_names(np.nan * X, [X], [X], doubt=False)
    with pytest.raises(ParameterError, match="All weights are 0; give a weight above 0 to one of names, full"):
        TOY.signals("").tools({"names": 0.0, "full": 0.0})


def test_a_brand_name_is_replaced_by_its_description_and_a_telling_one_is_not() -> None:
    telling, brand = X, Y
    assert by_names(X, [telling, brand], [X, X], doubt=True) == [1.0, 1.0]
    assert by_names(X, [telling, brand], [X, X], doubt=False) == [1.0, 0.0]
    assert by_names(Y, [telling, brand], [X, X], doubt=True) == [0.0, 0.0]


def test_half_trust_mixes_the_two_views() -> None:
    half = 0.25 * X + np.sqrt(1 - 0.25**2) * Y
    assert by_names(Z, [half], [X], doubt=True) == pytest.approx([0.0], abs=1e-6)
    assert by_names(X, [half], [X], doubt=True) == pytest.approx([0.5 * 0.25 + 0.5 * 1.0], abs=1e-5)
