"""The export that is put together without torch: equal to torch's to the last bit, or not used."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from core.domain.progress import Step
from core.relevance.encoder_model import ModelFolder, model_folder
from core.relevance.encoder_runtime import Manifest, whole
from core.relevance.onnx_encoder import (
    ASSEMBLING,
    EXPORTING,
    PREPARED,
    RECIPE,
    NotPreparedError,
    OnnxEncoder,
    assemble,
    export_model,
    exporter,
    prepare,
)

HEAVY = """
import sys
from pathlib import Path
from core.relevance.onnx_encoder import onnx_source
onnx_source(Path(sys.argv[1])).open().encode(["read a file"])
print(sorted({"torch", "transformers", "sentence_transformers"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    return model_folder()


@pytest.fixture(scope="module")
def by_torch(folder: ModelFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What torch exports of the model."""
    target = tmp_path_factory.mktemp("torch")
    export_model(folder, target)
    return target


def test_it_is_what_torch_exports(folder: ModelFolder, by_torch: Path, tmp_path: Path) -> None:
    assemble(folder, tmp_path)
    manifest, expected = Manifest.read(tmp_path), Manifest.read(by_torch)
    assert (manifest.sha256, manifest.max_tokens, manifest.dimension) == (
        expected.sha256,
        expected.max_tokens,
        expected.dimension,
    )
    assert manifest.digest(tmp_path) == expected.sha256
    assert whole(tmp_path) == whole(by_torch)
    texts = ["read a file", "", "漢字" * 400, "word " * 900]
    ours, theirs = (OnnxEncoder(root, folder, export=copied(at)) for root, at in copies(tmp_path, by_torch, folder))
    (vectors, tokens), (expected_vectors, expected_tokens) = ours.with_tokens(texts), theirs.with_tokens(texts)
    assert vectors.tobytes() == expected_vectors.tobytes() == ours.encode(texts).tobytes()
    assert [rows.tobytes() for rows in tokens] == [rows.tobytes() for rows in expected_tokens]


def copies(one: Path, other: Path, folder: ModelFolder) -> list[tuple[Path, Path]]:
    return [(one / "as-model", one), (one / "as-torch", other)]


def copied(source: Path):
    """An exporter that takes an export that is there already."""

    def export(_: ModelFolder, target: Path) -> None:
        target.mkdir(parents=True)
        for file in source.iterdir():
            if file.is_file():
                (target / file.name).hardlink_to(file)

    return export


def test_the_graph_that_comes_with_wayfare_is_torchs(folder: ModelFolder, by_torch: Path, tmp_path: Path) -> None:
    file = prepare(folder, by_torch, tmp_path)
    assert file.read_bytes() == (PREPARED / file.name).read_bytes()


def test_torch_is_not_loaded_for_it(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def spoiled(damage: str, folder: ModelFolder, there: Path) -> None:
    source, file = PREPARED / f"{folder.key}.zip", there / f"{folder.key}.zip"
    with zipfile.ZipFile(source) as zipped:
        parts = {name: zipped.read(name) for name in zipped.namelist()}
    recipe = json.loads(parts[RECIPE])
    if damage == "no file":
        return
    if damage == "no zip":
        file.write_text("nothing")
        return
    if damage == "of another model":
        recipe["model"] = "another"
    elif damage == "of other weights":
        recipe["sha256"] = "0" * 64
    elif damage == "of another tokenizer":
        recipe["tokenizer"] = "0" * 64
    elif damage == "of another form":
        del recipe["weights"]
    with zipfile.ZipFile(file, "w") as zipped:
        for name, content in parts.items():
            zipped.writestr(name, json.dumps(recipe) if name == RECIPE else content)


@pytest.mark.parametrize(
    "damage",
    ["no file", "no zip", "of another model", "of other weights", "of another tokenizer", "of another form"],
)
def test_a_graph_that_does_not_fit_is_not_used(damage: str, folder: ModelFolder, tmp_path: Path) -> None:
    spoiled(damage, folder, tmp_path)
    with pytest.raises(NotPreparedError):
        assemble(folder, tmp_path / "target", tmp_path)
    assert not (tmp_path / "target").exists()


def test_each_way_of_exporting_is_reported(folder: ModelFolder, tmp_path: Path) -> None:
    told: list[Step | None] = []
    assert exporter(told.append)(folder, tmp_path) == ""
    assert told == [ASSEMBLING, None]


def test_a_model_without_a_graph_is_exported_by_torch(folder: ModelFolder, tmp_path: Path) -> None:
    told: list[Step | None] = []
    other = ModelFolder(folder.path, "another-model", folder.dimension)
    export = exporter(told.append, by_torch=lambda _, target: target.mkdir())
    assert export(other, tmp_path / "target").startswith("Torch has exported the encoder: ")
    assert told == [ASSEMBLING, None, EXPORTING, None]
    assert (tmp_path / "target").is_dir()
