"""Requests that governance did not let through, kept in the sealed log: who wanted what, why not, and what would allow it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class _Burst:
    """One refusal that was written at `begun`, its newest repetition, and how many there were that nothing is written of."""

    begun: datetime
    newest: RefusedRequest
    unwritten: int = 0


class RefusedRequests:
    """Thread-safe. A client that repeats itself cannot fill the log: what it repeats is one record with a count, which is written
    with the next refusal of its kind, or by `write_due`."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._lock = threading.Lock()
        self._bursts: LRUCache[Key, _Burst] = LRUCache(MOST_KNOWN)
        self._due: datetime | None = None  # when the oldest burst is over

    @contextmanager
    def recorded(self, client: str, catalog: str, tool: str, origin: str) -> Generator[None]:
        """Keep the refusal that the block raises, and raise it on. `tool` is `server::tool`, "" where it is about none."""
        try:
            yield
        except NotAllowedError as error:
            self._keep(error, (client, catalog, tool, error.error), origin)
            raise
        finally:
            self.write_due()

    def write_due(self, *, everything: bool = False) -> None:
        """Write the counts of bursts that are over, or of all: nobody knows whether the client comes again."""
        now = self._now()
        with self._lock:
            if not everything and (self._due is None or now < self._due):
                return
            over = [key for key, burst in self._bursts.items() if everything or burst.begun + AGAIN <= now]
            ended = [self._bursts.pop(key) for key in over]
            self._due = min((burst.begun + AGAIN for burst in self._bursts.values()), default=None)
        self._write(*ended)

    def _keep(self, error: NotAllowedError, key: Key, origin: str) -> None:
        now = self._now()
        client, catalog, tool, name = key
        server, _, own = tool.partition("::")
        record = RefusedRequest(now, client, catalog, server, own, name, error.why, error.advice, origin, 0)
        with self._lock:
            known = self._bursts.get(key)
            if known is not None and now < known.begun + AGAIN:
                self._bursts[key] = _Burst(known.begun, record, known.unwritten + 1)
                return
            full = known is None and len(self._bursts) >= MOST_KNOWN
            forgotten = [self._bursts.popitem()[1]] if full else []
            self._bursts[key] = _Burst(now, record)
            self._due = now + AGAIN if self._due is None else self._due
            unwritten = 0 if known is None else known.unwritten
        self._write(*forgotten)
        self._store.events.append_later(replace(record, repeated=unwritten))

    def _write(self, *bursts: _Burst) -> None:
        """A record of each burst for its newest repetition, which counts the others."""
        for burst in bursts:
            if burst.unwritten:
                self._store.events.append_later(replace(burst.newest, repeated=burst.unwritten - 1))
