"""A text that matches a regular expression, from the syntax tree that Python makes of it."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

_parser: Any = import_module(
    "re._parser"
)  # private, but the only parser there is; every generator of matching strings uses it
MORE = 4  # repetitions beyond the least where the pattern sets no limit
PRINTABLE = string.ascii_letters + string.digits
_CLASSES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": PRINTABLE,
    "CATEGORY_NOT_DIGIT": string.ascii_letters,
    "CATEGORY_NOT_SPACE": PRINTABLE,
    "CATEGORY_NOT_WORD": " -",
}
ALL = PRINTABLE + string.punctuation + " "


def matching_text(pattern: str, rng: random.Random) -> str | None:
    """A text in which the pattern is found; None where it is not a valid pattern in Python, or no match was found (look-arounds).

    >>> matching_text("^[A-Z]{2}-\\\\d{3}$", random.Random(1))
    'SZ-417'
    >>> matching_text("(", random.Random(1))
    """
    try:
        tree, wanted = _parser.parse(pattern), re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    for _ in range(20):
        text = _Sampler(rng).text(tree)
        if wanted.search(text):
            return text
    return None


class _Sampler:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._groups: dict[int, str] = {}
        self._makers: dict[str, Callable[[Any], str]] = {
            "LITERAL": chr,
            "NOT_LITERAL": lambda code: self._rng.choice([c for c in PRINTABLE if ord(c) != code]),
            "ANY": lambda _: self._rng.choice(PRINTABLE),
            "IN": lambda parts: self._rng.choice(self._characters(parts)),
            "BRANCH": lambda value: self.text(self._rng.choice(value[1])),
            "SUBPATTERN": self._group,
            "ATOMIC_GROUP": self.text,
            "GROUPREF": lambda number: self._groups.get(number, ""),
            "MAX_REPEAT": self._repeat,
            "MIN_REPEAT": self._repeat,
            "POSSESSIVE_REPEAT": self._repeat,
        }

    def text(self, tree: Iterable[tuple[Any, Any]]) -> str:
        """Anchors and look-arounds add nothing: the whole text is matched against the pattern afterwards."""
        return "".join(self._makers[str(op)](value) for op, value in tree if str(op) in self._makers)

    def _group(self, value: tuple[Any, ...]) -> str:
        text = self.text(value[-1])
        if value[0] is not None:
            self._groups[value[0]] = text
        return text

    def _repeat(self, value: tuple[int, Any, Any]) -> str:
        least, most, tree = value
        most = min(int(most), least + MORE)
        return "".join(self.text(tree) for _ in range(self._rng.randint(max(least, min(1, most)), most)))

    def _characters(self, parts: list[tuple[Any, Any]]) -> str:
        negated = str(parts[0][0]) == "NEGATE"
        named = "".join(self._named(str(op), value) for op, value in parts)
        if not negated:
            return named or "x"
        return "".join(c for c in PRINTABLE if c not in named) or "".join(c for c in ALL if c not in named) or "x"

    @staticmethod
    def _named(op: str, value: Any) -> str:
        if op == "LITERAL":
            return chr(value)
        if op == "RANGE":
            return "".join(map(chr, range(value[0], min(value[1], value[0] + 200) + 1)))
        return _CLASSES.get(str(value), "") if op == "CATEGORY" else ""
