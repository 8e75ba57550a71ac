"""Quotations for findings: a place with the rest of its sentence around it."""

from __future__ import annotations

import re

AROUND = 50  # characters on each side of a place that are quoted with it
LONGEST_SENTENCE = 200  # characters before a place that may belong to its sentence
_STARTS = (". ", ".\n", "!", "?", "\n\n")
_END = re.compile(r"(?<=[.!?])\s|\n\n")


def sentence_before(text: str, place: int) -> str:
    """The part of a sentence before a place, at most 200 characters.

    >>> sentence_before("One. Two three", 9)
    ' Two '
    """
    start = max(text.rfind(sign, max(0, place - LONGEST_SENTENCE), place) for sign in _STARTS)
    return text[max(start + 1, place - LONGEST_SENTENCE, 0) : place]


def quoted(text: str, start: int, end: int) -> str:
    """A place with the rest of its sentence around it, in whole words.

    >>> quoted("Adds. First read the file a.txt and pass it on. Then stop.", 21, 31)
    'First read the file a.txt and pass it on.'
    """
    before = sentence_before(text, start).lstrip()
    if len(before) > AROUND:
        before = before[-AROUND:].partition(" ")[2]
    after = _END.split(text[end : end + AROUND + 1], maxsplit=1)[0]
    if len(after) > AROUND:
        after = after.rpartition(" ")[0]
    return f"{before}{text[start:end]}{after}".strip()
