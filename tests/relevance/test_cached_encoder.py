import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.relevance.encoder import CachedEncoder, EncoderError, EncoderSource, MemoryVectorStore, Vectors, text_hash
from tests.relevance.toy_encoders import WordEncoder


def never() -> WordEncoder:
    raise EncoderError("nothing had to be embedded")


def test_only_changed_texts_are_embedded_and_the_model_stays_closed_if_none_is() -> None:
    store, first, second = MemoryVectorStore(), WordEncoder(), WordEncoder()
    found = CachedEncoder(EncoderSource.of(first), store).encode_documents(["a", "b", "a", ""])
    assert first.seen == ["a", "b", ""]
    np.testing.assert_array_equal(found, WordEncoder().encode(["a", "b", "a", ""]))

    again = CachedEncoder(EncoderSource("words-v1", 48, never), store)
    np.testing.assert_array_equal(again.encode_documents(["b", "a"]), WordEncoder().encode(["b", "a"]))
    assert again.note == ""
    with pytest.raises(EncoderError, match="nothing had to be"):
        again.encode_documents(["b", "c"])

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
    found = CachedEncoder(EncoderSource.of(WordEncoder()), store).encode_documents(["a"])
    np.testing.assert_array_equal(found, WordEncoder().encode(["a"]))


def test_new_questions_do_not_push_out_what_they_are_compared_with() -> None:
    inner = WordEncoder()
    encoder = CachedEncoder(EncoderSource.of(inner), MemoryVectorStore(), token_cache=2)
    for number in range(5):
        question = f"question {number}"
        encoder.encode_query(question)
        encoder.tokens([question, f"request {number % 2}"])
    assert sorted(inner.seen) == [
        "question 0",
        "question 1",
        "question 2",
        "question 3",
        "question 4",
        "request 0",
        "request 1",
    ]


class Failing(WordEncoder):
    def encode(self, texts: Sequence[str]) -> Vectors:
        if "bad" in texts:
            raise EncoderError("out of memory")
        return super().encode(texts)


def test_progress_is_reported_and_finished_batches_survive_a_failure() -> None:
    store, told = MemoryVectorStore(), list[tuple[int, int]]()
    inner = Failing()
    encoder = CachedEncoder(EncoderSource.of(inner), store, batch=2)
    with pytest.raises(EncoderError, match="out of memory"):
        encoder.encode_documents(["aaaa", "bbbb", "bad", "cc", "d"], lambda done, total: told.append((done, total)))
    assert told == [(0, 5), (1, 5), (3, 5)]  # the batches of like length in a drawn order, the one in the middle last
    inner.seen.clear()
    encoder.encode_documents(["aaaa", "bbbb", "d"])
    assert inner.seen == []


def test_long_texts_do_not_come_first_so_that_the_time_that_is_left_can_be_told() -> None:
    inner = WordEncoder()
    CachedEncoder(EncoderSource.of(inner), MemoryVectorStore(), batch=1).encode_documents(
        ["a" * n for n in range(1, 101)]
    )
    lengths = [len(text) for text in inner.seen]
    assert abs(np.mean(lengths[:20]) - np.mean(lengths)) < 15


def test_texts_of_like_length_share_a_batch() -> None:
    inner = WordEncoder()
    texts = ["a", "a long text of many words", "b", "another text of many words"]
    found = CachedEncoder(EncoderSource.of(inner), MemoryVectorStore(), batch=2).encode_documents(texts)
    assert [{len(text) > 1 for text in inner.seen[start : start + 2]} for start in (0, 2)] in (
        [{True}, {False}],
        [{False}, {True}],
    )
    np.testing.assert_array_equal(found, WordEncoder().encode(texts))


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
