"""Who uses a console: agents, pages and commands, each with the time of its last use. A console in the background ends without any."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from cachetools import LRUCache

from core.domain.settings import utc_now

Kind = Literal["agent", "page", "command"]
MOST_USERS = 256


@dataclass
class _User:
    active: int = 0
    uses: int = 0
    last: datetime | None = None


@dataclass(eq=False)
class Uses:
    """Thread-safe. `clock` is monotonic, `now` the time of day."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    ending: bool = False
    """The console ends: it takes no further request of an agent."""
    _users: LRUCache[tuple[Kind, str], _User] = field(default_factory=lambda: LRUCache(MOST_USERS))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _active: int = 0
    _ended_s: float = 0.0

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Starts the idle timer."""
        with self._lock:
            self._ended_s = self.clock()

    @contextmanager
    def use(self, kind: Kind, name: str) -> Generator[None]:
        """Counts a use until the block ends."""
        with self._lock:
            user = self._users.setdefault((kind, name), _User())
            user.active, user.uses, user.last = user.active + 1, user.uses + 1, self.now()
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                user.active, user.last = user.active - 1, self.now()
                self._active -= 1
                self._ended_s = self.clock()

    @property
    def idle_s(self) -> float:
        """Seconds since the last use; 0 during one."""
        with self._lock:
            return 0.0 if self._active else self.clock() - self._ended_s

    def active(self, kind: Kind) -> int:
        """How many uses of this kind are under way."""
        with self._lock:
            return sum(user.active for (of, _), user in self._users.items() if of == kind)

    def users(self) -> list[dict[str, Any]]:
        """Every user, the latest first, as JSON."""
        with self._lock:
            found = [
                {"kind": kind, "name": name, "active": user.active, "uses": user.uses, "last": user.last.isoformat()}
                for (kind, name), user in self._users.items()
                if user.last is not None
            ]
        return sorted(found, key=lambda user: str(user["last"]), reverse=True)
