"""Maps of catalogs: drawn once, kept by content, with exact neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from core.app import App, build_app
from core.catalogs.maps import MAP_METHOD
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import UnknownNameError
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.relevance.map_layout import LANDMARKS
from core.store import Store
from tests.cases import each


class Letters:
    """An encoder without a model: counts of letters."""

    model, dimension, note = "letters", 26, ""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """One row a text, of length 1; zeros for a blank text."""
        rows = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], dtype=np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms > 0, norms, 1)

    def with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.encode(texts), [self.encode(text.split() or [text]) for text in texts]


WORDS = ("reads a file", "writes a file", "sends a letter", "weather of a town", "adds numbers", "plots a chart")


def catalog(*descriptions: str, name: str = "mine") -> Catalog:
    tools = tuple(Tool("one", f"tool{row}", text) for row, text in enumerate(descriptions))
    return Catalog(name, (Server("one", tools=tools), Server("empty")))


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(None) as new_store:
        yield new_store


def over(store: Store, *catalogs: Catalog) -> App:
    """An app over a store that stays open."""
    app = build_app(store, encoder=CachedEncoder(EncoderSource.of(Letters()), store.vectors))
    for item in catalogs:
        app.catalogs.save(item, "test")
    return app


def test_a_map_has_a_place_for_each_tool_and_cannot_be_changed(store: Store) -> None:
    result = over(store, catalog(*WORDS)).maps.map("mine")
    assert result.ids == tuple(f"one::tool{row}" for row in range(6))
    assert result.xy.shape == (6, 2)
    assert ((result.xy >= 0) & (result.xy <= 1)).all()
    assert 0 <= result.kept <= 1
    with pytest.raises(ValueError, match="read-only"):
        result.xy[0] = 0.5


@each("count", [0, 1, 2, 3])
def test_small_catalogs_have_maps(store: Store, count: int) -> None:
    maps = over(store, catalog(*WORDS[:count])).maps
    result = maps.map("mine")
    assert result.xy.shape == (count, 2)
    assert result.kept == 1.0
    place = maps.place("mine", "read")
    assert (0 <= place.x <= 1, 0 <= place.y <= 1) == (True, True)
    assert place.cosine.shape == (count,)


def test_what_was_drawn_is_read_from_the_store(store: Store) -> None:
    first = over(store, catalog(*WORDS)).maps.map("mine")
    mirrored = (1 - first.xy).reshape(-1)
    stored = store.vectors.load_vectors(MAP_METHOD, all_hashes(store))
    assert [vector.tolist() for vector in stored.values()] == [first.xy.reshape(-1).tolist()]
    store.vectors.save_vectors(MAP_METHOD, dict.fromkeys(stored, mirrored))
    reopened = over(store)  # another process, say
    np.testing.assert_array_equal(reopened.maps.map("mine").xy, mirrored.reshape(6, 2))
    assert reopened.maps.map("mine") is reopened.maps.map("mine")


def test_coordinates_of_another_size_are_not_believed(store: Store) -> None:
    first = over(store, catalog(*WORDS)).maps.map("mine")
    store.vectors.save_vectors(MAP_METHOD, dict.fromkeys(all_hashes(store), np.zeros(4, dtype=np.float32)))
    np.testing.assert_array_equal(over(store).maps.map("mine").xy, first.xy)


def test_neighbours_are_the_nearest_by_exact_cosine_without_the_tool(store: Store) -> None:
    app = over(store, catalog(*WORDS))
    vectors = app.catalogs.index("mine").meanings
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    exact = vectors @ vectors[0]
    order = [row for row in np.argsort(-exact).tolist() if row != 0]
    neighbours = app.maps.neighbours("mine", "one::tool0", 3)
    assert [neighbour.tool for neighbour in neighbours] == [f"one::tool{row}" for row in order[:3]]
    assert [neighbour.cosine for neighbour in neighbours] == pytest.approx([exact[row] for row in order[:3]], abs=1e-6)
    assert len(app.maps.neighbours("mine", "one::tool0")) == 5
    with pytest.raises(UnknownNameError, match="no tool 'one::gone'"):
        app.maps.neighbours("mine", "one::gone")


def test_a_text_lies_at_the_tool_that_says_the_same(store: Store) -> None:
    app = over(store, catalog(*WORDS))
    result = app.maps.map("mine")
    text = f"one tool3: {WORDS[3]}"
    place = app.maps.place("mine", text)
    query = app.catalogs._encoder.encode_query(text)
    np.testing.assert_allclose(place.cosine, app.catalogs.index("mine").meanings @ query, atol=1e-6)
    assert int(np.argmax(place.cosine)) == 3
    distances = np.linalg.norm(result.xy - [place.x, place.y], axis=1)
    assert int(np.argmin(distances)) == 3


def test_a_large_map_takes_the_vectors_of_decisions_and_embeds_nothing_more(store: Store) -> None:
    texts = [f"{word} {number}" for word in ("reads files", "sends letters", "adds numbers") for number in range(1400)]
    app = over(store, catalog(*(f"{text} {text[::-1]}" for text in texts)))
    app.catalogs.prepare("mine")
    before = vectors_of(store)
    result = app.maps.map("mine")
    assert (result.xy.shape, result.landmarks) == ((4200, 2), LANDMARKS)
    assert ((result.xy >= 0) & (result.xy <= 1)).all()
    place = app.maps.place("mine", "sends letters 7")
    neighbours = app.maps.neighbours("mine", "one::tool1400", 3)
    vectors = app.catalogs.scorer("mine").index.own
    np.testing.assert_allclose(place.cosine, vectors @ app.encoders[0].encode_query("sends letters 7"), atol=1e-6)
    assert neighbours[0].cosine == pytest.approx(np.delete(vectors @ vectors[1400], 1400).max(), abs=1e-6)
    assert vectors_of(store) == before


def vectors_of(store: Store) -> int:
    """The number of texts that have a vector."""
    return store._database.read("SELECT count(*) AS texts FROM vectors WHERE model = 'letters'")["texts"].to_pylist()[0]


def all_hashes(store: Store) -> list[str]:
    """The hashes of every map that is kept."""
    return store._database.read("SELECT hash FROM vectors WHERE model = ?", [MAP_METHOD])["hash"].to_pylist()
