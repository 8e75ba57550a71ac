"""The words of a text that carry its meaning, as stems, so that "reservations" meets "reserve"."""

from __future__ import annotations

import re
from functools import lru_cache

from core.planning.literals import plain
from core.planning.word_classes import STOP_WORDS
from core.shared.english import stem

_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


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
