import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from core.relevance.encoder import (
    MAX_CHARACTERS,
    CachedEncoder,
    EncoderError,
    EncoderSource,
    MemoryVectorStore,
    Vectors,
    cleaned,
    text_hash,
    unit_rows,
)
from tests.relevance.toy_encoders import WordEncoder


def never() -> WordEncoder:
    raise EncoderError("nothing had to be embedded")


def test_only_changed_texts_are_embedded_and_the_model_stays_closed_if_none_is() -> None:
    store, first, second = MemoryVectorStore(), WordEncoder(), WordEncoder()
    vectors = CachedEncoder(EncoderSource.of(first), store).encode_documents(["a", "b", "a", ""])
    assert first.seen == ["a", "b", ""]
    np.testing.assert_array_equal(vectors, WordEncoder().encode(["a", "b", "a", ""]))

    reopened = CachedEncoder(EncoderSource("words-v1", 48, never), store)
    np.testing.assert_array_equal(reopened.encode_documents(["b", "a"]), WordEncoder().encode(["b", "a"]))
    assert reopened.note == ""
    with pytest.raises(EncoderError, match="nothing had to be"):
        reopened.encode_documents(["b", "c"])

    CachedEncoder(EncoderSource.of(second), store).encode_documents(["a", "c", "b"])
    assert second.seen == ["c"]


@settings(max_examples=30)
@given(st.lists(st.text(max_size=8), max_size=20), st.lists(st.text(max_size=8), max_size=20))
def test_vectors_never_depend_on_what_was_kept(before: list[str], now: list[str]) -> None:
    inner = WordEncoder()
    encoder = CachedEncoder(EncoderSource.of(inner), MemoryVectorStore(), batch=3)
    encoder.encode_documents(before)
    np.testing.assert_array_equal(encoder.encode_documents(now), WordEncoder().encode(now))
    assert sorted(inner.seen) == sorted({*before, *now})


def test_another_model_does_not_get_these_vectors() -> None:
    store, encoder = MemoryVectorStore(), WordEncoder()
    CachedEncoder(EncoderSource("one", 48, lambda: encoder), store).encode_documents(["a"])
    CachedEncoder(EncoderSource("two", 48, lambda: encoder), store).encode_documents(["a"])
    assert encoder.seen == ["a", "a"]


@pytest.mark.parametrize("kept", [np.ones(7, dtype=np.float32), np.full(48, np.nan, dtype=np.float32)])
def test_a_kept_vector_that_cannot_be_right_is_made_again(kept: Vectors) -> None:
    store = MemoryVectorStore()
    store.save_vectors("words-v1", {text_hash("a"): kept})
    vectors = CachedEncoder(EncoderSource.of(WordEncoder()), store).encode_documents(["a"])
    np.testing.assert_array_equal(vectors, WordEncoder().encode(["a"]))


class Failing(WordEncoder):
    def encode(self, texts: Sequence[str]) -> Vectors:
        if "bad" in texts:
            raise EncoderError("out of memory")
        return super().encode(texts)


def test_progress_is_reported_and_finished_batches_survive_a_failure() -> None:
    store, progress = MemoryVectorStore(), list[tuple[int, int]]()
    inner = Failing()
    encoder = CachedEncoder(EncoderSource.of(inner), store, batch=2)
    with pytest.raises(EncoderError, match="out of memory"):
        encoder.encode_documents(
            ["aaaa", "bbbb", "bad", "cc", "d"], lambda count, total: progress.append((count, total))
        )
    assert progress == [
        (0, 5),
        (1, 5),
        (3, 5),
    ]  # the batches of like length in a drawn order, the one in the middle last
    inner.seen.clear()
    encoder.encode_documents(["aaaa", "bbbb", "d"])
    assert inner.seen == []


def test_queries_come_from_the_cache_up_to_its_size_and_cannot_be_changed() -> None:
    inner = WordEncoder()
    encoder = CachedEncoder(EncoderSource.of(inner), MemoryVectorStore(), query_cache=2)
    for text in ("a", "b", "a", "c", "a"):
        encoder.encode_query(text)
    assert inner.seen == ["a", "b", "c"]
    encoder.encode_query("b")
    assert inner.seen == ["a", "b", "c", "b"]
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode_query("a")[0] = 1.0


def test_threads_embed_each_text_once_and_open_one_encoder() -> None:
    app = list[WordEncoder]()

    def make() -> WordEncoder:
        app.append(WordEncoder())
        return app[-1]

    encoder = CachedEncoder(EncoderSource("words-v1", 48, make), MemoryVectorStore(), batch=1)
    texts = [f"text {n}" for n in range(30)]
    threads = [threading.Thread(target=encoder.encode_documents, args=(texts,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(app) == 1
    assert sorted(app[0].seen) == sorted(texts)


any_text = st.text(alphabet=st.characters(exclude_categories=()))


@settings(max_examples=40)
@given(any_text)
def test_every_text_has_a_hash_of_32_digits_and_a_clean_form(text: str) -> None:
    assert len(text_hash(text)) == 32
    assert text_hash(text) == text_hash(text)
    assert cleaned(cleaned(text)) == cleaned(text)
    cleaned(text).encode("utf-8")


def test_a_clean_text_is_bounded() -> None:
    assert len(cleaned("x" * 10**6)) == MAX_CHARACTERS


@settings(max_examples=40)
@given(npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e6, 1e6, width=32)))
def test_unit_rows_have_norm_one_or_are_zero(matrix: np.ndarray) -> None:
    norms = np.linalg.norm(unit_rows(matrix).astype(np.float64), axis=1)
    zero = np.linalg.norm(matrix, axis=1) == 0
    np.testing.assert_allclose(norms[~zero], 1.0, atol=1e-5)
    assert not norms[zero].any()
