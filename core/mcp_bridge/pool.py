"""Kept client sessions for many servers, used from any thread."""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from mcp import MCPError

from core.domain.catalog import Connection
from core.mcp_bridge.answers import RefusedError, translated
from core.mcp_bridge.asking import bounded
from core.mcp_bridge.errors import CancelledCallError, LimitError, NotConnectedError
from core.mcp_bridge.injected import injected
from core.mcp_bridge.loop_thread import LoopThread
from core.mcp_bridge.secrets import SecretVault
from core.mcp_bridge.session import Work
from core.mcp_bridge.slot import Slot, SlotConfig
from core.mcp_bridge.state import ConnectionState
from core.mcp_bridge.transports import OpenTarget, open_target, quiet_sdk_log
from core.mcp_bridge.waiting import Inbox
from core.network.injection import Injection

CLOSE_S = 10.0
T = TypeVar("T")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class PoolConfig:
    """Limits of the pool. Times in s; `connect_limit_s` covers start, handshake and the first list of tools.

    A server whose call timed out is asked for its tools before the next call; one that does not answer within `probe_s`
    gets a new session. A session that nobody used for `idle_s` is closed.
    """

    connect_limit_s: float = 15.0
    probe_s: float = 2.0
    idle_s: float = 600.0
    max_sessions: int = 32


class SessionPool:
    """Keeps a session per server and connection, opened at first use; one background event loop serves all threads.

    What one server does (crash, hang, stop, rubbish on its output) ends its own calls alone, and its next call opens a
    new session. `close` ends every session and child process; it also runs when the interpreter ends. With an
    injection, all that is sent to a server meets the faults of that network.
    """

    def __init__(
        self,
        vault: SecretVault | None = None,
        config: PoolConfig | None = None,
        *,
        open_target: OpenTarget = open_target,
        injection: Injection | None = None,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.vault = SecretVault() if vault is None else vault
        self.config = PoolConfig() if config is None else config
        self.injection = injection
        self._slots: dict[Key, Slot] = {}
        self._loop = LoopThread("mcp-sessions")
        self._closed = False
        self._closing = threading.Lock()
        self._slot_config = SlotConfig(
            resolve=self.vault.resolve,
            redact=self.vault.redact,
            open_target=open_target,
            make_room=self._make_room,
            clock=clock,
            now=now,
            connect_limit_s=self.config.connect_limit_s,
            probe_s=self.config.probe_s,
            idle_s=self.config.idle_s,
        )
        quiet_sdk_log()
        atexit.register(self.close)

    def use(
        self,
        server: str,
        connection: Connection,
        work: Work[T],
        *,
        limit_s: float,
        inbox: Inbox | None = None,
        cancel: threading.Event | None = None,
    ) -> T:
        """Run `work` with a session of the server and wait for it, at most `limit_s` once the session is there.

        Raises NotConnectedError, LostError, LimitError, CancelledCallError, and whatever else the work raises, such as
        MCPError for an error that the server answered with.
        """
        with self._closing:  # what is submitted before the pool closes is also ended by it
            if self._closed:
                raise NotConnectedError("The pool of sessions is closed.")
            future = self._loop.submit(self._use(server, connection, work, limit_s))
        return (Inbox() if inbox is None else inbox).wait_for(future, cancel)

    def states(self) -> tuple[ConnectionState, ...]:
        """How the pool stands with each server that was used, in order of first use."""
        return tuple(slot.state() for slot in tuple(self._slots.values()))

    def close_server(self, name: str) -> None:
        """Close every session of the server and forget its failures. Its calls in flight are cancelled."""
        if not self._loop.started or self._closed:
            return
        self._loop.submit(self._close_slots(lambda slot: slot.server == name)).result(CLOSE_S + 1)

    def close(self) -> None:
        """Close all sessions and end their processes, in about 10 s at most; the pool cannot be used afterwards."""
        atexit.unregister(self.close)
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._loop.started:
            with suppress(TimeoutError):
                self._loop.submit(self._close_slots(lambda _: True)).result(CLOSE_S + 1)
            self._loop.stop(limit_s=2.0)

    async def _close_slots(self, chosen: Callable[[Slot], bool]) -> None:
        slots = [slot for slot in self._slots.values() if chosen(slot)]
        sessions = [session for slot in slots for session in slot.sessions]
        for slot in slots:
            slot.close()
        if sessions:
            await asyncio.wait({session.keeper for session in sessions}, timeout=CLOSE_S)
        for session in sessions:
            session.kill()

    async def _use(self, server: str, connection: Connection, work: Work[T], limit_s: float) -> T:
        slot = self._slot(server, connection)
        try:
            return await self._once(slot, work, limit_s)
        except RefusedError:
            # the server answered that it does not know the session, so nothing ran: a new session, the same call
            return await self._once(slot, work, limit_s)

    async def _once(self, slot: Slot, work: Work[T], limit_s: float) -> T:
        lease = await slot.lease()
        session = lease.session
        slot.enter(session)
        tail_start = session.tail.count
        try:
            return await bounded(work(lease), limit_s)
        except LimitError:
            session.suspect = True
            raise
        except MCPError as error:
            raise await translated(error, slot, session, limit_s, tail_start) from None
        finally:
            slot.leave(session)

    def _slot(self, server: str, connection: Connection) -> Slot:
        key = _key(server, connection)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = Slot(server, connection, self._config_for(server))
        return slot

    def _config_for(self, server: str) -> SlotConfig:
        config = self._slot_config
        if self.injection is None:
            return config
        return replace(config, open_target=injected(config.open_target, self.injection, server))

    def _make_room(self) -> None:
        """Close the session that was idle longest where one more would be too many.

        Raises NotConnectedError where all are busy, CancelledCallError once the pool is closed.
        """
        if self._closed:
            raise CancelledCallError("the pool of sessions was closed")
        open_slots = [slot for slot in self._slots.values() if slot.holds_place]
        if len(open_slots) <= self.config.max_sessions:
            return
        idle = [slot for slot in open_slots if not slot.busy]
        if not idle:
            raise NotConnectedError(f"all {self.config.max_sessions} sessions are busy")
        min(idle, key=lambda slot: slot.last_used_s).release()


def _key(server: str, connection: Connection) -> Key:
    env, headers = (tuple(sorted(pairs.items())) for pairs in (connection.env, connection.headers))
    return (
        server,
        connection.transport,
        connection.command,
        connection.args,
        connection.cwd,
        env,
        connection.url,
        headers,
    )
