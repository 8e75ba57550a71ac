"""A pool of client sessions, one for each server of a catalog and connection, used from any thread."""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from core.domain.catalog import Connection, ConnectionState, ServerId
from core.domain.execution import WAYFARE, SessionOwner
from core.network.traces import Injection
from core.servers import transports
from core.servers.lacking import lack
from core.servers.messages import REFUSED, Refused
from core.servers.oauth import BUSY
from core.servers.pooled_connection import PoolConfig, PooledConnection
from core.servers.sdk import limit_probes
from core.servers.secrets import SecretVault
from core.servers.session import Greetings, Lease, Session, Work, bounded
from core.servers.threads import (
    CallTimeoutError,
    CancelledCallError,
    ConnectionLostError,
    InvalidResponseError,
    LoopThread,
    NotConnectedError,
    NotSentError,
    ThreadInbox,
    UnauthorizedError,
    said,
)
from core.servers.transports import OpenTarget, quiet_sdk_log


class SessionRefusedError(MCPError):
    """The server refused the call because it does not know the session. The tool did not run."""


async def translated(
    error: MCPError, pooled: PooledConnection, lease: Lease, refused: Refused, limit_s: float, log_start: int
) -> Exception:
    """Returns the error to raise for a protocol error. Retires the session first if it is unusable. Only the SDK
    uses the codes of a timeout and of a lost connection."""
    session = lease.session
    if refused.status == BUSY:
        return pooled.busy_for_now(error.message, refused)
    if _session_gone(error, lease, refused):
        pooled.drop(session, error.message)
        return SessionRefusedError(error.code, error.message, error.data)
    if error.code == REQUEST_TIMEOUT:
        session.suspect = True
        return CallTimeoutError(f"no answer within {limit_s:g} s")
    if error.code == CONNECTION_CLOSED:
        pooled.drop(session, error.message)
        if session.closed_by_us:
            return CancelledCallError("the connection was closed by the operator")
        await session.ended()
        words = [str(session.error or error.message), session.stderr_log.last(log_start)]
        return ConnectionLostError(": ".join(word for word in words if word))
    if refused.status > 400 and error.code != METHOD_NOT_FOUND:
        session.suspect = True  # the next call probes it
    return error


def _session_gone(error: MCPError, lease: Lease, refused: Refused) -> bool:
    """Whether an HTTP server does not know the session any more, by its status. A 400 to a session that this call has
    opened is about the call. The newer protocol also says by a 404 that it lacks a method."""
    if refused.status == 404:
        return error.code != METHOD_NOT_FOUND or lease.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return refused.status == 400 and refused.session and lease.connect_s is None


CLOSE_S = 10.0
PROBE_S = 2.0
"""A server that is silent at `server/discover` hears `initialize` after this time. The SDK waits 10 s."""
MOST_KNOWN = 1024
"""Connections that are remembered, with or without a session."""
T = TypeVar("T")
Key = tuple[Any, ...]


