"""Vectors that come with Wayfare: exact, used if they fit, and ignored with a sentence if not."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from core.domain.progress import Step
from core.relevance import packaged_vectors
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore, text_hash
from core.relevance.packaged_vectors import (
    FAR,
    NEAR,
    QUESTIONS,
    SHARE,
    Examples,
    PackagedVectors,
    read_vectors,
    shipped_examples,
    vector_file,
    write_vectors,
)
from sample_catalog import TASKS_DIR
from sample_catalog.authoring import vectors
from tests.relevance.toy_encoders import WordEncoder

MODEL = WordEncoder.model
TEXTS = ["read a file", "send a mail", ""]
VECTORS = {text_hash(text): row for text, row in zip(TEXTS, WordEncoder().encode(TEXTS), strict=True)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the vectors of three texts."""
    write_vectors(tmp_path, MODEL, VECTORS)
    return tmp_path


def test_every_bit_comes_back(folder: Path) -> None:
    odd = np.array([[np.float32(1) / 3, -0.0, 1e-45, np.finfo(np.float32).max]], dtype=np.float32)
    write_vectors(folder, "odd", {text_hash("a"): odd[0], text_hash("b"): -odd[0]})
    by_hash = read_vectors(folder, "odd")
    assert {key: row.tobytes() for key, row in by_hash.items()} == {
        text_hash("a"): odd[0].tobytes(),
        text_hash("b"): (-odd[0]).tobytes(),
    }
    assert not next(iter(by_hash.values())).flags.writeable


def test_equal_vectors_are_an_equal_file(folder: Path, tmp_path: Path) -> None:
    first = vector_file(folder, MODEL).read_bytes()
    write_vectors(folder, MODEL, dict(reversed(VECTORS.items())))
    assert vector_file(folder, MODEL).read_bytes() == first


def test_only_what_nobody_has_is_embedded(folder: Path) -> None:
    store, encoder = MemoryVectorStore(), WordEncoder()
    cached = CachedEncoder(EncoderSource.of(encoder), PackagedVectors(store, folder))
    rows = cached.encode_documents([*TEXTS, "a new text"])
    assert encoder.seen == ["a new text"]
    np.testing.assert_array_equal(rows, WordEncoder().encode([*TEXTS, "a new text"]))
    assert list(store.of_model(MODEL)) == [text_hash("a new text")]  # packaged vectors are not stored again


def test_what_the_store_has_goes_first(folder: Path) -> None:
    store = MemoryVectorStore()
    stored = np.ones(48, dtype=np.float32)
    store.save_vectors(MODEL, {text_hash(TEXTS[0]): stored})
    by_hash = PackagedVectors(store, folder).load_vectors(MODEL, list(VECTORS))
    np.testing.assert_array_equal(by_hash[text_hash(TEXTS[0])], stored)
    assert by_hash.keys() == VECTORS.keys()


def broken(damage: str, file: Path) -> None:
    content = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped bit":
        content[len(content) // 3] ^= 1
        file.write_bytes(content)
    elif damage == "of another model":
        write_vectors(file.parent, "another", VECTORS)
        vector_file(file.parent, "another").replace(file)
    elif damage == "of another width":
        write_vectors(file.parent, MODEL, {key: row[:7] for key, row in VECTORS.items()})
    else:
        file.write_text("no table")


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped bit", "of another model", "no table"])
def test_a_file_that_does_not_fit_is_ignored_and_this_is_said_once(
    damage: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken(damage, vector_file(folder, MODEL))
    steps: list[Step | None] = []
    encoder = WordEncoder()
    packaged = PackagedVectors(MemoryVectorStore(), folder, steps.append)
    cached = CachedEncoder(EncoderSource.of(encoder), packaged)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(cached.encode_documents(TEXTS), WordEncoder().encode(TEXTS))
        cached.encode_documents([*TEXTS, "another"])
    assert encoder.seen == [*sorted(TEXTS, key=len, reverse=True), "another"]
    (line,) = (record.message for record in caplog.records if record.name.startswith("core."))
    assert line.endswith("Texts are embedded here instead.")
    assert packaged.notes == (line,)
    assert len(steps) == 1


@pytest.fixture(scope="module")
def shipped() -> Examples:
    examples = shipped_examples(vectors.models()[1].key)
    assert examples is not None, "run `make catalog`"
    return examples


def kinds() -> list[dict]:
    return [json.loads(line) for line in packaged_vectors.TEXTS.read_text("utf-8").splitlines()]


def test_every_kind_has_its_questions_and_no_question_stands_twice() -> None:
    texts = [text for kind in kinds() for text in kind["questions"]]
    assert {len(kind["questions"]) for kind in kinds()} == {QUESTIONS}
    assert len(set(texts)) == len(texts)


def test_no_question_is_one_that_is_judged_by() -> None:
    judged = {
        json.loads(line)["subtask"].lower() for line in (TASKS_DIR / "everyday.jsonl").read_text("utf-8").splitlines()
    }
    assert not judged & {text.lower() for kind in kinds() for text in kind["questions"]}


def test_an_example_itself_moves_the_query_towards_its_kind(shipped: Examples) -> None:
    hits, lengths = [], np.linalg.norm(shipped.tools, axis=1)
    for row in range(0, len(shipped.tools), 23):
        question = shipped.questions[row, 3].astype(np.float32)
        shift = shipped.shift(question / np.linalg.norm(question))
        nearest = int(np.argmax(shipped.tools @ shift / lengths))
        hits.append(nearest == row and float(np.linalg.norm(shift)) == pytest.approx(SHARE, abs=1e-3))
    assert np.mean(hits) > 0.95  # an odd question may be far from the mean of its kind, which is what is compared first


def test_the_share_grows_from_far_to_near(shipped: Examples) -> None:
    def along(cosine: float) -> float:
        examples = Examples.of(np.eye(3, dtype=np.float32)[[[0] * QUESTIONS] * 6], np.eye(3, dtype=np.float32)[[2] * 6])
        query = np.array([cosine, (1 - cosine**2) ** 0.5, 0.0], dtype=np.float32)
        return float(np.linalg.norm(examples.shift(query)))

    assert along(FAR - 0.01) == 0.0
    assert along((FAR + NEAR) / 2) == pytest.approx(SHARE / 2, abs=1e-3)
    assert along(NEAR) == pytest.approx(SHARE, abs=1e-3)
    assert not shipped.shift(np.zeros(shipped.tools.shape[1], dtype=np.float32)).any()  # a blank text
