"""A tuned encoder: the file of a difference, its key, and how far it moves the vectors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.relevance.encoder import EncoderError
from core.relevance.encoder_model import (
    SHIPPED,
    Change,
    changes,
    load,
    low_rank,
    merged,
    model_folder,
    save,
    tuned_folder,
)
from core.relevance.encoder_runtime import SentenceEncoder
from core.relevance.onnx_encoder import OnnxEncoder, onnx_source

TEXTS = (
    "read a file",
    "files read text: Reads a file.",
    "Search the web for recent news",
    "使用必应搜索指定的关键词",
    "a",
)


def change(rows: int = 12, columns: int = 8, rank: int = 3) -> Change:
    draw = np.random.default_rng(3)
    matrix = draw.normal(size=(rows, rank)) @ draw.normal(size=(rank, columns)) * 1e-2
    inputs = draw.normal(size=(columns, columns))
    return Change(
        {"layer.weight": matrix.astype(np.float32), "layer.bias": draw.normal(size=rows).astype(np.float32)},
        {"layer.weight": (inputs @ inputs.T).astype(np.float32)},
    )


@pytest.fixture(scope="session")
def tuned(wayfare_cache: Path) -> OnnxEncoder:
    """The encoder with the difference that comes with Wayfare."""
    return OnnxEncoder(wayfare_cache / "models", tuned_folder(model_folder()))


@pytest.mark.parametrize("inputs", [True, False])
def test_factors_of_enough_rank_give_the_change_back(inputs: bool) -> None:
    whole = change() if inputs else replace(change(), inputs={})
    found = changes(low_rank(whole, 3))
    assert found.keys() == whole.weights.keys()
    for name, values in found.items():
        assert np.allclose(values, whole.weights[name], rtol=1e-2, atol=1e-4), name


def test_the_truncation_errs_least_on_the_inputs_that_a_matrix_sees() -> None:
    whole = change(rank=6)
    matrix, moment = whole.weights["layer.weight"], whole.inputs["layer.weight"]

    def error(of: Change) -> float:
        gap = changes(low_rank(of, 2))["layer.weight"] - matrix
        return float(np.trace(gap @ moment @ gap.T))

    assert error(whole) < error(replace(whole, inputs={}))


def test_a_file_is_read_as_it_was_written_and_equal_content_is_an_equal_file(tmp_path: Path) -> None:
    arrays = low_rank(change().scaled(0.5), 2)
    first, second = tmp_path / "new folder" / "a", tmp_path / "b.npz"
    for file in (first, second):
        save(file, arrays, {"base": "toy", "seed": 1})
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in first.parent.iterdir()] == ["a"]
    found, about = load(first)
    assert about == {"base": "toy", "seed": 1}
    assert {name: values.tolist() for name, values in found.items()} == {k: v.tolist() for k, v in arrays.items()}


def test_a_file_that_is_no_difference_is_one_sentence(tmp_path: Path) -> None:
    def refused(file: Path, message: str = "is no encoder difference; make one") -> None:
        with pytest.raises(EncoderError, match=message):
            load(file)

    refused(tmp_path / "missing.npz")
    (tmp_path / "text.npz").write_text("hello")
    refused(tmp_path / "text.npz")
    (tmp_path / "cut.npz").write_bytes(SHIPPED.read_bytes()[:100_000])
    refused(tmp_path / "cut.npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    refused(tmp_path / "other.npz")
    entry = np.frombuffer(json.dumps({"seed": 1}).encode(), dtype=np.uint8)
    np.savez(tmp_path / "no_base.npz", about=entry)
    refused(tmp_path / "no_base.npz")
    save(tmp_path / "half.npz", {"a.up": np.ones((2, 1), np.float16)}, {"base": "toy"})
    refused(tmp_path / "half.npz")
    factors = {"a.up": np.ones((2, 1), np.float16), "a.down": np.ones((2, 3), np.float16)}
    save(tmp_path / "unequal.npz", factors, {"base": "toy"})
    refused(tmp_path / "unequal.npz")
    save(tmp_path / "nan.npz", {"a": np.array([np.nan], np.float16)}, {"base": "toy"})
    refused(tmp_path / "nan.npz", "numbers that are none")


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EncoderError, match="cannot be written"):
        save(tmp_path / "file" / "x.npz", {}, {"base": "toy"})


def test_a_tuned_model_has_a_key_of_its_own_for_each_difference(tmp_path: Path) -> None:
    frozen = model_folder()
    shipped = tuned_folder(frozen)
    assert (shipped.key, shipped.note) == (f"{frozen.key}-tuned-b2bdb952", "")
    assert shipped.difference == SHIPPED
    save(tmp_path / "own.npz", {}, {"base": frozen.key})
    own = tuned_folder(frozen, str(tmp_path / "own.npz"))
    assert own.key.startswith(f"{frozen.key}-tuned-")
    assert own.key != shipped.key


def test_a_difference_of_another_model_leaves_the_model_frozen_and_says_so(tmp_path: Path) -> None:
    frozen = model_folder()
    save(tmp_path / "other.npz", {}, {"base": "another-model"})
    found = tuned_folder(frozen, tmp_path / "other.npz")
    assert (found.key, found.difference) == (frozen.key, None)
    assert found.note == f"The encoder is the frozen {frozen.key}: the difference other.npz was made for another-model."
    missing = tuned_folder(frozen, tmp_path / "missing.npz")
    assert (missing.key, missing.difference) == (frozen.key, None)
    assert "is no encoder difference" in missing.note


@pytest.mark.parametrize("word", ["none", " NONE "])
def test_none_is_the_frozen_model(word: str) -> None:
    assert tuned_folder(model_folder(), word) == model_folder()


def test_the_source_names_the_tuned_model_only_where_it_is_asked_for(
    exported: OnnxEncoder, wayfare_cache: Path
) -> None:
    root, frozen = wayfare_cache / "models", model_folder().key
    assert onnx_source(root).model == frozen
    assert onnx_source(root, tuned=True).model == f"{frozen}-tuned-b2bdb952"
    assert onnx_source(root, tuned=True, difference="none").model == frozen
    fallback = onnx_source(root, tuned=True, difference="/nowhere.npz")
    assert fallback.model == frozen
    assert "/nowhere.npz is no encoder difference" in fallback.open().note
    assert exported.note == ""


def test_tuning_moves_vectors_by_about_what_was_measured(exported: OnnxEncoder, tuned: OnnxEncoder) -> None:
    """The cosine of a tool's frozen and tuned vectors was .926 on average and .819 at least (decision 14)."""
    cosines = (exported.encode(TEXTS) * tuned.encode(TEXTS)).sum(axis=1)
    assert tuned.note == ""
    assert cosines.min() > 0.8
    assert 0.9 < cosines.mean() < 0.98