class SessionPool:
    """A session for each server, connection and client, opened at first use. One background event loop serves all threads.

    All clients share a session only if the connection says so, or if the server gives no session id over HTTP.
    If a value of the launch changes, the session is replaced at the next use. A server that crashes, hangs, stops or
    writes garbage ends only its own calls, and its next call opens a new session. `close` ends every session and child
    process; it also runs when the interpreter ends. With an `injection`, every message to a server meets the faults of
    that network. `list_changed` gets the servers whose lists changed, and "tools", "resources" or
    "prompts", or the address of a resource that changed; it runs on the loop and returns at once.
    """

    def __init__(
        self,
        vault: SecretVault | None = None,
        config: PoolConfig | None = None,
        *,
        open_target: OpenTarget | None = None,
        injection: Injection | None = None,
        list_changed: Callable[[ServerId, str], None] | None = None,
        greetings: Greetings | None = None,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.vault = SecretVault() if vault is None else vault
        self.config = PoolConfig() if config is None else config
        self.injection = injection
        self._connections: dict[Key, PooledConnection] = {}
        self._stateless: set[Key] = set()
        self._loop: LoopThread | None = None
        self._closed = False
        self._closing = threading.Lock()
        self.open_target = open_target or partial(
            transports.open_target,
            vault=self.vault,
            max_answer_bytes=self.config.max_answer_bytes,
            inherit=self.config.inherit,
        )
        self.list_changed = list_changed
        self.greetings = Greetings() if greetings is None else greetings
        self.clock = clock
        self.now = now
        quiet_sdk_log()
        limit_probes(PROBE_S)
        atexit.register(self.close)

    def use(
        self,
        server: ServerId,
        connection: Connection,
        work: Work[T],
        *,
        limit_s: float,
        inbox: ThreadInbox | None = None,
        cancel: threading.Event | None = None,
        owner: SessionOwner = WAYFARE,
        listing: bool = False,
        from_turn: bool = False,
    ) -> T:
        """Runs `work` with the owner's session with the server and waits for it, at most `limit_s` from the opened session on, or `from_turn`
        on, because a call that waits for another call is not slow. A `listing` goes to the open session that said last that its list changed, and waits for no call there.

        Raises NotConnectedError (UnauthorizedError for a 401), ConnectionLostError, CallTimeoutError, CancelledCallError, InvalidResponseError, and
        the errors of the work, such as MCPError for an error that the server returned.
        """
        server = self.vault.holder(server, owner.person)
        if lacks := lack(self.vault, server, connection):
            raise UnauthorizedError(lacks, challenged=False)

        async def done() -> T:
            try:
                return await self._once(server, connection, work, limit_s, owner, listing, from_turn)
            except (SessionRefusedError, NotSentError):  # the call did not run: it is repeated in a new session
                return await self._once(server, connection, work, limit_s, owner, listing, from_turn)

        future = self._submitted(done)
        return (ThreadInbox() if inbox is None else inbox).wait_for(future, cancel)

    def _submitted(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        with self._closing:  # the closing pool ends all work that was submitted before
            if self._closed:
                raise NotConnectedError("The pool of sessions is closed.")
            self._loop = self._loop or LoopThread("mcp-sessions")
            return self._loop.submit(work())

    def check(self, server: ServerId, connection: Connection) -> None:
        """Finds out at once whether a session with the server can be opened, or still responds. Calls no tool. Raises
        NotConnectedError."""

        async def checked() -> None:
            await self._pooled_connection(server, connection, WAYFARE).checked()

        ThreadInbox().wait_for(self._submitted(checked), None)

    def subscribe(
        self, server: ServerId, connection: Connection, uri: str, *, wanted: bool, limit_s: float, owner: SessionOwner
    ) -> None:
        """Begins or ends to hear of changes of a resource. The session stays open meanwhile. Raises MCPError, NotConnectedError."""
        if not wanted and not self.hears(server, connection, uri, owner):
            return

        async def work(lease: Lease) -> None:
            await lease.session.asking.subscribe(lease.client, uri, wanted=wanted)

        self.use(server, connection, work, limit_s=limit_s, owner=owner)

    def hears(self, server: ServerId, connection: Connection, uri: str, owner: SessionOwner) -> bool:
        """Whether a session hears of changes of a resource now. After a loss it does not, until its server is used again."""
        keys = self._keys(self.vault.holder(server, owner.person), connection, owner)
        pooled = self._connections.get(keys[0])
        return pooled is not None and pooled.hears(uri)

    def forget(self, owner: str) -> None:
        self._end(lambda pooled: pooled.owner.key == owner, forget=True)

    def forget_person(self, person: str) -> None:
        """Ends the sessions with a person's values."""
        self._end(lambda pooled: pooled.server.person == person, forget=True)

    def end(self, server: ServerId) -> None:
        """Ends the sessions of a server and its processes, and calls in progress with them. The next use opens a new session."""
        if future := self._end(lambda pooled: pooled.server[:2] == server[:2]):
            ThreadInbox().wait_for(future, None)

    def _end(self, whether: Callable[[PooledConnection], bool], *, forget: bool = False) -> Future[None] | None:
        with self._closing:
            return (
                None if self._closed or self._loop is None else self._loop.submit(self._ended(whether, forget=forget))
            )

    def states(self) -> tuple[ConnectionState, ...]:
        return tuple(pooled.state() for pooled in tuple(self._connections.values()))

    def close(self) -> None:
        """Closes all sessions and ends their processes, in at most about 10 s. The pool cannot be used afterwards."""
        atexit.unregister(self.close)
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._loop is not None:
            with suppress(TimeoutError):
                self._loop.submit(self._ended(lambda _: True)).result(CLOSE_S + 1)
            self._loop.stop(limit_s=2.0)

    async def _ended(self, whether: Callable[[PooledConnection], bool], *, forget: bool = False) -> None:
        ended = {key: pooled for key, pooled in self._connections.items() if whether(pooled)}
        sessions = [session for pooled in ended.values() for session in pooled.sessions]
        for key, pooled in ended.items():
            pooled.close()
            if forget:
                del self._connections[key]
        if sessions:
            await asyncio.wait({session.task for session in sessions}, timeout=CLOSE_S)
        for session in sessions:
            session.kill()

    def _teller(self, server: ServerId, connection: Connection) -> PooledConnection | None:
        """Returns the open session whose process said last that its list changed. Other sessions may list other tools."""
        tellers = [entry for entry in tuple(self._connections.values()) if entry.told_s and entry.session is not None]
        candidates = (entry for entry in tellers if entry.server == server and entry.connection == connection)
        return max(candidates, key=lambda entry: entry.told_s, default=None)

    async def _once(
        self,
        server: ServerId,
        connection: Connection,
        work: Work[T],
        limit_s: float,
        owner: SessionOwner,
        listing: bool,
        from_turn: bool,
    ) -> T:
        pooled = self._teller(server, connection) if listing else None
        pooled = pooled or self._pooled_connection(server, connection, owner)
        lease = await pooled.lease()
        session = lease.session
        if owner.key and not pooled.owner.key and not pooled.shared:
            raise SessionRefusedError(CONNECTION_CLOSED, "the server has begun to keep state for each session")
        pooled.enter(session)
        log_start = session.stderr_log.count
        refused = Refused()
        REFUSED.set(refused)

        def limited(lease: Lease) -> Coroutine[Any, Any, T]:
            return bounded(work(lease), limit_s)

        try:
            if listing:
                return await limited(lease)
            if from_turn:
                return await session.in_turn(limited, lease)
            return await bounded(session.in_turn(work, lease), limit_s)
        except CallTimeoutError:
            session.suspect = True
            raise
        except MCPError as error:
            if refused.challenged is not None:
                raise pooled.unauthorized(session, refused) from None
            raise await translated(error, pooled, lease, refused, limit_s, log_start) from None
        except ValidationError as error:
            raise InvalidResponseError(said(error)) from None
        finally:
            pooled.leave(session)

    def _keys(self, server: ServerId, connection: Connection, owner: SessionOwner) -> tuple[Key, Key]:
        """Returns the key of the connection that a client uses, and the key of the connection that all clients share."""
        base = _key(server, connection)
        shared = (*base, owner.abilities, WAYFARE.key)
        return shared if connection.shared or base in self._stateless else (*base, owner.abilities, owner.key), shared

    def _pooled_connection(self, server: ServerId, connection: Connection, owner: SessionOwner) -> PooledConnection:
        key, shared = self._keys(server, connection, owner)
        if key == shared:
            owner = replace(WAYFARE, abilities=owner.abilities)
        pooled = self._connections.get(key)
        if pooled is None and shared in self._connections and self._connections[shared].unused:
            pooled = self._connections[key] = self._connections.pop(shared)  # it has only listed tools: no second start
        if pooled is None:
            closed = [old for old, other in self._connections.items() if not (other.counts_as_open or other.busy)]
            passing = [old for old in closed if self._connections[old].owner.passing]
            for old in passing or (closed[:1] if len(self._connections) >= MOST_KNOWN else ()):
                del self._connections[old]
            pooled = self._connections[key] = PooledConnection(server, connection, self, owner)
        pooled.owner = owner
        return pooled

    def opened(self, pooled: PooledConnection, session: Session) -> None:
        """Notes whether the server keeps state for a session. All clients share the session of a server that keeps none."""
        base = _key(pooled.server, pooled.connection)
        if not session.stateless:
            self._stateless.discard(base)
            return
        key, shared = self._keys(pooled.server, pooled.connection, pooled.owner)
        self._stateless.add(base)
        if shared not in self._connections and self._connections.get(key) is pooled:
            self._connections[shared] = self._connections.pop(key)
            pooled.owner = replace(WAYFARE, abilities=pooled.owner.abilities)

    def make_room(self, owner: SessionOwner) -> None:
        """Closes an idle session if one more would be too many: the oldest of passing clients, else of the same client, else of Wayfare,
        else of all.

        Raises NotConnectedError if all are busy, CancelledCallError once the pool is closed.
        """
        if self._closed:
            raise CancelledCallError("the pool of sessions was closed")
        open_connections = [pooled for pooled in self._connections.values() if pooled.counts_as_open]
        if len(open_connections) <= self.config.max_sessions:
            return
        idle = [pooled for pooled in open_connections if not pooled.busy]
        if not idle:
            raise NotConnectedError(f"all {self.config.max_sessions} sessions are busy")

        def order(pooled: PooledConnection) -> tuple[bool, bool, bool, float]:
            holder = pooled.owner
            return not holder.passing, holder.key != owner.key, bool(holder.key), pooled.last_used_s

        min(idle, key=order).release("another session needed its place")


def _key(server: ServerId, connection: Connection) -> Key:
    env, headers = (tuple(sorted(pairs.items())) for pairs in (connection.env, connection.headers))
    words = connection.transport, connection.command, connection.args, connection.cwd, connection.url
    return server, *words, env, headers, connection.start_s, connection.idle_s
