"""Long results: what a client gets at once, and the rest by a handle."""

from __future__ import annotations

import secrets
import threading

from cachetools import LRUCache

KEPT_CHARS = 64 * 1024 * 1024


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
