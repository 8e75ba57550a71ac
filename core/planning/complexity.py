"""Simple or complex: whether one pass over the catalog can do (PA-RAG, section 4.4, by rules instead of a model).

    score = sigmoid(w0 + w . signals)              complex from one half on

The signals: how many requests the question holds, how many of the servers that retrieval found they match, whether words
of sequence tie them together, and how long the question is. The weights are round figures near a logistic fit on labelled
questions, with length held down: a long question that asks for one thing stays simple (`tests/benchmarks/planning.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.planning.base import Complexity
from core.planning.decomposition import decompose
from core.planning.lexicon import SEQUENCES
from core.planning.literals import masked
from core.planning.stems import content

BIAS, PARTS, SERVERS, SEQUENCE, LENGTH = -3.6, 1.6, 0.3, 0.6, 1.5
_SEQUENCE = re.compile(rf"\b(?:{'|'.join(SEQUENCES)})\b", re.IGNORECASE)
QUESTION_WORDS = 30  # the length that counts as one


@dataclass(frozen=True, slots=True)
class Signals:
    """What is counted: requests, servers that they match, words of sequence, words in all."""

    parts: int
    servers: int
    sequence: int
    words: int

    def vector(self) -> tuple[float, float, float, float]:
        """As the weights take them, none without a limit."""
        return (
            min(self.parts, 6) - 1,
            max(0, min(self.servers, 4) - 1),
            min(self.sequence, 2),
            min(self.words / QUESTION_WORDS, 2.0),
        )


def signals(question: str, servers: Sequence[str]) -> Signals:
    """Count. `servers` are the texts of the servers that retrieval found."""
    parts = decompose(question)
    held = masked(question)
    stems = [set(content(server)) for server in servers]
    matched = {best for part in parts if (best := _best(set(content(part.text)), stems)) is not None}
    return Signals(len(parts), len(matched), len(_SEQUENCE.findall(held)), len(held.split()))


def complexity(question: str, servers: Sequence[str]) -> Complexity:
    """Simple or complex, with the evidence.

    >>> complexity("what is the weather in Oslo", ["weather", "mail"]).label
    'simple'
    >>> complexity("find the report, translate it, then mail it to Bo and note the date", ["reports", "mail"]).evidence[0]
    '4 requests'
    """
    counted = signals(question, servers)
    weights = (PARTS, SERVERS, SEQUENCE, LENGTH)
    total = BIAS + math.fsum(w * x for w, x in zip(weights, counted.vector(), strict=True))
    score = 1 / (1 + math.exp(-total))
    return Complexity("complex" if score >= 0.5 else "simple", score, _evidence(counted, len(servers)))


def _evidence(counted: Signals, offered: int) -> tuple[str, ...]:
    said = [f"{counted.parts} request{'s' * (counted.parts != 1)}"]
    if offered:
        said.append(f"they match {counted.servers} of {offered} servers")
    if counted.sequence:
        said.append(f"{counted.sequence} word{'s' * (counted.sequence != 1)} of sequence")
    return (*said, f"{counted.words} words")


def _best(words: set[str], servers: Sequence[set[str]]) -> int | None:
    """The server whose text has most of the words; None where none has any. The first of equals."""
    found = [len(words & server) for server in servers]
    best = max(found, default=0)
    return found.index(best) if best else None
