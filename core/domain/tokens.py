"""Tokens as cl100k_base counts them, offline: tiktoken counts with the table in `data`. Counts are deterministic.

>>> count_tokens("Reads a file.")
5
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.once import made_once

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "cl100k_base"
TABLES = Path(__file__).with_name("data")  # the table under tiktoken's name for it, the SHA-1 of its address
CHUNK = 100_000  # characters: a run of one letter costs more than its length, so a longer text is counted in pieces
CHARS_PER_TOKEN = 8  # more than most texts have


def count_tokens(text: str) -> int:
    """Returns the tokens of a text. The name of a special token counts as plain text.

    Exact up to 100,000 characters. Beyond, each cut adds at most a few tokens.

    >>> count_tokens("<|endoftext|>") > 1
    True
    """
    encoding = _encoding()
    pieces = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)


def count_many(texts: Sequence[str]) -> list[int]:
    """Returns `count_tokens` of each text, in order."""
    return [count_tokens(text) for text in texts]


def piece(text: str, offset: int, limit_tokens: int) -> str:
    """Returns the part of the text from `offset` that fits into the limit. It has at least one character, if any is left.

    >>> piece("one two three four", 3, 2)
    ' two three'
    """
    length = limit_tokens * CHARS_PER_TOKEN
    part = text[offset : offset + length]
    while len(part) > 1 and (tokens := count_tokens(part)) > limit_tokens:
        part = part[: max(1, min(len(part) - 1, len(part) * limit_tokens // tokens))]
    return part


def fits(text: str, limit_tokens: int) -> bool:
    """Tells whether a text has at most this many tokens. It is counted only if its length leaves the answer open.

    >>> fits("one two", 2), fits("one two three", 2)
    (True, False)
    """
    if len(text.encode(errors="replace")) <= limit_tokens:
        return True
    return len(text) <= 50 * limit_tokens and count_tokens(text) <= limit_tokens


@made_once
def _encoding() -> Encoding:
    """Returns the encoding. tiktoken takes the table from the folder in TIKTOKEN_CACHE_DIR and checks its SHA-256."""
    import tiktoken

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES)
    try:
        return tiktoken.get_encoding(ENCODING)
    finally:
        os.environ.pop("TIKTOKEN_CACHE_DIR")
        if before is not None:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
