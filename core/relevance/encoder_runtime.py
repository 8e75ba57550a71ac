"""Running an encoder: the exported model with onnxruntime and a tokenizer, and its reference on torch.

An export is a graph, the tensors beside it, and `model.json` (tokenizer, window, names of both files and their SHA-256). The manifest
is replaced last and in one step, so that a reader sees the old export or the new one, never a mixture. The tensors stay on disk and
are mapped into memory: of the 47 MB of word vectors, a process holds the words that were asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import EncoderError, Vectors, cleaned, unit_rows
from core.relevance.encoder_model import ModelFolder, load, merged, model_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Encoding

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false


MANIFEST = "model.json"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT, TOKENS = "vectors", "tokens"
BATCH = 8
"""Texts of like length that go through the model at once. On one thread a small batch takes the least time for each text."""
PAGE, BLOCK = 4096, 1 << 20  # bytes: tensors begin at a page, so that they can be mapped; files are read in blocks


class CacheError(Exception):
    """The folder has no usable export: it is missing, unreadable, or not what its manifest says."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of an export. `sha256` is that of graph and tensors in this order, `max_tokens` the model's window, `dimension` the
    width of a vector."""

    graph: str
    tensors: str
    sha256: str
    tokenizer: str
    max_tokens: int
    dimension: int

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a folder. Raises OSError, ValueError or TypeError if it cannot be read."""
        return cls(**json.loads((folder / MANIFEST).read_text("utf-8")))

    def digest(self, folder: Path) -> str:
        """The SHA-256 of the two files in a folder. Raises OSError if one is missing."""
        found = hashlib.sha256()
        for name in (self.graph, self.tensors):
            with (folder / Path(name).name).open("rb") as file:
                while block := file.read(BLOCK):
                    found.update(block)
        return found.hexdigest()


def place(model: bytes, folder: Path, *, tokenizer: str, max_tokens: int, dimension: int) -> None:
    """Make an ONNX file the folder's export in one step."""
    import onnx
    from onnx.external_data_helper import set_external_data

    stem = hashlib.sha256(model).hexdigest()[:16]
    graph_name, tensors_name = f"{stem}.onnx", f"{stem}.bin"
    opened: Any = onnx.load_from_string(model)
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".export-") as name:
        scratch = Path(name)
        with (scratch / tensors_name).open("wb") as file:
            for tensor in opened.graph.initializer:
                if len(tensor.raw_data) >= PAGE:
                    file.write(bytes(-file.tell() % PAGE))
                    set_external_data(tensor, tensors_name, offset=file.tell(), length=len(tensor.raw_data))
                    file.write(tensor.raw_data)
                    tensor.ClearField("raw_data")
        (scratch / graph_name).write_bytes(opened.SerializeToString())
        manifest = Manifest(graph_name, tensors_name, "", tokenizer, max_tokens, dimension)
        manifest = replace(manifest, sha256=manifest.digest(scratch))
        (scratch / MANIFEST).write_text(json.dumps(asdict(manifest)), "utf-8")
        for file_name in (tensors_name, graph_name, MANIFEST):
            (scratch / file_name).replace(folder / file_name)


def whole(folder: Path) -> bytes:
    """The ONNX file that was placed in a folder. Raises OSError, ValueError or TypeError if it cannot be read."""
    import onnx

    manifest = Manifest.read(folder)
    model: Any = onnx.load_from_string((folder / manifest.graph).read_bytes())
    tensors = (folder / manifest.tensors).read_bytes()
    for tensor in model.graph.initializer:
        if tensor.external_data:
            kept = {entry.key: entry.value for entry in tensor.external_data}
            start = int(kept["offset"])
            tensor.raw_data = tensors[start : start + int(kept["length"])]
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return model.SerializeToString()


