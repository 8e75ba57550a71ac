"""The graph of the encoder, made by torch: the model and its pooling, without its tensors.

`make catalog` writes it to `core.relevance.onnx_encoder.SHIPPED_GRAPH` (docs/decisions/0013-shipped-vectors.md). The tensors stay in the
model's package; the graph names each, with a mark if it holds the tensor transposed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from core.relevance.encoder import EncoderError
from core.relevance.onnx_encoder import INPUTS, OUTPUT, TOKENS, TRANSPOSED, WEIGHTS, Tensors, model_folder, tensors_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# torch, onnx and sentence-transformers carry few types
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

OPSET = 17


def frozen_model() -> SentenceTransformer:
    """Returns the packaged model on torch. Raises EncoderError if it cannot be loaded."""
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
    """Writes the graph of the packaged model. Raises EncoderError if a tensor of the graph is none of the model's."""
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


def _name_of(wanted: NDArray[Any], tensors: Tensors) -> str:
    for name, tensor in tensors.items():
        if np.array_equal(tensor, wanted):
            return name
        if np.array_equal(tensor.T, wanted):
            return name + TRANSPOSED
    raise EncoderError(
        "The graph has a tensor that the model's package lacks; export it with another release of torch."
    )


def _export(model: SentenceTransformer, file: Path) -> None:
    class Pipeline(torch.nn.Module):
        """Token ids to one vector per text, and to one per token."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = cast(Any, model)

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = self.inner(dict(zip(INPUTS, tensors, strict=True)))
            return found["sentence_embedding"], found["token_embeddings"]

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
