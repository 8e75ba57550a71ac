"""The log's chain of hashes: what was written cannot be changed, removed or put elsewhere without being seen.

    hash_n = SHA-256(hash_n-1, records of write n in the order of their numbers)          hash_0 = 64 zeros

A record counts as JSON with its kind and number and every field that says something, in order; a field that a later version
adds, and that older records leave empty, changes nothing. Who may write the file can make a whole new chain: compare the
newest hash with one that was noted elsewhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

START = "0" * 64


@dataclasses.dataclass(frozen=True, slots=True)
class Audit:
    """What verifying found: `records` under `seals` that hold, the newest `hash`, how many `older` records have no seal,
    and `problem`, the first thing that is wrong; "" where all is well."""

    records: int
    seals: int
    hash: str
    older: int
    problem: str = ""


def chained(previous: str, lines: Iterable[str]) -> str:
    """The hash of a write after another.

    >>> chained(START, ["a"])[:8], chained(START, ["b"])[:8], chained(chained(START, ["a"]), ["b"])[:8]
    ('2e04306c', 'd891821d', '9a934938')
    """
    digest = hashlib.sha256(previous.encode())
    for line in lines:
        digest.update(b"\n" + line.encode())
    return digest.hexdigest()


def canonical(kind: type[Any], number: int, values: Sequence[object]) -> str:
    """A record as one line of JSON."""
    names = (field.name for field in dataclasses.fields(kind))
    said = {name: _plain(value) for name, value in zip(names, values, strict=True) if value not in (None, "")}
    return json.dumps([kind.__name__, number, said], ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> object:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