class Runtime:
    """Texts to unit vectors with onnxruntime; safe for several threads. `model` is an ONNX file, or its content.

    Each batch is computed on one thread, and up to `threads` batches at once. That takes less time for many texts than several threads
    for one batch, which wait for each other, and the same time for a query.
    """

    def __init__(
        self, model: Path | bytes, tokenizer: str, *, max_tokens: int, dimension: int, threads: int = 2
    ) -> None:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else onnxruntime sends usage events over the network
        import onnxruntime as ort
        from tokenizers import Tokenizer

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # an arena keeps 30 MB after a long text, and saves no time
        content = str(model) if isinstance(model, Path) else model
        self._session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        if TOKENS not in {item.name for item in self._session.get_outputs()}:
            raise CacheError("the export is older than token vectors")
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self.dimension = dimension
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="embedding")

    @classmethod
    def open(cls, folder: Path, *, threads: int = 2) -> Runtime:
        """The export in a folder, checked against its digest. Raises CacheError if it is unusable."""
        try:
            manifest = Manifest.read(folder)
            if manifest.digest(folder) != manifest.sha256:
                raise CacheError(f"{folder / manifest.graph} or its tensors were changed after they were written")
            return cls(
                folder / Path(manifest.graph).name,
                manifest.tokenizer,
                max_tokens=manifest.max_tokens,
                dimension=manifest.dimension,
                threads=threads,
            )
        except CacheError:
            raise
        except Exception as problem:  # a damaged file may fail anywhere above; then it is exported again
            raise CacheError(f"{folder} holds no usable export ({type(problem).__name__})") from problem

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, D) unit rows in the order of the texts; a blank text is a row of zeros."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        batches = list(self._batches(texts))
        if len(batches) == 1:  # a query
            ((rows, encodings),) = batches
            vectors[rows] = unit_rows(*self._run(encodings, OUTPUT))
            return vectors
        computed = self._workers.map(self._run, [encodings for _, encodings in batches], repeat(OUTPUT))
        for (rows, _), found in zip(batches, computed, strict=True):
            vectors[rows] = unit_rows(*found)
        return vectors

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The same, and (tokens, D) unit rows of each text, without the marks of its beginning and end."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [np.zeros((0, self.dimension), dtype=np.float32) for _ in texts]
        for rows, encodings in self._batches(texts):
            found, of_tokens = self._run(encodings, OUTPUT, TOKENS)
            vectors[rows] = unit_rows(found)
            for row, encoding, each in zip(rows, encodings, of_tokens, strict=True):
                words = np.asarray(encoding.special_tokens_mask) == 0
                tokens[row] = unit_rows(each[: len(words)][words])
        return vectors, tokens

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[Encoding]]]:
        """Rows and encodings of the texts that are not blank, similar lengths together."""
        prepared = [cleaned(text) for text in texts]
        filled = [row for row, text in enumerate(prepared) if text]
        encodings = self._tokenizer.encode_batch([prepared[row] for row in filled])
        by_length = sorted(range(len(filled)), key=lambda place: len(encodings[place].ids))
        for start in range(0, len(filled), BATCH):
            places = by_length[start : start + BATCH]
            yield [filled[place] for place in places], [encodings[place] for place in places]

    def _run(self, batch: Sequence[Encoding], *outputs: str) -> list[NDArray[np.float32]]:
        width = max(len(item.ids) for item in batch)
        feeds: dict[str, Any] = {name: np.zeros((len(batch), width), dtype=np.int64) for name in INPUTS}
        for row, item in enumerate(batch):
            for name, values in zip(INPUTS, (item.ids, item.attention_mask, item.type_ids), strict=True):
                feeds[name][row, : len(values)] = values
        found = self._session.run(outputs, {name: feeds[name] for name in feeds if name in self._inputs})
        return [np.asarray(one, dtype=np.float32) for one in found]


# Sentence-transformers on torch: exact, slow to load (5 s), the reference of `core.relevance.onnx_encoder`


class SentenceEncoder:
    """The model run by torch on the CPU, without network.

    `note` says why it replaces another runtime, if it does. Raises EncoderError if the model is missing or torch cannot load it.
    """

    def __init__(self, model: str | ModelFolder = "", *, note: str = "") -> None:
        folder = model if isinstance(model, ModelFolder) else model_folder(model)
        self.model = folder.key
        self.note = note
        self.transformer = _load(folder)
        self.dimension = folder.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, D) unit rows in the order of the texts; a blank text is a row of zeros."""
        prepared = [cleaned(text) for text in texts]
        vectors = np.zeros((len(prepared), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(prepared) if text]
        if filled:
            found = self.transformer.encode([prepared[row] for row in filled], show_progress_bar=False)
            vectors[filled] = unit_rows(np.asarray(found))
        return vectors

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The same, and (tokens, D) unit rows of each text, without the marks of its beginning and end. Torch runs twice for it."""
        prepared = [cleaned(text) for text in texts]
        filled = [text for text in prepared if text]
        known = dict(zip(filled, self._token_rows(filled), strict=True)) if filled else {}
        none = np.zeros((0, self.dimension), dtype=np.float32)
        return self.encode(texts), [known[text] if text else none for text in prepared]

    def _token_rows(self, texts: Sequence[str]) -> Iterator[Vectors]:
        model: Any = self.transformer
        found = model.encode(texts, output_value="token_embeddings", show_progress_bar=False)
        marks = model.tokenizer(
            texts, truncation=True, max_length=model.max_seq_length, return_special_tokens_mask=True
        )["special_tokens_mask"]
        for vectors, marked in zip(found, marks, strict=True):
            yield unit_rows(np.asarray(vectors)[: len(marked)][np.asarray(marked) == 0])


def _load(folder: ModelFolder) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = SentenceTransformer(str(folder.path), device="cpu", local_files_only=True)
        return model if folder.difference is None else merged(model, load(folder.difference)[0])
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as problem:
        reason = (str(problem).splitlines() or ["unknown reason"])[0][:200]
        raise EncoderError(f"The model in {folder.path} cannot be loaded: {reason}; give another model.") from problem
