"""A column of texts: a buffer of UTF-8 with the place of each text, as in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

MARK = "\ufffe"  # not a character; marks the number of half a character (a surrogate), which UTF-8 does not have


class Digest(Protocol):
    """A running hash, as in hashlib."""

    def update(self, data: Any, /) -> None:
        """Adds bytes."""


class Texts:
    """N texts, or N byte strings. `data` holds them one after the other, `offsets` (N + 1,) the start of each.

    >>> texts = Texts.of(["one", "zwölf", "\\ud800"])
    >>> len(texts), texts[1], texts[2] == "\\ud800", texts[1:2][0]
    (3, 'zwölf', True, 'zwölf')
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: memoryview | bytes, offsets: NDArray[np.int64]) -> None:
        self.data, self.offsets = memoryview(data), offsets

    @classmethod
    def of(cls, values: Iterable[str | bytes]) -> Texts:
        parts = [value if isinstance(value, bytes) else _utf8(value) for value in values]
        return cls(b"".join(parts), starts_of(list(map(len, parts))))

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        if len(parts) == 1:
            return parts[0]
        data = b"".join(part.data[part.offsets[0] : part.offsets[-1]] for part in parts)
        return cls(data, starts_of(np.concatenate([np.diff(part.offsets) for part in parts])))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, with only this column's part of the buffer."""
        first, last = self.offsets[0], self.offsets[-1]
        return Texts, (bytes(self.data[first:last]), self.offsets - first)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        """A text, or a part of the column that shares its buffer."""
        if isinstance(place, slice):
            return Texts(self.data, self.offsets[place.start : place.stop + 1])
        text = str(self.data[self.offsets[place] : self.offsets[place + 1]], "utf-8")
        return _with_halves(text) if MARK in text else text

    def same_as(self, other: Texts) -> bool:
        """Whether another column has equal values."""
        left, right = (np.asarray(part.data[part.offsets[0] : part.offsets[-1]]) for part in (self, other))
        return np.array_equal(np.diff(self.offsets), np.diff(other.offsets)) and np.array_equal(left, right)

    def every(self) -> list[str]:
        """All texts. A buffer of ASCII is decoded once and cut into its texts."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        text = str(self.data[first:last], "utf-8")
        if len(text) < last - first:
            return [self[place] for place in range(len(self))]
        return [text[start:stop] for start, stop in pairwise((self.offsets - first).tolist())]

    def add_to(self, digest: Digest) -> None:
        digest.update(np.diff(self.offsets).tobytes())
        digest.update(self.data[self.offsets[0] : self.offsets[-1]])

    def raw(self, place: int) -> memoryview:
        return self.data[self.offsets[place] : self.offsets[place + 1]]


def starts_of(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _utf8(text: str) -> bytes:
    try:
        if MARK not in text:
            return text.encode()
    except UnicodeEncodeError:
        pass
    return "".join(f"{MARK}{ord(c):04x}" if c == MARK or "\ud800" <= c <= "\udfff" else c for c in text).encode()


def _with_halves(text: str) -> str:
    first, *others = text.split(MARK)
    return first + "".join(chr(int(part[:4], 16)) + part[4:] for part in others)
