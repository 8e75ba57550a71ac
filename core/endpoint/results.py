"""Long results and linked resources: what a client gets at once, and the rest by a handle."""

from __future__ import annotations

import secrets
import threading
from typing import NamedTuple

from cachetools import LRUCache

from core.domain.catalog import ServerId
from core.services.linked_resources import ResourceLink

KEPT_CHARS = 64 * 1024 * 1024
MOST_LINKS = 10_000


class KeptText(NamedTuple):
    """A text to be read on, and the server that gave it."""

    text: str
    source: ServerId


class ResultStore:
    """The full texts of results that were cut, the latest that fit into 64 Mi characters. Thread-safe; nothing is stored on disk.

    >>> store = ResultStore()
    >>> handle = store.keep(KeptText("a long text", ServerId("demo", "files")))
    >>> store.text(handle).text, store.text("another")
    ('a long text', None)
    """

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._texts: LRUCache[str, KeptText] = LRUCache(kept_chars, getsizeof=lambda kept: len(kept.text))
        self._links: LRUCache[str, ResourceLink] = LRUCache(MOST_LINKS)
        self._lock = threading.Lock()

    def keep(self, kept: KeptText, handle: str = "") -> str:
        """A handle that nobody can guess, or the one that is given; of a text that is longer than all that is kept, for its beginning."""
        handle = handle or secrets.token_urlsafe(12)
        with self._lock:
            self._texts[handle] = kept._replace(text=kept.text[: int(self._texts.maxsize)])
        return handle

    def text(self, handle: str) -> KeptText | None:
        """The text of a handle, None where it is not kept any more."""
        with self._lock:
            return self._texts.get(handle)

    def keep_link(self, link: ResourceLink) -> str:
        """A handle for what is read when it is wanted."""
        handle = secrets.token_urlsafe(12)
        with self._lock:
            self._links[handle] = link
        return handle

    def link(self, handle: str) -> ResourceLink | None:
        """The link of a handle, None where it is of a text, or not kept any more."""
        with self._lock:
            return self._links.get(handle)