def test_the_export_is_the_merged_model(tuned: OnnxEncoder, reference: SentenceEncoder) -> None:
    frozen = reference.encode(TEXTS)
    by_torch = SentenceEncoder(tuned_folder(model_folder()))
    assert by_torch.model == tuned.model
    assert np.abs((by_torch.encode(TEXTS) * tuned.encode(TEXTS)).sum(axis=1) - 1).max() < 1e-5
    assert np.array_equal(reference.encode(TEXTS), frozen)


def test_a_difference_that_does_not_fit_changes_nothing(reference: SentenceEncoder, tmp_path: Path) -> None:
    before = reference.encode(TEXTS)
    bias = "encoder.layer.5.output.dense.bias"
    strange = {bias: np.ones(384, np.float16), "encoder.layer.9.output.dense.bias": np.ones(384, np.float16)}
    with pytest.raises(EncoderError, match=r"encoder\.layer\.9"):
        merged(reference.transformer, strange)
    with pytest.raises(EncoderError, match="which the model does not have"):
        merged(reference.transformer, {bias: np.ones(7, np.float16)})
    assert np.array_equal(reference.encode(TEXTS), before)
    save(tmp_path / "strange.npz", strange, {"base": model_folder().key})
    with pytest.raises(EncoderError, match=r"cannot be loaded|encoder\.layer\.9"):
        OnnxEncoder(tmp_path, tuned_folder(model_folder(), tmp_path / "strange.npz"))
