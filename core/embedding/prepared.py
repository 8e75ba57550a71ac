"""The export without torch: the graph comes with Wayfare, the weights are those of the installed model.

An ONNX file is a small graph and large weights. Torch takes seconds to load and to trace, and always makes the same graph of the
same model; so the graph is kept (12 kB, `data/<model>.zip`), and at the first start the weights are put into it from
`model.safetensors`. The file has to have the digest that was noted when torch made it: equal to the last bit, or it is not used.
A tuned model's difference is added after that check.

`make catalog` makes the graphs again (docs/decisions/0013-shipped-vectors.md).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from core.embedding.base import EncoderError
from core.embedding.difference import changes, load
from core.embedding.model import ModelFolder
from core.embedding.runtime import Manifest

PREPARED = Path(__file__).with_name("data")
GRAPH, RECIPE = "graph.onnx", "recipe.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same graph is the same file, whenever it is made


Tensors = dict[str, NDArray[Any]]


class NotPreparedError(EncoderError):
    """The graph that comes with Wayfare is not there or is not this model's."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the export of one model is put together.

    `model` is the model's key, `sha256` the digest of the file with the frozen weights, `tokenizer` that of the tokenizer.
    `weights` names for each initializer of the graph the tensor that goes into it, and whether it is transposed.
    """

    model: str
    sha256: str
    tokenizer: str
    max_tokens: int
    dimension: int
    weights: dict[str, tuple[str, bool]]


def assemble(folder: ModelFolder, target: Path, prepared: Path = PREPARED) -> None:
    """Put the export of a model together in `target`. Raises NotPreparedError where no graph fits the model."""
    recipe, graph = _read(prepared / f"{folder.key}.zip", folder)
    tokenizer, tensors = _tokenizer_of(folder), _frozen_tensors(folder)
    weights = _filled(graph, recipe, tensors)
    if hashlib.sha256(weights).hexdigest() != recipe.sha256 or _digest(tokenizer) != recipe.tokenizer:
        raise NotPreparedError(f"What was put together of {folder.key} is not what torch exported.")
    if folder.difference is not None:
        weights = _filled(graph, recipe, _tuned_tensors(folder, tensors))
    digest = hashlib.sha256(weights).hexdigest()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".export-") as scratch:
        file = Path(scratch) / "weights.onnx"
        file.write_bytes(weights)
        Manifest(f"{digest[:16]}.onnx", digest, tokenizer, recipe.max_tokens, recipe.dimension).place(file, target)


def prepare(folder: ModelFolder, export: Path, prepared: Path = PREPARED) -> Path:
    """Keep the graph of an export that torch made, without its weights; the file.

    Raises EncoderError where the export cannot be put together again, to the last bit, from the model's own files.
    """
    import onnx
    from onnx import numpy_helper

    manifest = Manifest.read(export)
    weights = (export / manifest.weights).read_bytes()
    frozen = _frozen_tensors(folder)
    tensors = frozen if folder.difference is None else _tuned_tensors(folder, frozen)
    model: Any = onnx.load_from_string(weights)
    places: dict[str, tuple[str, bool]] = {}
    for initializer in model.graph.initializer:
        place = _tensor_like(numpy_helper.to_array(initializer), tensors)
        if place is not None:
            places[initializer.name] = place
            initializer.ClearField("raw_data")
    graph: bytes = model.SerializeToString()
    tokenizer = _tokenizer_of(folder)
    recipe = Recipe(folder.key, "", _digest(tokenizer), manifest.max_tokens, manifest.dimension, places)
    if _filled(graph, recipe, tensors) != weights or tokenizer != _plain(Tokenizer.from_str(manifest.tokenizer)):
        raise EncoderError(f"The export of {folder.key} cannot be put together from the files in {folder.path}.")
    recipe = replace(recipe, sha256=hashlib.sha256(_filled(graph, recipe, frozen)).hexdigest())
    prepared.mkdir(exist_ok=True)
    file = prepared / f"{folder.key}.zip"
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in ((GRAPH, graph), (RECIPE, json.dumps(asdict(recipe), indent=1).encode())):
            opened.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)
    return file


def _filled(graph: bytes, recipe: Recipe, tensors: Tensors) -> bytes:
    """The graph with the weights in it."""
    import onnx

    model: Any = onnx.load_from_string(graph)
    for initializer in model.graph.initializer:
        if initializer.name in recipe.weights:
            name, transposed = recipe.weights[initializer.name]
            initializer.raw_data = np.ascontiguousarray(tensors[name].T if transposed else tensors[name]).tobytes()
    return model.SerializeToString()


def _frozen_tensors(folder: ModelFolder) -> Tensors:
    from safetensors.numpy import load_file

    return load_file(folder.path / "model.safetensors")


def _tuned_tensors(folder: ModelFolder, frozen: Tensors) -> Tensors:
    """The tensors with the folder's difference added, as `core.embedding.difference.merged` adds it."""
    if folder.difference is None:
        return frozen
    change = changes(load(folder.difference)[0])
    return {**frozen, **{name: frozen[name] + values for name, values in change.items()}}


def _read(file: Path, folder: ModelFolder) -> tuple[Recipe, bytes]:
    try:
        with zipfile.ZipFile(file) as opened:
            recipe, graph = Recipe(**json.loads(opened.read(RECIPE))), opened.read(GRAPH)
    except FileNotFoundError:
        raise NotPreparedError(f"No graph of {folder.key} comes with Wayfare.") from None
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as problem:
        raise NotPreparedError(f"{file} holds no graph that can be read ({type(problem).__name__}).") from problem
    if recipe.model != folder.key:
        raise NotPreparedError(f"{file} holds the graph of {recipe.model}, not of {folder.key}.")
    return recipe, graph


def _tensor_like(wanted: NDArray[Any], tensors: Tensors) -> tuple[str, bool] | None:
    """The tensor with exactly these numbers, as it is or transposed."""
    for name, tensor in tensors.items():
        for transposed in (False, True):
            one = tensor.T if transposed else tensor
            if one.shape == wanted.shape and one.dtype == wanted.dtype and np.array_equal(one, wanted):
                return name, transposed
    return None


def _tokenizer_of(folder: ModelFolder) -> str:
    return _plain(Tokenizer.from_file(str(folder.path / "tokenizer.json")))


def _plain(tokenizer: Tokenizer) -> str:
    """Without what the runtime sets itself."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer.to_str()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
