"""The encoder in daily use: the exported model from the cache.

On first use the export is put together from the graph that comes with Wayfare, or made by torch where that graph is another
model's; where neither works, torch embeds. What could not be used is in the encoder's note.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from core.embedding.base import Encoder, Vectors
from core.embedding.cached import EncoderSource
from core.embedding.difference import tuned_folder
from core.embedding.model import ModelFolder, model_folder
from core.embedding.prepared import NotPreparedError, assemble
from core.embedding.runtime import CacheError, Runtime
from core.embedding.sentence import SentenceEncoder
from core.shared.progress import Report, Step, reported, silent

Exporter = Callable[[ModelFolder, Path], str]
"""Puts a usable export of a model into a folder, or raises; returns a sentence on what it could not use, or nothing."""
ASSEMBLING = Step("Putting the encoder together, once", after="embedding what has no vector yet")
EXPORTING = Step(
    "Exporting the encoder with torch, once, in about ten seconds", after="embedding what has no vector yet"
)
_log = logging.getLogger(__name__)


def onnx_source(
    root: Path, name_or_path: str = "", *, tuned: bool = False, difference: str | Path = "", report: Report = silent
) -> EncoderSource:
    """An `OnnxEncoder` that is opened when the first text has to be embedded; `root` is where exports are kept.

    `tuned`: the model with a `difference` added ("": the shipped one, a file, or "none"), under a key of its own; the frozen
    model, with a note, where the difference cannot be read or belongs to another model.

    >>> onnx_source(Path("models")).dimension
    384
    """
    found = model_folder(name_or_path)
    folder = tuned_folder(found, difference) if tuned else found
    return EncoderSource(folder.key, folder.dimension, lambda: OnnxEncoder(root, folder, export=exporter(report)))


def exporter(report: Report = silent, *, by_torch: Exporter | None = None) -> Exporter:
    """The prepared graph with the model's weights (about a second), or torch for any other model (about ten)."""

    def export(folder: ModelFolder, target: Path) -> str:
        try:
            with reported(report, ASSEMBLING):
                assemble(folder, target)
            return ""
        except (NotPreparedError, OSError, ValueError, KeyError) as problem:
            with reported(report, EXPORTING):
                (by_torch or _with_torch)(folder, target)
            return f"Torch has exported the encoder: {problem}"

    return export


def _with_torch(folder: ModelFolder, target: Path) -> None:
    from core.embedding.export import export_model

    export_model(folder, target)


class OnnxEncoder:
    """The model run by onnxruntime: equal to torch within 1e-5 in cosine, without torch once it has been exported.

    Exports are kept under `root`, a folder for each model; `export` makes one (None: `exporter`). `note` is empty, or says why
    torch did the work instead or why the model is not the one that was asked for; the log has it too.
    Raises EncoderError where the model is not on this machine.
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

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """(tokens, D) unit rows of each text; none for a blank text."""
        return self._inner.tokens(texts)

    def _open(self, folder: ModelFolder, target: Path, threads: int) -> Runtime | Encoder:
        try:
            return Runtime.open(target, threads=threads)
        except CacheError:
            try:
                self.note = self._export(folder, target) or self.note
                return Runtime.open(target, threads=threads)
            except Exception as problem:  # noqa: BLE001  whatever stops the export: torch itself can still do the work
                reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
                self.note = f"Embedding runs on torch, not on onnxruntime: {reason}"
                return SentenceEncoder(folder, note=self.note)
