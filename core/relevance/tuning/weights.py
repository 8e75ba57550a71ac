"""The change of weights by a tuning, and its file: low-rank factors below 2 MB that `core.relevance.onnx_encoder` adds to the model.

    D_r = [D S]_r S^-1,   S = (mean of x x^T over a matrix's inputs x)^(1/2),   [.]_r the best approximation of rank r

The truncation loses least on the inputs of the matrix (Eckart and Young 1936, applied to D S).

`make catalog` writes the graph of the model without its tensors (docs/decisions/0013-shipped-vectors.md), which stay in the model's package.
The graph names each tensor, with a mark if it holds the tensor transposed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import EncoderError
from core.relevance.onnx_encoder import (
    ABOUT,
    DOWN,
    INPUTS,
    OUTPUT,
    TOKENS,
    TRANSPOSED,
    UP,
    WEIGHTS,
    Factors,
    Tensors,
    model_folder,
    tensors_of,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

RIDGE = 1e-3  # of the mean variance of a matrix's inputs: S stays invertible
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Change:
    """Tuned minus frozen weights by parameter name. For a matrix (O, I), `inputs` has the mean (I, I) of x x^T over its inputs."""

    weights: Mapping[str, Matrix]
    inputs: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def scaled(self, share: float) -> Change:
        """Returns the change times `share`, between frozen (0) and tuned (1) weights (Wortsman et al. 2022, WiSE-FT)."""
        return Change({name: np.float32(share) * change for name, change in self.weights.items()}, self.inputs)


def low_rank(change: Change, rank: int) -> Factors:
    """Returns half-precision factors: NAME.up (O, r) and NAME.down (r, I) for each matrix; vectors as they are.

    >>> from core.relevance.onnx_encoder import changes
    >>> whole = Change({"layer.weight": np.outer(np.arange(4.0), np.ones(3)).astype(np.float32)})
    >>> bool(np.allclose(changes(low_rank(whole, 1))["layer.weight"], whole.weights["layer.weight"], atol=1e-2))
    True
    """
    factors: Factors = {}
    for name, whole in change.weights.items():
        if whole.ndim != 2:
            factors[name] = whole.astype(np.float16)
            continue
        root, inverse = _roots(change.inputs.get(name), whole.shape[1])
        left, sizes, right = np.linalg.svd(whole.astype(np.float64) @ root, full_matrices=False)
        even = np.sqrt(sizes[:rank])
        up, down = left[:, :rank] * even, (even[:, None] * right[:rank]) @ inverse
        level = np.sqrt(np.abs(down).max() / max(float(np.abs(up).max()), 1e-12)) or 1.0  # both within half precision
        factors[name + UP], factors[name + DOWN] = (up * level).astype(np.float16), (down / level).astype(np.float16)
    return factors


def _roots(moment: Matrix | None, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if moment is None:
        return np.eye(width), np.eye(width)
    values, axes = np.linalg.eigh(moment.astype(np.float64))
    positive = np.maximum(values, 0)
    sizes = np.sqrt(positive + RIDGE * float(positive.mean()))
    return (axes * sizes) @ axes.T, (axes / sizes) @ axes.T


def write_difference(path: Path, factors: Factors, about: Mapping[str, Any]) -> None:
    """Writes the file in one step. Equal arguments give equal bytes. `about["base"]` is the frozen model's key.

    Raises EncoderError if it cannot be written.
    """
    entry = np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)
    scratch = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{ABOUT: entry}, **factors)
        scratch.replace(path)
    except OSError as problem:
        raise EncoderError(f"The encoder difference cannot be written to {path}: {problem.strerror}.") from problem


# torch, onnx and sentence-transformers carry few types
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

OPSET = 17


def frozen_model() -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder = model_folder()
    try:
        return SentenceTransformer(str(folder.path), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        reason = (str(problem).splitlines() or ["unknown reason"])[0][:200]
        raise EncoderError(f"The model in {folder.path} cannot be loaded: {reason}; install it again.") from problem


def write_graph(file: Path) -> None:
    """Writes the graph of the packaged model. Raises EncoderError if the model lacks a tensor of the graph."""
    import onnx
    from onnx import numpy_helper

    tensors = tensors_of(model_folder())
    with TemporaryDirectory() as scratch:
        exported = Path(scratch) / "whole.onnx"
        _export(frozen_model(), exported)
        model: Any = onnx.load(exported)
    names: dict[str, str] = {}
    for tensor in model.graph.initializer:
        names[tensor.name] = tensor.name = _name_of(numpy_helper.to_array(tensor), tensors)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=WEIGHTS)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    file.write_bytes(model.SerializeToString())


def _name_of(array: NDArray[Any], tensors: Tensors) -> str:
    for name, tensor in tensors.items():
        if np.array_equal(tensor, array):
            return name
        if np.array_equal(tensor.T, array):
            return name + TRANSPOSED
    raise EncoderError(
        "The graph has a tensor that the model's package lacks; export it with another release of torch."
    )


def _export(model: SentenceTransformer, file: Path) -> None:
    import torch

    class Pipeline(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = cast(Any, model)

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            output = self.inner(dict(zip(INPUTS, tensors, strict=True)))
            return output["sentence_embedding"], output["token_embeddings"]

    # two lengths in one batch, so that the trace keeps the attention mask
    batch: dict[str, Any] = dict(cast(Any, model).tokenizer(["a b", "a b c d e"], padding=True, return_tensors="pt"))
    by_token = {0: "texts", 1: "tokens"}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its age and its tracing
        torch.onnx.export(
            Pipeline().eval(),
            tuple(batch[name] for name in INPUTS),
            str(file),
            input_names=list(INPUTS),
            output_names=[OUTPUT, TOKENS],
            dynamic_axes=dict.fromkeys(INPUTS, by_token) | {OUTPUT: {0: "texts"}, TOKENS: by_token},
            opset_version=OPSET,
            dynamo=False,
        )
