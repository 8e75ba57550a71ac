"""Words brought to one form, so that "reservations" meets "reserve": an English suffix stripper, no dictionary.

>>> [stem(word) for word in ("cities", "booking", "books", "booked", "classes", "status")]
['city', 'book', 'book', 'book', 'class', 'status']
"""

from __future__ import annotations

import re
from functools import lru_cache

from core.planning.literals import plain
from core.planning.words import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def singular(word: str) -> str:
    """The word without the ending of a plural."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def stem(word: str) -> str:
    """The word without its inflection."""
    if (one := singular(word)) != word:
        return one
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=2048)
def content(text: str) -> tuple[str, ...]:
    """The stems of the words that say something, in order, each once; literals count as what they are.

    >>> content("Please list the files in https://a.example and mailTheReports")
    ('list', 'file', 'web', 'page', 'mail', 'report')
    """
    words = (found[0] for found in _WORD.finditer(_HUMP.sub(" ", plain(text))))
    return tuple(
        dict.fromkeys(stem(word) for word in map(str.lower, words) if word not in STOP_WORDS and len(word) > 1)
    )
