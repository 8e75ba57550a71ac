"""The pool of client sessions, opened at the first call, so that a start does not wait for the protocol's packages."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.execution import ToolCaller
from core.domain.settings import MAX_SESSIONS
from core.servers.secrets import SecretVault

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from core.domain.catalog import ConnectionState, ServerId
    from core.network.traces import Injection
    from core.servers.pool import SessionPool

_loading = threading.Lock()


def load_protocol() -> None:
    """Imports the protocol's packages, one thread at a time, because two threads that import them at once find half-loaded
    modules and fail. Call it before importing modules of this room that need them."""
    with _loading:
        import_module("core.servers.caller")  # and with it the pool


@dataclass
class LazyPool:
    """One `SessionPool` for the whole process, made on first use. Thread-safe."""

    vault: SecretVault
    max_answer_bytes: int
    max_sessions: int = MAX_SESSIONS
    greetings_file: Path | None = None
    inherit: tuple[str, ...] = ()
    list_changed: Callable[[ServerId, str], None] | None = None
    _pool: SessionPool | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> SessionPool:
        load_protocol()
        from core.servers.pool import PoolConfig, SessionPool
        from core.servers.session import Greetings

        with self._lock:
            if self._pool is None:
                config = PoolConfig(
                    max_answer_bytes=self.max_answer_bytes, max_sessions=self.max_sessions, inherit=self.inherit
                )
                greetings = Greetings(self.greetings_file)
                self._pool = SessionPool(self.vault, config, greetings=greetings, list_changed=self.list_changed)
            return self._pool

    def caller(self) -> ToolCaller:
        load_protocol()
        from core.servers.caller import McpCaller

        return McpCaller(self.get())

    @contextmanager
    def caller_under(self, injection: Injection) -> Generator[ToolCaller]:
        """Returns a caller with sessions of its own that meet the faults of a network. They end with it."""
        load_protocol()
        from core.servers.caller import McpCaller
        from core.servers.pool import PoolConfig, SessionPool

        config = PoolConfig(max_answer_bytes=self.max_answer_bytes, inherit=self.inherit)
        pool = SessionPool(self.vault, config, injection=injection)
        try:
            yield McpCaller(pool)
        finally:
            pool.close()

    def states(self) -> tuple[ConnectionState, ...]:
        return () if self._pool is None else self._pool.states()

    def forget(self, owner: str) -> None:
        if self._pool is not None:
            self._pool.forget(owner)

    def forget_person(self, person: str) -> None:
        if self._pool is not None:
            self._pool.forget_person(person)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
