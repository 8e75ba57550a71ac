"""Tokens as cl100k_base counts them, offline: the table comes with litellm, tiktoken counts. Counts are deterministic.

>>> count_tokens("Reads a file.")
5
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from core.shared.errors import WayfareError

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "cl100k_base"
TABLE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # tiktoken's file name for that encoding: SHA-1 of its address
CHUNK = 100_000  # characters: a run of one letter costs more than its length, so a longer text is counted in pieces
CHARS_PER_TOKEN = 8  # more than most texts have
_loading = Lock()


def count_tokens(text: str) -> int:
    """Tokens of a text; what looks like a special token counts as the text that it is.

    Exact up to 100,000 characters; beyond, each cut adds at most a few tokens.

    >>> count_tokens("<|endoftext|>") > 1
    True
    """
    encoding = _encoding()
    pieces = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)


def count_many(texts: Sequence[str]) -> list[int]:
    """`count_tokens` of each text, in order."""
    return [count_tokens(text) for text in texts]


def piece(text: str, offset: int, limit_tokens: int) -> str:
    """As much of the text from `offset` as fits into the limit; at least one character where there is one.

    >>> piece("one two three four", 3, 2)
    ' two three'
    """
    length = limit_tokens * CHARS_PER_TOKEN
    part = text[offset : offset + length]
    while len(part) > 1 and (tokens := count_tokens(part)) > limit_tokens:
        part = part[: max(1, min(len(part) - 1, len(part) * limit_tokens // tokens))]
    return part


def fits(text: str, limit_tokens: int) -> bool:
    """Whether a text has at most so many tokens, counted only where its length leaves it open: no token is empty.

    >>> fits("one two", 2), fits("one two three", 2)
    (True, False)
    """
    if len(text.encode(errors="replace")) <= limit_tokens:
        return True
    return len(text) <= 50 * limit_tokens and count_tokens(text) <= limit_tokens


@cache
def _encoding() -> Encoding:
    """tiktoken looks for tables where TIKTOKEN_CACHE_DIR points: to litellm's folder while the table is read."""
    import tiktoken

    folder = _table_folder()
    with _loading:
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            return tiktoken.get_encoding(ENCODING)
        finally:
            os.environ.pop("TIKTOKEN_CACHE_DIR")
            if before is not None:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


def _table_folder() -> Path:
    """litellm's folder of tables, found without importing litellm. Raises WayfareError where the table is missing."""
    spec = importlib.util.find_spec("litellm")
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    folder = Path(roots[0] if roots else "") / "litellm_core_utils" / "tokenizers"
    if not (folder / TABLE).is_file():
        raise WayfareError(f"The token table {ENCODING} is not on this machine; run `pip install litellm`.")
    return folder
