"""The exported encoder: put together without torch, exported by torch, and in daily use.

An ONNX file is a small graph and large weights. Torch takes seconds to load and to trace, and makes the same graph of the same model
every time. So the graph ships (12 kB, `data/<model>.zip`), and the first start fills in the weights from `model.safetensors`. The
result must have the digest noted when torch made it, else it is not used. A tuned model's difference is added after that check.

`make catalog` makes the graphs again (docs/decisions/0013-shipped-vectors.md).
"""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.domain.progress import Report, Step, reported, silent
from core.relevance.encoder import Encoder, EncoderError, EncoderSource, Vectors
from core.relevance.encoder_model import ModelFolder, changes, load, model_folder, tuned_folder
from core.relevance.encoder_runtime import (
    INPUTS,
    OUTPUT,
    TOKENS,
    CacheError,
    Manifest,
    Runtime,
    SentenceEncoder,
    place,
    whole,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false


PREPARED = Path(__file__).with_name("data")
GRAPH, RECIPE = "graph.onnx", "recipe.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # equal graphs give equal files


Tensors = dict[str, NDArray[Any]]


class NotPreparedError(EncoderError):
    """The shipped graph is missing or belongs to another model."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the export of one model is put together.

    `model` is the model's key, `sha256` the digest of the file with the frozen weights, `tokenizer` that of the tokenizer. `weights`
    has for each initializer of the graph its tensor, and whether that is transposed.
    """

    model: str
    sha256: str
    tokenizer: str
    max_tokens: int
    dimension: int
    weights: dict[str, tuple[str, bool]]


def assemble(folder: ModelFolder, target: Path, prepared: Path = PREPARED) -> None:
    """Put the export of a model together in `target`. Raises NotPreparedError if no graph fits the model."""
    recipe, graph = _read(prepared / f"{folder.key}.zip", folder)
    tokenizer, tensors = _tokenizer_of(folder), _frozen_tensors(folder)
    weights = _filled(graph, recipe, tensors)
    if hashlib.sha256(weights).hexdigest() != recipe.sha256 or _digest(tokenizer) != recipe.tokenizer:
        raise NotPreparedError(f"What was put together of {folder.key} is not what torch exported.")
    if folder.difference is not None:
        weights = _filled(graph, recipe, _tuned_tensors(folder, tensors))
    place(weights, target, tokenizer=tokenizer, max_tokens=recipe.max_tokens, dimension=recipe.dimension)


def prepare(folder: ModelFolder, export: Path, prepared: Path = PREPARED) -> Path:
    """Keep the graph of torch's export without its weights. Returns the file.

    Raises EncoderError if the model's own files do not give the export again, to the last bit.
    """
    import onnx
    from onnx import numpy_helper
    from tokenizers import Tokenizer

    manifest = Manifest.read(export)
    weights = whole(export)
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
    """The tensors with the folder's difference added, as `core.relevance.encoder_model.merged` adds it."""
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
    from tokenizers import Tokenizer

    return _plain(Tokenizer.from_file(str(folder.path / "tokenizer.json")))


def _plain(tokenizer: Tokenizer) -> str:
    """The tokenizer without settings that the runtime makes itself."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer.to_str()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Torch to ONNX, once per model: export transformer and pooling, verify, put in place

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
    """Export a model into `target`. It is verified against torch before it is put in place.

    Several processes may export at once: each writes its own files, and the last manifest wins. Raises EncoderError if the model cannot
    be exported or the result differs from torch.
    """
    reference = SentenceEncoder(folder)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "weights.onnx"
        _write(reference, file)
        weights = file.read_bytes()
    tokenizer = reference.transformer.tokenizer.backend_tokenizer.to_str()
    max_tokens = int(reference.transformer.max_seq_length or 512)
    runtime = Runtime(weights, tokenizer, max_tokens=max_tokens, dimension=folder.dimension)
    verify(reference.encode(PROBES), runtime.encode(PROBES))
    place(weights, target, tokenizer=tokenizer, max_tokens=max_tokens, dimension=folder.dimension)


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
        """The model with its pooling: token ids to one vector per text, and to one per token."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = encoder.transformer

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = self.inner(dict(zip(names, tensors, strict=True)))
            return found["sentence_embedding"], found["token_embeddings"]

    # two lengths in one batch, so that the trace keeps the attention mask
    batch: dict[str, Any] = dict(encoder.transformer.tokenizer(["a b", "a b c d e"], padding=True, return_tensors="pt"))
    names = [name for name in INPUTS if name in batch]
    axes = {name: {0: "texts", 1: "tokens"} for name in names} | {
        OUTPUT: {0: "texts"},
        TOKENS: {0: "texts", 1: "tokens"},
    }
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its age and its tracing
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


# Daily use: the exported model from the cache
# On first use the shipped graph gives the export, or torch makes it for any other model. If both fail, torch embeds. The encoder's note
# says what failed.

Exporter = Callable[[ModelFolder, Path], str]
"""Puts a usable export of a model into a folder, or raises. Returns a sentence on what it could not use, or ""."""
ASSEMBLING = Step("Putting the encoder together, once", after="embedding what has no vector yet")
EXPORTING = Step(
    "Exporting the encoder with torch, once, in about ten seconds", after="embedding what has no vector yet"
)
_log = logging.getLogger(__name__)


def onnx_source(
    root: Path, name_or_path: str = "", *, tuned: bool = False, difference: str | Path = "", report: Report = silent
) -> EncoderSource:
    """An `OnnxEncoder` that opens for the first text; exports are kept under `root`.

    `tuned` adds a `difference` ("": the shipped one, a file, or "none"), under a key of its own. If the difference cannot be read or
    belongs to another model, it is the frozen model with a note.

    >>> onnx_source(Path("models")).dimension
    384
    """
    found = model_folder(name_or_path)
    folder = tuned_folder(found, difference) if tuned else found
    return EncoderSource(folder.key, folder.dimension, lambda: OnnxEncoder(root, folder, export=exporter(report)))


def exporter(report: Report = silent, *, by_torch: Callable[[ModelFolder, Path], object] | None = None) -> Exporter:
    """An export from the shipped graph (about a second), or by torch for any other model (about ten)."""

    def export(folder: ModelFolder, target: Path) -> str:
        try:
            with reported(report, ASSEMBLING):
                assemble(folder, target)
            return ""
        except (NotPreparedError, OSError, ValueError, KeyError) as problem:
            with reported(report, EXPORTING):
                (by_torch or export_model)(folder, target)
            return f"Torch has exported the encoder: {problem}"

    return export


class OnnxEncoder:
    """The model run by onnxruntime: within 1e-5 of torch in cosine, and without torch once exported.

    Exports are kept under `root`, a folder for each model; `export` makes one (None: `exporter`). `note` is empty, or says why torch did
    the work or why another model is used; it is logged too. Raises EncoderError if the model is not on this machine.
    """

    def __init__(
        self, root: Path, model: str | ModelFolder = "", *, threads: int = 2, export: Exporter | None = None
    ) -> None:
        folder = model if isinstance(model, ModelFolder) else model_folder(model)
        self.model = folder.key
        self.dimension = folder.dimension
        self.note = folder.note
        self._export = export or exporter()
        self._inner = self._open(folder, root / folder.key, threads)
        if self.note:
            _log.warning("%s", self.note)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, D) unit rows in the order of the texts; a blank text is a row of zeros."""
        return self._inner.encode(texts)

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The same, and (tokens, D) unit rows of each text; none for a blank text."""
        return self._inner.with_tokens(texts)

    def _open(self, folder: ModelFolder, target: Path, threads: int) -> Runtime | Encoder:
        try:
            return Runtime.open(target, threads=threads)
        except CacheError:
            try:
                self.note = self._export(folder, target) or self.note
                return Runtime.open(target, threads=threads)
            except Exception as problem:  # noqa: BLE001  torch can embed after any failed export
                reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
                self.note = f"Embedding runs on torch, not on onnxruntime: {reason}"
                return SentenceEncoder(folder, note=self.note)
