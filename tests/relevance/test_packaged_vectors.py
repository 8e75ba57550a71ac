"""Vectors that come with Wayfare: exact, used where they fit, and ignored with a sentence where they do not."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from core.domain.progress import Step
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore, text_hash
from core.relevance.packaged_vectors import PackagedVectors, read_vectors, vector_file, write_vectors
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
    found = read_vectors(folder, "odd")
    assert {key: row.tobytes() for key, row in found.items()} == {
        text_hash("a"): odd[0].tobytes(),
        text_hash("b"): (-odd[0]).tobytes(),
    }
    assert not next(iter(found.values())).flags.writeable


def test_equal_vectors_are_an_equal_file(folder: Path, tmp_path: Path) -> None:
    first = vector_file(folder, MODEL).read_bytes()
    write_vectors(folder, MODEL, dict(reversed(VECTORS.items())))
    assert vector_file(folder, MODEL).read_bytes() == first


def test_only_what_nobody_has_is_embedded(folder: Path) -> None:
    store, encoder = MemoryVectorStore(), WordEncoder()
    cached = CachedEncoder(EncoderSource.of(encoder), PackagedVectors(store, folder))
    found = cached.encode_documents([*TEXTS, "a new text"])
    assert encoder.seen == ["a new text"]
    np.testing.assert_array_equal(found, WordEncoder().encode([*TEXTS, "a new text"]))
    assert list(store.of_model(MODEL)) == [text_hash("a new text")]  # what comes with Wayfare is not stored again


def test_what_the_store_has_goes_first(folder: Path) -> None:
    store = MemoryVectorStore()
    own = np.ones(48, dtype=np.float32)
    store.save_vectors(MODEL, {text_hash(TEXTS[0]): own})
    found = PackagedVectors(store, folder).load_vectors(MODEL, list(VECTORS))
    np.testing.assert_array_equal(found[text_hash(TEXTS[0])], own)
    assert found.keys() == VECTORS.keys()


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
    told: list[Step | None] = []
    encoder = WordEncoder()
    packaged = PackagedVectors(MemoryVectorStore(), folder, told.append)
    cached = CachedEncoder(EncoderSource.of(encoder), packaged)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(cached.encode_documents(TEXTS), WordEncoder().encode(TEXTS))
        cached.encode_documents([*TEXTS, "another"])
    assert encoder.seen == [*sorted(TEXTS, key=len, reverse=True), "another"]
    (line,) = (record.message for record in caplog.records if record.name.startswith("core."))
    assert line.endswith("Texts are embedded here instead.")
    assert packaged.notes == (line,)
    assert len(told) == 1
