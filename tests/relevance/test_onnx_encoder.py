import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.relevance.encoder import EncoderError
from core.relevance.encoder_model import ModelFolder
from core.relevance.encoder_runtime import MANIFEST, CacheError, Runtime, SentenceEncoder
from core.relevance.onnx_encoder import PROBES, OnnxEncoder, verify

TEXTS = [
    "Search the web and return the ten best results.",
    "getWeatherByCity: current temperature in °C for a city such as Zürich",
    "使用必应搜索指定的关键词,并返回搜索结果列表",
    "Überweise 20 € an José; прочитай файл; 파일 읽기",
    "\ud800 lone surrogate",
    "word " * 900,
    "   ",
    "",
    "a",
    *[f"tool number {n} " * n for n in range(1, 40, 9)],
]
WARM_START = """
import sys
from core.relevance.onnx_encoder import onnx_source
from core.domain.settings import Settings
encoder = onnx_source(Settings.from_environment().models_folder).open()
vector = encoder.encode(["read a file"])
heavy = sorted({"torch", "transformers", "sentence_transformers"} & set(sys.modules))
print(encoder.note, heavy, vector.shape, float((vector ** 2).sum()) > 0.999)
"""


def test_the_export_equals_torch_on_real_texts(exported: OnnxEncoder, reference: SentenceEncoder) -> None:
    found, wanted = exported.encode(TEXTS), reference.encode(TEXTS)
    blank = np.array([not text.strip() for text in TEXTS])
    assert (exported.note, exported.model, exported.dimension) == ("", reference.model, reference.dimension)
    assert not found[blank].any()
    assert not wanted[blank].any()
    np.testing.assert_allclose(np.vecdot(found, wanted)[~blank], 1.0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found[~blank], axis=1), 1.0, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_batch(exported: OnnxEncoder) -> None:
    together = exported.encode(TEXTS)
    alone = np.vstack([exported.encode([text]) for text in TEXTS[:9]])
    np.testing.assert_allclose(together[:9], alone, atol=1e-5)
    np.testing.assert_allclose(exported.encode(TEXTS[::-1])[::-1], together, atol=1e-5)


def test_no_texts_give_no_rows(exported: OnnxEncoder, reference: SentenceEncoder) -> None:
    assert exported.encode([]).shape == reference.encode([]).shape == (0, 384)


def test_a_warm_start_never_imports_torch_and_leaves_no_traces(
    exported: OnnxEncoder, wayfare_cache: Path, tmp_path: Path
) -> None:
    unset = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"WAYFARE_CACHE": str(wayfare_cache), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", WARM_START], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("[] (1, 384) True", "")
    assert list(tmp_path.rglob("*")) == []


def spoil(weights: Path, manifest: Path, damage: str) -> None:
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    (manifest if "manifest" in damage else weights).unlink()
    if damage == "flipped bit":
        weights.write_bytes(content)
    elif damage == "truncated":
        weights.write_bytes(content[:1000])
    elif damage == "manifest not json":
        manifest.write_text("{")
    elif damage == "manifest of another form":
        manifest.write_text(json.dumps({"weights": "../x"}))


DAMAGES = ["flipped bit", "truncated", "no weights", "no manifest", "manifest not json", "manifest of another form"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_export_is_not_used(damage: str, exported: OnnxEncoder, wayfare_cache: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    shutil.copytree(wayfare_cache / "models" / exported.model, target, copy_function=os.link)
    spoil(next(target.glob("*.bin")), target / MANIFEST, damage)
    with pytest.raises(CacheError):
        Runtime.open(target)


def test_a_damaged_export_is_made_again(exported: OnnxEncoder, wayfare_cache: Path, tmp_path: Path) -> None:
    asked = list[Path]()

    def copies(folder: ModelFolder, target: Path) -> str:
        asked.append(target)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(wayfare_cache / "models" / folder.key, target, copy_function=os.link)
        return "It was copied."

    target = tmp_path / exported.model
    target.mkdir()
    (target / MANIFEST).write_text("{}")
    encoder = OnnxEncoder(tmp_path, export=copies)
    assert (asked, encoder.note) == ([target], "It was copied.")
    np.testing.assert_array_equal(encoder.encode(TEXTS[:2]), exported.encode(TEXTS[:2]))


def test_torch_takes_over_where_the_export_fails_and_says_why(tmp_path: Path, reference: SentenceEncoder) -> None:
    def fails(folder: ModelFolder, target: Path) -> str:
        raise OSError(f"{target.name}: no space left")

    encoder = OnnxEncoder(tmp_path, export=fails)
    assert encoder.note == f"Embedding runs on torch, not on onnxruntime: {reference.model}: no space left"
    assert encoder.model == reference.model
    np.testing.assert_allclose(encoder.encode(TEXTS[:3]), reference.encode(TEXTS[:3]), atol=1e-6)


def test_verification_refuses_what_differs_from_torch() -> None:
    rows = np.eye(3, dtype=np.float32)
    rows[2] = 0
    verify(rows, rows)
    verify(rows[:0], rows[:0])
    turned = rows.copy()
    turned[0] = [0.999, 0.0447, 0]
    noisy = rows.copy()
    noisy[2, 0] = 0.1
    broken = rows.copy()
    broken[1, 1] = np.nan
    for wrong in (turned, noisy, broken):
        with pytest.raises(EncoderError, match="differs from torch"):
            verify(rows, wrong)


def test_the_probes_cover_empty_unicode_and_longer_than_the_window() -> None:
    assert "" in PROBES
    assert any(ord(character) > 0x1F000 for text in PROBES for character in text)
    assert max(len(text.split()) for text in PROBES) > 256


def test_an_empty_folder_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="holds no usable export"):
        Runtime.open(tmp_path)


def test_a_model_that_torch_cannot_load_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8, "model_type": "nonsense"}))
    with pytest.raises(EncoderError, match="cannot be loaded"):
        SentenceEncoder(str(tmp_path))
