"""Checks of every document, whatever its format: depth, repeated keys, lone surrogates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from core.importers.checks import shown
from core.importers.reading import Reading

MAX_DEPTH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")


class RepeatedKeys(dict[str, Any]):
    """An object in which a key occurred twice: JSON would silently keep the last value."""

    repeated: tuple[str, ...] = ()


def keep_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads(object_pairs_hook=...)`: an object that remembers which keys it had twice.

    >>> keep_repeats([("a", 1), ("a", 2)]).repeated
    ('a',)
    """
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    marked = RepeatedKeys(plain)
    counts = Counter(key for key, _ in pairs)
    marked.repeated = tuple(key for key, count in counts.items() if count > 1)
    return marked


def inspect(reading: Reading, document: object) -> None:
    """Record what no format admits. Without recursion, so that a deep document does no harm.

    >>> reading = Reading("a.json")
    >>> inspect(reading, {"servers": [{"name": "\\ud800"}]})
    >>> reading.problems
    ['a.json: servers[0].name holds half a character (a lone surrogate); remove it.']
    """
    stack: list[tuple[str, object, int]] = [("", document, 0)]
    while stack:
        path, value, depth = stack.pop()
        if depth > MAX_DEPTH:
            reading.problem("", f"{path[:40]}… is nested more than {MAX_DEPTH} levels deep; flatten it")
            return
        if isinstance(value, str):
            if _SURROGATE.search(value):
                reading.problem("", f"{path or 'it'} holds half a character (a lone surrogate); remove it")
        elif isinstance(value, RepeatedKeys):
            for key in value.repeated:
                reading.problem("", f"{path or 'it'} has the key {shown(key)} twice; keep one of them")
        stack += [(step, item, depth + 1) for step, item in _children(path, value)]


def _children(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            step = key if re.fullmatch(r"[$\w-]{1,60}", key, re.ASCII) else shown(key)
            yield f"{path}.{step}" if path else step, item
            if not key.isascii():
                yield f"a key of {path or 'it'}", key
    elif isinstance(value, list):
        for position, item in enumerate(cast("list[object]", value)):
            yield f"{path}[{position}]", item
