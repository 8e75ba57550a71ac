"""BM25 over texts with an absolute score, stems, and the table of everyday words.

    score(q, d)    = sum over t in q of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg|d|))
    idf(t)         = ln(1 + (N - df + 0.5) / (df + 0.5))
    coverage(q, d) = score(q, d) / sum over t in q of idf(t) * (k1 + 1)

A term counts once, however often the query repeats it. A term of no text has the largest idf (df = 0): it cannot be matched, and
so lowers the coverage of every text.

>>> index = LexicalIndex(["send an email", "read a file", "list files"])
>>> index.coverage("read the file").argmax(), float(index.coverage("quantum")[1])
(np.int64(1), 0.0)
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Self

import numpy as np
import Stemmer  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from core.domain.progress import made_once

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false


K1, B = 1.5, 0.75
MAX_CHARACTERS = 20_000
# fmt: off
STOP_WORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have", "if", "in", "into", "is",
    "it", "its", "of", "on", "or", "that", "the", "their", "then", "there", "these", "this", "to", "was", "when",
    "which", "will", "with", "you", "your",
])
# fmt: on
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUNS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_STARTS_CJK = re.compile(rf"[{_CJK}]")
_HAS_HUMP = re.compile(r"[a-z][A-Z]")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d]+")


def terms(text: str) -> list[str]:
    """The terms of a text: lower-case words, parts of camelCase and snake_case, pairs of CJK characters; no stemming.

    A camelCase word counts as its parts and as a whole, so that "GitHub" meets "github".

    >>> terms("GitHub: get_weatherByCity v2, 搜索关键")
    ['github', 'git', 'hub', 'get', 'weatherbycity', 'weather', 'city', 'v2', '搜索', '索关', '关键']
    """
    return [term for run in _runs(text) for term in _terms_of(run)]


def _runs(text: str) -> list[str]:
    return _RUNS.findall(unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]))


@lru_cache(maxsize=65_536)  # texts share most words, so the index of 2,000 texts is made twice as fast
def _terms_of(run: str) -> tuple[str, ...]:
    return tuple(term for term in _split(run) if term not in STOP_WORDS)


def _split(run: str) -> Iterator[str]:
    if _STARTS_CJK.match(run):
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))
        return
    yield run.casefold()
    if _HAS_HUMP.search(run):
        yield from (part.casefold() for part in _HUMPS.findall(run))


class LexicalIndex:
    """BM25 scores of N texts, immutable. All scores are 0 without texts or terms.

    Each term has a column of the texts that contain it, with their scores: `starts` (V + 1,), `rows` and `parts` (entries,). These, and the
    terms as lines of UTF-8, `terms`, are all that an index is made of.
    """

    def __init__(self, texts: Sequence[str], *, words_of: Callable[[str], list[str]] = terms, b: float = B) -> None:
        self._words_of = words_of
        self._take(_postings(texts, words_of, b), len(texts))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], size: int, *, words_of: Callable[[str], list[str]] = terms
    ) -> Self:
        index = cls((), words_of=words_of)
        index._take(arrays, size)
        return index

    def _take(self, arrays: Mapping[str, NDArray[Any]], size: int) -> None:
        self.arrays, self._size = arrays, size
        lines = bytes(arrays["terms"]).decode().splitlines()
        self._vocabulary = {word: place for place, word in enumerate(lines)}
        # plain array views: slicing a memmap is slow
        starts, self._rows, self._parts = (np.asarray(arrays[name]) for name in ("starts", "rows", "parts"))
        frequency = np.diff(starts)
        self._starts: list[int] = starts.tolist()
        self._idf = np.log1p((size - frequency + 0.5) / (frequency + 0.5))

    def scores(self, query: str) -> NDArray[np.float32]:
        return self.scores_of(self._words_of(query))

    def coverage(self, query: str) -> NDArray[np.float32]:
        """(N,) in [0, 1]: the raw score divided by the largest possible score for this query."""
        words = list(dict.fromkeys(self._words_of(query)))
        scores = self.scores_of(words)
        if not words or not self._vocabulary:
            return scores
        columns = [self._vocabulary[term] for term in words if term in self._vocabulary]
        unseen = (len(words) - len(columns)) * np.log1p((self._size + 0.5) / 0.5)
        bound = (float(self._idf[columns].sum()) + unseen) * (K1 + 1)
        return np.minimum(scores / np.float32(bound), np.float32(1))

    def add(self, weights: Mapping[str, float], found: NDArray[np.float32]) -> None:
        """Adds to `found` (N,) the sum over words of weight times the word's BM25 score. Unknown words add nothing."""
        rows: list[NDArray[np.int32]] = []
        parts: list[NDArray[np.float32]] = []
        for word, weight in weights.items():
            column = self._vocabulary.get(word)
            if column is not None:
                entries = slice(self._starts[column], self._starts[column + 1])
                part = self._parts[entries]
                rows.append(self._rows[entries])
                parts.append(part if weight == 1.0 else np.float32(weight) * part)
        if rows:
            np.add.at(found, np.concatenate(rows), np.concatenate(parts))  # in the order of the words

    def scores_of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(N,) raw BM25 scores of a query given as words. Each word counts once."""
        scores = np.zeros(self._size, dtype=np.float32)
        self.add(dict.fromkeys(words, 1.0), scores)
        return scores


def _postings(texts: Sequence[str], words_of: Callable[[str], list[str]], b: float) -> dict[str, NDArray[Any]]:
    size, documents = len(texts), [Counter(words_of(text)) for text in texts]
    distinct = np.array([len(document) for document in documents], dtype=np.int64)
    entries, every = int(distinct.sum()), chain.from_iterable
    places = {word: place for place, word in enumerate(dict.fromkeys(every(documents)))}
    columns = np.fromiter(map(places.__getitem__, every(documents)), np.int64, entries)
    counts = np.fromiter(every(document.values() for document in documents), np.float32, entries)
    lengths = np.array([sum(document.values()) for document in documents], dtype=np.int64)
    order = np.argsort(columns, kind="stable")
    frequency = np.bincount(columns, minlength=len(places))
    weight = K1 * (1 - b + b * lengths / (lengths.mean() if columns.size else 1.0))
    saturated = (counts * np.float32(K1 + 1)) / (counts + np.repeat(weight, distinct))
    different, which = np.unique(frequency, return_inverse=True)  # few, so logarithms are taken singly, to the last bit
    idf = np.array([math.log(1 + (size - df + 0.5) / (df + 0.5)) for df in different.tolist()], dtype=np.float32)
    return {
        "terms": np.frombuffer("\n".join(places).encode(), dtype=np.uint8),
        "starts": np.concatenate([[0], np.cumsum(frequency)]),
        "rows": np.repeat(np.arange(size, dtype=np.int32), distinct)[order],
        "parts": (idf[which][columns] * saturated).astype(np.float32)[order],
    }


STEM_MARK = "~"
_PORTER: Any = Stemmer.Stemmer("porter", 0)  # pyright: ignore  # without its cache, which takes longer than a stem


@lru_cache(maxsize=65_536)
def words_in_common(text: str, other: str) -> list[str]:
    """Returns the words of a text whose stems are in another text, without stop words.

    >>> words_in_common("who booked the meeting rooms", "Book a room for a meeting.")
    ['booked', 'meeting', 'rooms']
    """
    other_stems = {stem(word) for word in terms(other)}
    return [word for word in dict.fromkeys(terms(text)) if stem(word) in other_stems]


def stem(word: str) -> str:
    """The stem of an English word by Porter's algorithm. Words of other languages hardly change."""
    return _PORTER.stemWord(word)


