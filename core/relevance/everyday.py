"""Everyday words and what tools call it: "somewhere to sleep" asks for a hotel. One general table, of no catalog.

A line of `everyday.txt` is `everyday words : words of tools`; `,` separates alternatives, `+` joins what must all be there.

>>> sorted(Everyday.shipped().expanded("chuck the old draft"))[:2]
['delete', 'remove']
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from core.relevance.words import stem

_WORD = re.compile(r"[a-z&]+(?:'[a-z]+)?|[a-z]")
BONUS_OF_LENGTH = 0.5  # a phrase of two words says more than one word alone
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Alternatives, each a set of phrases that must all occur (as stems), and the words that tools use instead."""

    alternatives: tuple[tuple[Phrase, ...], ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Everyday:
    """The table, looked up for one text after the other. Immutable."""

    entries: tuple[Entry, ...]
    by_stem: Mapping[str, tuple[tuple[int, tuple[Phrase, ...]], ...]]
    """Entry and alternative, by the first word of the alternative."""

    @classmethod
    @cache
    def shipped(cls) -> Everyday:
        """The table that comes with Wayfare."""
        return cls.read(files("core.relevance").joinpath("everyday.txt").read_text(encoding="utf-8"))

    @classmethod
    def read(cls, text: str) -> Everyday:
        """A table from its lines; blank ones and those that begin with # are passed over."""
        entries = tuple(_entry(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))
        by_stem: dict[str, list[tuple[int, tuple[Phrase, ...]]]] = {}
        for number, entry in enumerate(entries):
            for phrases in entry.alternatives:
                if phrases and phrases[0]:
                    by_stem.setdefault(phrases[0][0], []).append((number, phrases))
        return cls(entries, {word: tuple(places) for word, places in by_stem.items()})

    def met(self, text: str) -> dict[int, float]:
        """The entries that a text meets, each with its weight: 1, and 0.5 more for each further word of the phrase."""
        sequence = stems(text)
        there = set(sequence)
        longest: dict[int, int] = {}
        for number, phrases in sorted({place for word in there for place in self.by_stem.get(word, ())}):
            if all(_occurs(phrase, sequence, there) for phrase in phrases):
                longest[number] = max(longest.get(number, 0), sum(map(len, phrases)))
        return {number: 1.0 + BONUS_OF_LENGTH * (length - 1) for number, length in longest.items()}

    def expanded(self, text: str) -> dict[str, float]:
        """The words that tools use for what a text says, with the largest weight of any entry."""
        found: dict[str, float] = {}
        for number, weight in self.met(text).items():
            for word in self.entries[number].words:
                found[word] = max(found.get(word, 0.0), weight)
        return found


def stems(text: str) -> list[str]:
    """The words of an English text as stems, in order.

    >>> stems("Don't forget the babies")
    ["don't", 'forget', 'the', 'babi']
    """
    return [stem(word) for word in _WORD.findall(text.lower().replace("’", "'"))]


def _entry(line: str) -> Entry:
    asked, _, words = line.partition(" : ")
    alternatives = tuple(
        tuple(tuple(stems(part)) for part in alternative.strip().split("+")) for alternative in asked.split(",")
    )
    return Entry(alternatives, tuple(words.split()))


def _occurs(phrase: Phrase, sequence: list[str], there: set[str]) -> bool:
    if not phrase or phrase[0] not in there:
        return not phrase
    size = len(phrase)
    return size == 1 or any(tuple(sequence[at : at + size]) == phrase for at in range(len(sequence) - size + 1))
