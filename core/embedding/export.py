"""Torch to ONNX, once per model: export the whole pipeline (transformer, pooling), prove it equal, put it in place."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

import hashlib
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from core.embedding.base import EncoderError, Vectors
from core.embedding.model import ModelFolder
from core.embedding.runtime import INPUTS, OUTPUT, TOKENS, Manifest, Runtime
from core.embedding.sentence import SentenceEncoder

OPSET = 17
TOLERANCE = 1e-5  # of a cosine
PROBES = (
    "",
    "a",
    "read a file",
    "Search the web for recent news about a company and return titles, links and snippets.",
    "get_weather byCity: {'city': 'Zürich', 'units': '°C'}",
    "使用必应搜索指定的关键词",
    "日本語のテキスト 한국어 العربية עברית हिन्दी",
    "😀 👩‍👩‍👧 \u200b\u0000 �",
    "x" * 300,
    "one two three four five six seven eight nine ten. " * 60,
    "漢字" * 400,
)


def export_model(folder: ModelFolder, target: Path) -> None:
    """Export a model into `target`, verified against torch before it is put in place.

    Several processes may do so at once: each writes its own files and the last manifest wins.
    Raises EncoderError where the model cannot be exported or the result differs from torch.
    """
    reference = SentenceEncoder(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".export-") as scratch:
        file = Path(scratch) / "weights.onnx"
        _write(reference, file)
        weights = file.read_bytes()
        digest = hashlib.sha256(weights).hexdigest()
        manifest = Manifest(
            weights=f"{digest[:16]}.onnx",
            sha256=digest,
            tokenizer=reference.transformer.tokenizer.backend_tokenizer.to_str(),
            max_tokens=int(reference.transformer.max_seq_length or 512),
            dimension=folder.dimension,
        )
        verify(reference.encode(PROBES), Runtime(weights, manifest).encode(PROBES))
        manifest.place(file, target)


def verify(expected: Vectors, found: Vectors) -> None:
    """Compare rows by cosine; a row of zeros must stay zero. (N, D) each.

    Raises EncoderError beyond 1e-5.

    >>> verify(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32))
    """
    distances = np.abs(1.0 - np.einsum("nd,nd->n", expected.astype(np.float64), found))
    blank = ~expected.any(axis=1)
    distances[blank] = np.abs(found[blank]).sum(axis=1)
    worst = float(np.max(distances, initial=0.0))
    if not worst <= TOLERANCE:
        raise EncoderError(f"The exported model differs from torch by {worst:.1e} in cosine.")


def _write(encoder: SentenceEncoder, file: Path) -> None:
    import torch

    class Pipeline(torch.nn.Module):
        """The model from token ids to one vector per text, whatever its pooling is, and to one per token."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = encoder.transformer

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = self.inner(dict(zip(names, tensors, strict=True)))
            return found["sentence_embedding"], found["token_embeddings"]

    # two lengths in one batch: the trace has to keep the attention mask
    batch: dict[str, Any] = dict(encoder.transformer.tokenizer(["a b", "a b c d e"], padding=True, return_tensors="pt"))
    names = [name for name in INPUTS if name in batch]
    axes = {name: {0: "texts", 1: "tokens"} for name in names} | {
        OUTPUT: {0: "texts"},
        TOKENS: {0: "texts", 1: "tokens"},
    }
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns that it is the stable, older one, and about its tracing
        torch.onnx.export(
            Pipeline().eval(),
            tuple(batch[name] for name in names),
            str(file),
            input_names=names,
            output_names=[OUTPUT, TOKENS],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
