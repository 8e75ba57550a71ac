"""A question in parts: each is one request, with the earlier parts that it needs.

    "Find the report, look up the rate in Oslo, and mail the report to Bo"
    -> 0 find the report   1 look up the rate in Oslo (needs 0)   2 mail the report to Bo (needs 0)

A part needs the last earlier one that it has a word in common with; else, where it points back ("it", "those", "the", "then"),
the one just before. What a question says of the place ("On git-forge: ...") goes with every part that follows. Pronouns are
not resolved: that was tried, and finds no more tools (docs/decisions/0006-planner.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from core.planning.base import SubQuery
from core.planning.literals import masked
from core.planning.requests import Request, requests
from core.planning.stems import content
from core.planning.word_classes import BACK_REFERENCES, PREPOSITIONS, STOP_WORDS

PLACE_WORDS = 5
_PLACING = PREPOSITIONS | {"use", "using"}


@lru_cache(maxsize=256)
def decompose(question: str, limit: int = 8) -> tuple[SubQuery, ...]:
    """At most `limit` parts in order; the question itself where it asks for one thing.

    >>> [(part.text, part.needs) for part in decompose("On git-forge: make a branch and open a PR for it")]
    [('On git-forge: make a branch', ()), ('On git-forge: open a PR for it', (0,))]
    >>> len(decompose("Buy bread and butter between nine and ten"))
    1
    """
    found = requests(question)
    if len(found) < 2 or limit < 2:
        return (SubQuery(question.strip()),)
    if len(found) > limit:  # the rest stays with the last one
        last = found[limit - 1]
        rest = ", ".join(request.text for request in found[limit - 1 :])
        found = (*found[: limit - 1], Request(rest, last.preface, last.joint))
    return _parts(found)


def _parts(found: Sequence[Request]) -> tuple[SubQuery, ...]:
    parts: list[SubQuery] = []
    words: list[set[str]] = []
    place = ""
    for request in found:
        place = _place(request.preface) or place
        needed = _needed(request, words)
        words.append(set(content(request.text)))
        parts.append(SubQuery(f"{place}: {request.text}" if place else request.text, needed))
    return tuple(parts)


def _needed(request: Request, earlier: Sequence[set[str]]) -> tuple[int, ...]:
    words = set(content(request.text))
    shared = [position for position, others in enumerate(earlier) if words & others]
    if shared:
        return (shared[-1],)
    wording = masked(request.text).lower()
    back = request.joint == "then" or not BACK_REFERENCES.isdisjoint(re.findall(r"\w+", wording))
    return (len(earlier) - 1,) if earlier and back else ()


def _place(preface: str) -> str:
    """A short preface that names where all happens: "On news-wire", "quick-answers"; empty where it does not."""
    words = [word for word in re.split(r"[\s,]+", preface) if word]
    placed = len(words) in {1, 2} or (0 < len(words) <= PLACE_WORDS and words[0].lower() in _PLACING)
    named = any(word.lower() not in STOP_WORDS for word in words)
    return " ".join(words) if placed and named else ""
