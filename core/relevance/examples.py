"""Example questions of general kinds of tools, which move a query towards tools.

Few people ask in the words of a tool: "chuck out old docker leftovers" means `prune`. 2,382 kinds of tools have sixteen questions
each (relevance feedback; Rocchio 1971, where d is the mean of what is relevant):

    near = cos(q, e), of a kind: that of its nearest example e
    d    = sum over the five nearest kinds of softmax(near / 0.03) v_kind, of length 1       v: the kind's mixed views
    sure = clip((greatest near - 0.30) / 0.35, 0, 1)
    q'   = q + 0.7 sure d, of length 1

The kinds and questions are in `data/examples.jsonl`. They were written without sight of any catalog or question that is used for
judging. Their vectors ship for the shipped encoder; another encoder's queries are not moved. `sample_catalog.authoring.vectors` writes them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.progress import made_once
from core.relevance.encoder import Vectors

DATA = Path(__file__).parent / "data"
TEXTS = DATA / "examples.jsonl"
QUESTIONS = 16  # of each kind
KINDS, TEMPERATURE = 5, 0.03
LOOKED_AT = 32  # kinds, nearest by their mean question, whose examples are compared
FAR, NEAR = 0.30, 0.65
SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Examples:
    """K kinds of Q questions: `questions` (K, Q, D) of any length, with `lengths` (K, Q); `centres` (K, D), the normalised means of the
    unit vectors; and `tools` (K, D).
    """

    questions: NDArray[Any]
    lengths: NDArray[np.float32]
    centres: Vectors
    tools: Vectors

    @classmethod
    def of(cls, questions: Vectors, tools: Vectors) -> Examples:
        """From unit vectors of the questions, (K, Q, D)."""
        return cls(questions, np.ones(questions.shape[:2], dtype=np.float32), _unit(questions.mean(axis=1)), tools)

    def some(self, count: int) -> Vectors:
        """(B, D) about `count` of the questions, of as many kinds."""
        step = max(1, len(self.questions) // count)
        return self.questions[::step, 0].astype(np.float32) / self.lengths[::step, :1]

    def shift(self, vector: Vectors) -> Vectors:
        """(D,) -> (D,): 0.7 sure d, which is added to a query. Zeros if no example is near.

        >>> one = Examples.of(np.eye(3, dtype=np.float32)[[[0]] * 6], np.eye(3, dtype=np.float32)[[2] * 6])
        >>> one.shift(np.array([1, 0, 0], dtype=np.float32)), one.shift(np.array([0, 1, 0], dtype=np.float32))
        (array([0. , 0. , 0.7], dtype=float32), array([0., 0., 0.], dtype=float32))
        """
        means = self.centres @ vector
        looked_at = np.argpartition(-means, LOOKED_AT)[:LOOKED_AT] if len(means) > LOOKED_AT else np.arange(len(means))
        cosines = self.questions[looked_at].astype(np.float32) @ vector / self.lengths[looked_at]
        near = cosines.max(axis=1)
        first = np.argpartition(-near, KINDS)[:KINDS]
        greatest = float(near[first].max())
        sure = min(max((greatest - FAR) / (NEAR - FAR), 0.0), 1.0)
        if not sure:
            return np.zeros_like(vector)
        weights = np.exp((near[first] - greatest) / TEMPERATURE)
        direction = weights @ self.tools[looked_at[first]]
        return (SHARE * sure / np.linalg.norm(direction) * direction).astype(np.float32)


@made_once
def shipped_examples(model: str) -> Examples | None:
    """The examples as a model's vectors. None if no vectors ship for the model, or they are of other texts.

    The questions stay on disk, mapped into memory: a query reads a fiftieth of them.
    """
    questions, kinds = vector_files(model)
    if not (questions.is_file() and kinds.is_file()):
        return None
    with np.load(BytesIO(kinds.read_bytes()), allow_pickle=False) as known:
        if str(known["texts"]) != digest():
            return None
        mapped = np.load(questions, mmap_mode="r", allow_pickle=False)
        return Examples(mapped, known["lengths"], *(known[name].astype(np.float32) for name in ("centres", "tools")))


def vector_files(model: str) -> tuple[Path, Path]:
    """The files of a model's vectors: of the questions, and of the kinds."""
    return DATA / f"{model}.npy", DATA / f"{model}.npz"


def digest() -> str:
    """The digest of the texts, which ties vectors to them."""
    return hashlib.sha256(TEXTS.read_bytes()).hexdigest()[:16]


def _unit(rows: NDArray[np.float32]) -> Vectors:
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
