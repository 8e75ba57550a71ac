"""The encoder in daily use: the exported model from the cache; exported on first use; torch where that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from core.embedding.base import Encoder, Vectors
from core.embedding.cached import EncoderSource
from core.embedding.model import ModelFolder, model_folder
from core.embedding.runtime import CacheError, Runtime
from core.embedding.sentence import SentenceEncoder
from core.paths import cache_folder

Exporter = Callable[[ModelFolder, Path], None]  # puts a usable export of a model into a folder, or raises


def cache_root() -> Path:
    """Where exports are kept: in the cache, a folder `models/<key>` for each model."""
    return cache_folder() / "models"


def onnx_source(name_or_path: str = "") -> EncoderSource:
    """An `OnnxEncoder` that is opened when the first text has to be embedded.

    >>> onnx_source().dimension
    384
    """
    folder = model_folder(name_or_path)
    return EncoderSource(folder.key, folder.dimension, lambda: OnnxEncoder(name_or_path))


class OnnxEncoder:
    """The model run by onnxruntime: equal to torch within 1e-5 in cosine, without torch once it has been exported.

    `note` is empty, or says why torch does the work instead.
    Raises EncoderError where the model is not on this machine.
    """

    def __init__(
        self, name_or_path: str = "", *, root: Path | None = None, threads: int = 2, export: Exporter | None = None
    ) -> None:
        folder = model_folder(name_or_path)
        self.model = folder.key
        self.dimension = folder.dimension
        self.note = ""
        self._export = export or _export_with_torch
        self._inner = self._open(folder, (root or cache_root()) / folder.key, threads)

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
                self._export(folder, target)
                return Runtime.open(target, threads=threads)
            except Exception as problem:  # noqa: BLE001  whatever stops the export: torch itself can still do the work
                reason = (str(problem).splitlines() or [""])[0][:200] or type(problem).__name__
                self.note = f"Embedding runs on torch, not on onnxruntime: {reason}"
                return SentenceEncoder(folder, note=self.note)


def _export_with_torch(folder: ModelFolder, target: Path) -> None:
    from core.embedding.export import export_model

    export_model(folder, target)
