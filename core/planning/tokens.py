"""Words, signs and sentences of a question in which literals are masked.

>>> from core.planning.literals import masked
>>> [token.word for token in tokens_of(masked("Mail 'the plan' to Bo, at 9.30!"))][:4]
['mail', 'ⵣⵣⵣⵣⵣⵣⵣⵣⵣⵣ', 'to', 'bo']
>>> text = "See Dr. Lind at 9. Then e.g. call Bo"
>>> [text[start:end] for start, end in sentences(text)]
['See Dr. Lind at 9.', 'Then e.g. call Bo']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.planning.literals import MASK

_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’./-]\w+)*|[^\w\s]")
_END = re.compile(r"(?<=[.!?;…])[)\]\"'”’]*\s+|(?<=[。！？；])|\s[-–—]+\s+|\n\s*")
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|mr|mrs|ms|dr|prof|st|approx|ca|incl|no|nr|fig|p|pp)|\b[A-Z])\.$", re.IGNORECASE
)
SHORT_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign: `raw` as it was written, `word` in lower case with a straight apostrophe."""

    raw: str
    start: int
    end: int
    word: str

    @property
    def literal(self) -> bool:
        """Whether it stands for a literal."""
        return MASK in self.raw


def tokens_of(wording: str, start: int = 0) -> list[Token]:
    """The tokens of a masked text that stands at `start` of a longer one."""
    found = _TOKEN.finditer(wording)
    return [Token(t[0], start + t.start(), start + t.end(), t[0].lower().replace("’", "'")) for t in found]


def sentences(wording: str) -> Iterator[tuple[int, int]]:
    """Where sentences start and end in a masked text."""
    start = 0
    for end in _END.finditer(wording):
        last_word = wording[max(start, end.start() - SHORT_CHARACTERS) : end.start()]
        if _SHORT.search(last_word) and "\n" not in end[0]:
            continue
        if wording[start : end.start()].strip():
            yield start, end.start()
        start = end.end()
    if wording[start:].strip():
        yield start, len(wording)
