"""Long results: what a client gets at once, and the rest by a handle."""

from __future__ import annotations

import secrets
import threading

from cachetools import LRUCache

from core.shared.tokens import count_tokens

KEPT_CHARS = 64 * 1024 * 1024
CHARS_PER_TOKEN = 8  # more than most texts have


class ResultStore:
    """The full texts of results that were cut, the latest that fit into 64 Mi characters. Thread-safe; nothing is stored on disk.

    >>> store = ResultStore()
    >>> handle = store.keep("a long text")
    >>> store.text(handle), store.text("another")
    ('a long text', None)
    """

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._texts: LRUCache[str, str] = LRUCache(kept_chars, getsizeof=len)
        self._lock = threading.Lock()

    def keep(self, text: str) -> str:
        """A handle that nobody can guess; of a text that is longer than all that is kept, for its beginning."""
        handle = secrets.token_urlsafe(12)
        with self._lock:
            self._texts[handle] = text[: int(self._texts.maxsize)]
        return handle

    def text(self, handle: str) -> str | None:
        """The text of a handle, None where it is not kept any more."""
        with self._lock:
            return self._texts.get(handle)


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
