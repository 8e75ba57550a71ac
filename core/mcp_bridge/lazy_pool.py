"""The pool of client sessions, opened at the first call: a start does not wait for the protocol's packages."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from core.execution.base import ToolCaller
from core.mcp_bridge.secrets import SecretVault

if TYPE_CHECKING:
    from core.domain.connection_state import ConnectionState
    from core.mcp_bridge.pool import SessionPool


class LazyPool:
    """One `SessionPool` for the whole process, made on first use. Thread-safe."""

    def __init__(self, vault: SecretVault) -> None:
        self._vault = vault
        self._pool: SessionPool | None = None
        self._lock = threading.Lock()

    def get(self) -> SessionPool:
        """The pool."""
        with self._lock:  # one thread at a time imports the protocol's packages: two can find each other's half done
            from core.mcp_bridge.pool import SessionPool

            if self._pool is None:
                self._pool = SessionPool(self._vault)
            return self._pool

    def caller(self) -> ToolCaller:
        """Calls over the pool's sessions."""
        from core.mcp_bridge.caller import McpCaller

        return McpCaller(self.get())

    def states(self) -> tuple[ConnectionState, ...]:
        """The state of every server that was connected to; asking opens no pool."""
        return () if self._pool is None else self._pool.states()

    def close(self) -> None:
        """End every session, where there are any."""
        if self._pool is not None:
            self._pool.close()
