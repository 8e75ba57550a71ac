"""Requests that governance did not let through, kept in the sealed log: who wanted what, why not, and what would allow it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cachetools import LRUCache

from core.domain.governance_events import RefusedRequest
from core.governance.base import NotAllowedError
from core.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator

AGAIN = timedelta(seconds=30)
"""The same refusal of the same client is counted for so long before it is written again."""
MOST_KNOWN = 1024
Key = tuple[str, str, str, str]


class RefusedRequests:
    """Thread-safe. A client that repeats itself cannot fill the log: what it repeats is one record with a count."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._lock = threading.Lock()
        self._written: LRUCache[Key, tuple[datetime, int]] = LRUCache(MOST_KNOWN)  # when, and how often since

    @contextmanager
    def recorded(self, client: str, catalog: str, tool: str, origin: str) -> Generator[None]:
        """Keep the refusal that the block raises, and raise it on. `tool` is `server::tool`, "" where it is about none."""
        try:
            yield
        except NotAllowedError as error:
            self._keep(error, (client, catalog, tool, error.error), origin)
            raise

    def _keep(self, error: NotAllowedError, key: Key, origin: str) -> None:
        now = self._now()
        with self._lock:
            at, since = self._written.get(key, (None, 0))
            if at is not None and now < at + AGAIN:
                self._written[key] = at, since + 1
                return
            self._written[key] = now, 0
        client, catalog, tool, name = key
        server, _, own = tool.partition("::")
        self._store.events.append_later(
            RefusedRequest(now, client, catalog, server, own, name, error.why, error.advice, origin, since)
        )
