"""Simple or complex: whether one pass over the catalog can do (PA-RAG, section 4.4, by rules instead of a model).

    score = sigmoid(-3.5 + 1.5 (requests - 1) + 0.5 (servers - 1) + 1.5 words / 30)          complex from one half on

Counted are the requests in the question, the servers that retrieval found and that one of them fits best, and words; each up to
a limit, so that a long question that asks for one thing stays simple. The weights are round figures near a logistic fit on
labelled questions (`tests/benchmarks/planning.py`, docs/decisions/0006-planner.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.planning.base import Complexity
from core.planning.decomposition import decompose
from core.planning.stems import content

BIAS, REQUEST, SERVER, LENGTH = -3.5, 1.5, 0.5, 1.5
QUESTION_WORDS = 30  # the length that counts as one
MOST_REQUESTS, MOST_SERVERS, MOST_LENGTH = 6, 4, 2.0


def complexity(question: str, servers: Sequence[str]) -> Complexity:
    """Simple or complex, with the evidence. `servers` are the texts of the servers that retrieval found.

    >>> complexity("what is the weather in Oslo", ["weather", "mail"]).evidence
    ('1 request', 'it fits 1 of 2 servers best', '6 words')
    >>> complexity("find the report, translate it, then mail it to Bo and note the date", ["reports", "mail"]).label
    'complex'
    """
    parts = decompose(question)
    fitted = len(_fitted([part.text for part in parts], servers))
    words = len(question.split())
    total = math.fsum((
        BIAS,
        REQUEST * (min(len(parts), MOST_REQUESTS) - 1),
        SERVER * (min(max(fitted, 1), MOST_SERVERS) - 1),
        LENGTH * min(words / QUESTION_WORDS, MOST_LENGTH),
    ))  # fmt: skip
    score = 1 / (1 + math.exp(-total))
    several = len(parts) > 1
    evidence = [f"{len(parts)} request{'s' * several}"]
    if servers:
        evidence.append(f"{'they fit' if several else 'it fits'} {fitted} of {len(servers)} servers best")
    return Complexity("complex" if score >= 0.5 else "simple", score, (*evidence, f"{words} words"))


def _fitted(parts: Sequence[str], servers: Sequence[str]) -> set[int]:
    """The servers that have more of the words of some part than any other, by position; the first of equals."""
    offered = [set(content(server)) for server in servers]
    fitted: set[int] = set()
    for part in parts:
        shared = [len(words.intersection(content(part))) for words in offered]
        if most := max(shared, default=0):
            fitted.add(shared.index(most))
    return fitted
