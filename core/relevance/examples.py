"""What people say when they need a tool: example questions of general kinds of tools, which move a query towards tools.

Few people ask in the words of a tool: "chuck out old docker leftovers" is after `prune`. Sixteen questions of each of 2,382 kinds
of tools say what such a question is after (relevance feedback; Rocchio 1971, after which d is the mean of what is relevant):

    near = cos(q, e), of a kind: that of its nearest example e
    d    = sum over the five nearest kinds of softmax(near / 0.03) v_kind, of length 1       v: the kind's mixed views
    sure = clip((greatest near - 0.30) / 0.35, 0, 1)
    q'   = q + 0.7 sure d, of length 1

The kinds and their questions stand in `data/examples.jsonl`. They were written without sight of any catalog or question that
anything is judged by. Their vectors come for the shipped encoder; a query of another encoder stays where it is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Tool
from core.embedding.base import Vectors
from core.embedding.cached import CachedEncoder
from core.relevance.model import VIEW_MIX
from core.relevance.views import VIEWS

DATA = Path(__file__).parent / "data"
TEXTS = DATA / "examples.jsonl"
QUESTIONS = 16  # of each kind
KINDS, TEMPERATURE = 5, 0.03
LOOKED_AT = 32  # kinds whose examples are compared one by one: those whose mean question is nearest
FAR, NEAR = 0.30, 0.65
SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Examples:
    """K kinds of Q questions: `questions` (K, Q, D) of any length, with the lengths (K, Q); the normalised means of the unit
    vectors, `centres` (K, D); and `tools` (K, D)."""

    questions: NDArray[Any]
    lengths: NDArray[np.float32]
    centres: Vectors
    tools: Vectors

    @classmethod
    def of(cls, questions: Vectors, tools: Vectors) -> Examples:
        """With the means of the questions, (K, Q, D) unit vectors."""
        return cls(questions, np.ones(questions.shape[:2], dtype=np.float32), _unit(questions.mean(axis=1)), tools)

    def shift(self, vector: Vectors) -> Vectors:
        """(D,) -> (D,): 0.7 sure d, what is added to a query; zeros where no example is near.

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


@lru_cache(maxsize=4)
def shipped_examples(model: str) -> Examples | None:
    """The examples as a model's vectors; None for a model whose vectors do not come with Wayfare or are of other texts.

    The questions stay on disk, mapped into memory: a query looks at a fiftieth of them.
    """
    questions, kinds = vector_files(model)
    if not (questions.is_file() and kinds.is_file()):
        return None
    with np.load(BytesIO(kinds.read_bytes()), allow_pickle=False) as known:
        if str(known["texts"]) != digest():
            return None
        mapped = np.load(questions, mmap_mode="r", allow_pickle=False)
        return Examples(mapped, known["lengths"], *(known[name].astype(np.float32) for name in ("centres", "tools")))


def write_examples(encoder: CachedEncoder) -> tuple[Path, Path]:
    """Embed the texts and keep their vectors: questions in 8 bits, what is of a kind in 16."""
    kinds = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    tools = [Tool(kind["server"], kind["tool"], kind["description"]) for kind in kinds]
    asked: Vectors = encoder.encode_documents([text for kind in kinds for text in kind["questions"]])
    peaks: Vectors = np.abs(asked).max(axis=1, keepdims=True)
    coarse = np.round(asked / peaks * np.float32(127)).reshape(len(kinds), QUESTIONS, -1)
    mixed = sum(
        np.float32(share) * encoder.encode_documents([VIEWS[view](tool) for tool in tools])
        for view, share in VIEW_MIX.items()
    )
    questions, of_kinds = vector_files(encoder.model)
    np.save(questions, coarse.astype(np.int8))
    np.savez_compressed(
        of_kinds,
        texts=np.array(digest()),
        lengths=np.linalg.norm(coarse, axis=2).astype(np.float32),
        centres=_unit(asked.reshape(coarse.shape).mean(axis=1)).astype(np.float16),
        tools=np.asarray(mixed, dtype=np.float16),
    )
    return questions, of_kinds


def vector_files(model: str) -> tuple[Path, Path]:
    """Where a model's vectors are: of the questions, and what is of a kind."""
    return DATA / f"{model}.npy", DATA / f"{model}.npz"


def digest() -> str:
    """Of the texts: vectors belong to them alone."""
    return hashlib.sha256(TEXTS.read_bytes()).hexdigest()[:16]


def _unit(rows: NDArray[np.float32]) -> Vectors:
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