def words_and_stems(text: str) -> list[str]:
    """Every term of a text, followed by its stem with a mark.

    >>> words_and_stems("booking flights")
    ['booking', '~book', 'flights', '~flight']
    """
    return [token for run in _runs(text) for token in _with_stems(run)]


@lru_cache(maxsize=65_536)
def _with_stems(run: str) -> tuple[str, ...]:
    if run.isascii() and run.islower():  # most runs are a single word and need no split
        return () if run in STOP_WORDS else (run, STEM_MARK + stem(run))
    return tuple(token for term in _terms_of(run) for token in (term, STEM_MARK + stem(term)))


# Everyday words and the words of tools: "somewhere to sleep" asks for a hotel. A general table, independent of catalogs ---
# A line of `everyday.txt` is `everyday words : words of tools`. `,` separates alternatives, `+` joins words that must all occur.

_WORD = re.compile(r"[a-z&]+(?:'[a-z]+)?|[a-z]")
BONUS_OF_LENGTH = 0.5  # a phrase of two words says more than a single word
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Alternatives, each a set of phrases (stems) that must all occur, and the words that tools use instead."""

    alternatives: tuple[tuple[Phrase, ...], ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Everyday:
    entries: tuple[Entry, ...]
    by_stem: Mapping[str, tuple[tuple[int, int, tuple[str, ...]], ...]]
    """Alternatives by their first word: the entry, the number of words, and the other required phrases between spaces."""

    @classmethod
    @made_once
    def shipped(cls) -> Everyday:
        """The shipped table.

        >>> table = Everyday.shipped()
        >>> "delete" in table.words_of(table.met("chuck the old draft"))
        True
        """
        return cls.read(files("core.relevance").joinpath("everyday.txt").read_text(encoding="utf-8"))

    @classmethod
    def read(cls, text: str) -> Everyday:
        """A table from its lines. Blank lines and lines with # are skipped."""
        entries = tuple(_entry(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))
        by_stem: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
        for number, entry in enumerate(entries):
            for phrases in entry.alternatives:
                if phrases and phrases[0]:
                    word, length = phrases[0][0], sum(map(len, phrases))
                    others = tuple(f" {' '.join(phrase)} " for phrase in phrases if phrase not in {(), (word,)})
                    by_stem.setdefault(word, []).append((number, length, others))
        return cls(entries, {word: tuple(places) for word, places in by_stem.items()})

    def met(self, text: str) -> dict[int, float]:
        """The entries that a text meets with their weights: 1, and 0.5 for each further word of the phrase."""
        sequence = stems(text)
        spaced = f" {' '.join(sequence)} "
        longest: dict[int, int] = {}
        for word in self.by_stem.keys() & sequence:
            for number, length, others in self.by_stem[word]:
                if length > longest.get(number, 0) and all(phrase in spaced for phrase in others):
                    longest[number] = length
        return {number: 1.0 + BONUS_OF_LENGTH * (length - 1) for number, length in sorted(longest.items())}

    def words_of(self, met: Mapping[int, float]) -> dict[str, float]:
        weights: dict[str, float] = {}
        for number, weight in met.items():
            for token in _tokens_of(self.entries[number].words):
                weights[token] = max(weights.get(token, 0.0), weight)
        return weights


@cache
def _tokens_of(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(words_and_stems(" ".join(words)))


def stems(text: str) -> list[str]:
    """The words of an English text as stems, in order.

    >>> stems("Don't forget the babies")
    ["don't", 'forget', 'the', 'babi']
    """
    return _PORTER.stemWords(_WORD.findall(text.lower().replace("’", "'")))


def _entry(line: str) -> Entry:
    everyday, _, words = line.partition(" : ")
    alternatives = tuple(
        tuple(tuple(stems(phrase)) for phrase in alternative.strip().split("+")) for alternative in everyday.split(",")
    )
    return Entry(alternatives, tuple(words.split()))
