"""One server's connection in the pool: at most one session for new calls, opened on demand, reopened after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.domain import units
from core.domain.catalog import Connection, ConnectionState, ServerId, State
from core.domain.errors import WayfareError
from core.domain.execution import SessionOwner
from core.domain.settings import MAX_ANSWER_BYTES, MAX_SESSIONS
from core.servers.messages import Refused
from core.servers.oauth import BUSY, unauthorized
from core.servers.secrets import Launch, MissingReferenceError
from core.servers.session import Lease, Session, Way, next_way
from core.servers.stdio import StderrLog
from core.servers.threads import BusyError, CancelledCallError, NotConnectedError, UnauthorizedError
from core.servers.transports import injected

if TYPE_CHECKING:
    from core.servers.pool import SessionPool


@dataclass
class Backoff:
    """The waits between attempts to reach a server: no wait after the first failure, then base, twice base, ... up to the cap, all in s.

    >>> backoff = Backoff(base_s=0.5, cap_s=2.0)
    >>> waits = []
    >>> for _ in range(5):
    ...     backoff.failed(now_s=10.0)
    ...     waits.append(backoff.wait_s(now_s=10.0))
    >>> waits
    [0.0, 0.5, 1.0, 2.0, 2.0]
    >>> backoff.succeeded()
    >>> backoff.failures, backoff.wait_s(now_s=10.0)
    (0, 0.0)
    """

    base_s: float = 0.5
    cap_s: float = 30.0
    failures: int = 0
    _not_before_s: float = float("-inf")

    def failed(self, now_s: float) -> None:
        self.failures += 1
        exponent = min(self.failures - 2, 30)
        delay_s = 0.0 if exponent < 0 else min(self.cap_s, self.base_s * 2**exponent)
        self._not_before_s = now_s + delay_s

    def succeeded(self) -> None:
        self.failures = 0
        self.allow()

    def allow(self) -> None:
        """Allows the next attempt at once. If it fails, the waits go on as before."""
        self._not_before_s = float("-inf")

    def wait_s(self, now_s: float) -> float:
        return max(0.0, self._not_before_s - now_s)


CHANGED = "a value of its connection changed"
SSE_LIMIT_S = 5.0
RETURN_S = 60.0
"""Time in which a client without an identity may return to its session."""


@dataclass(frozen=True)
class PoolConfig:
    """Limits of a pool. Times in s; `connect_limit_s` covers start, handshake and the first list of tools.

    A server whose call timed out is probed before the next call (its tools are listed). If the probe takes longer than
    `probe_s`, a new session is opened. A session unused for `idle_s` is closed. A connection may have its own
    `start_s` and `idle_s`. `max_answer_bytes` limits each message of a server. Servers `inherit` these variables beside the usual variables.
    """

    connect_limit_s: float = 60.0
    probe_s: float = 2.0
    idle_s: float = 3600.0
    max_sessions: int = MAX_SESSIONS
    max_answer_bytes: int = MAX_ANSWER_BYTES
    inherit: tuple[str, ...] = ()


class PooledConnection:
    """All methods but `state` belong to the pool's event loop."""

    def __init__(self, server: ServerId, connection: Connection, pool: SessionPool, owner: SessionOwner) -> None:
        self.server = server
        self.connection = connection
        self.owner = owner
        self.session: Session | None = None
        self.sessions: set[Session] = set()
        self._uris: set[str] = set()
        self.last_used_s = 0.0
        self.told_s = 0.0
        """The time when the server last reported changed lists, or 0."""
        self._pool = pool
        injection, target = pool.injection, pool.open_target
        self._open_target = target if injection is None else injected(target, injection, server.server)
        self._redact = pool.vault.redact
        self._stderr_log = StderrLog(self._redact)
        self._backoff = Backoff()
        self._launch: Launch | None = None  # the last resolved launch
        self._opening: asyncio.Task[tuple[Session, float | None]] | None = None
        self._waiters = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._failed = False
        self._needs_sign_in = False
        self._last_error = ""
        self._state_lost = ""  # why the session ended that had a state of its client
        self._since = pool.now()
        self._calls = 0
        self._connect_s: float | None = None

    @property
    def busy(self) -> bool:
        """Whether it is in use or being opened. A busy connection is not closed to make room."""
        return self._opening is not None or self._waiters > 0 or any(session.in_flight for session in self.sessions)

    @property
    def unused(self) -> bool:
        """Whether a client may have its session, because it is idle and Wayfare listens for no resource on it."""
        return self.session is not None and self.session.alive and not self.busy and not self._uris

    def hears(self, uri: str) -> bool:
        session = self.session
        return session is not None and session.alive and uri in self._uris

    @property
    def counts_as_open(self) -> bool:
        return self._opening is not None or self.session is not None

    async def lease(self) -> Lease:
        """Returns a usable session with the current values. All callers share one attempt to open it. Raises
        NotConnectedError."""
        self._renew_launch()
        session, connect_s = self.session, None
        if session is None or not session.alive or session.suspect:
            if self._opening is None:
                self._opening = asyncio.ensure_future(self._open())
                self._opening.add_done_callback(self._opening_done)
            self._waiters += 1
            try:
                session, connect_s = await asyncio.shield(self._opening)
            finally:
                self._waiters -= 1
        if session.launch != self._launch:  # a value changed while it was being opened
            self.drop(session, CHANGED, failed=False)
            return await self.lease()
        return session.lease(connect_s)

    async def checked(self) -> None:
        """Opens a session or probes the open session, without waiting for the time of the next attempt. Raises
        NotConnectedError."""
        self._backoff.allow()
        await self.lease()

    def enter(self, session: Session) -> None:
        self._calls += 1
        session.in_flight += 1
        session.used = session.used or bool(self.owner.key)
        session.passing = self.owner.passing
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def leave(self, session: Session) -> None:
        """The last call that leaves starts the idle timer or ends a retired session."""
        session.in_flight -= 1
        self.last_used_s = self._pool.clock()
        if session.in_flight:
            return
        if session is self.session:
            self._start_idle_timer()
        else:
            session.retire()

    def drop(self, session: Session, why: str, *, failed: bool = True) -> None:
        """Retires the session. Calls in progress end on it, the next call opens another."""
        if session is self.session:
            self._let_go(why)
            if failed:
                self._fail(why)
        session.retire()

    def unauthorized(self, session: Session, refused: Refused) -> UnauthorizedError:
        """Returns the error for a 401. The next call probes the session, because a person may have signed in meanwhile."""
        session.suspect = True
        error = unauthorized(self.server, self.connection, session.launch, refused)
        self._needs_sign_in = error.challenged
        self._fail(str(error))
        return error

    def busy_for_now(self, words: str, refused: Refused) -> BusyError:
        when = "" if refused.retry_s is None else f" It may be called again in {units.seconds(refused.retry_s)}."
        return BusyError(f"Server {self.server.server} is busy: {words.rstrip('.')}.{when}")

    def release(self, why: str) -> None:
        if self.session is not None and not self.busy and not self._uris:
            self.session.close()
            self._let_go(why)

    def close(self) -> None:
        for session in tuple(self.sessions):
            session.close()
        self._failed = False
        self._backoff.succeeded()
        self._let_go("the operator ended it")

    def state(self) -> ConnectionState:
        """Returns a snapshot; callable from any thread."""
        session = self.session if self.session is not None and self.session.alive else None
        status: State = "ready" if session is not None else "failed" if self._failed else "idle"
        return ConnectionState(
            server=self.server.server,
            catalog=self.server.catalog,
            transport=self.connection.transport,
            state=status if self._opening is None else "connecting",
            since=self._since,
            last_error=self._last_error,
            protocol_version=session.protocol_version if session is not None else "",
            server_version=session.server_version if session is not None else "",
            calls=self._calls,
            connect_s=self._connect_s,
            stderr_lines=self._stderr_log.lines(),
            pid=session.pid if session is not None else None,
            retry_s=self._backoff.wait_s(self._pool.clock()),
            needs_sign_in=self._needs_sign_in,
            connection=self.connection,
            owner_key=self.owner.key,
            owner=self.owner.name or self.server.person or ("all clients" if self.shared else "Wayfare"),
            person=self.server.person,
        )

    async def _open(self) -> tuple[Session, float | None]:
        previous = self.session
        if previous is not None:
            if previous.alive and await previous.responds(self._pool.config.probe_s):
                previous.suspect = self._needs_sign_in = False
                return previous, None
            self.drop(previous, "it stopped answering")
        if (wait_s := self._backoff.wait_s(self._pool.clock())) > 0:
            raise NotConnectedError(
                f"Server {self.server.server} failed to connect {self._backoff.failures} times, the next attempt is in "
                f"{wait_s:.1f} s: {self._last_error}"
            )
        self._changed()
        started_s = self._pool.clock()
        try:
            session = await self._connected()
        except (CancelledCallError, UnauthorizedError, BusyError):
            raise
        except (WayfareError, OSError) as error:
            self._backoff.failed(self._pool.clock())
            reason = self._redact(str(error))
            self._fail(reason)
            raise NotConnectedError(
                f"Server {self.server.server} cannot be reached: {reason}", self._pool.clock() - started_s
            ) from None
        self._backoff.succeeded()
        self._connect_s = self._pool.clock() - started_s
        self.session = session
        session.renewed, self._state_lost = self._state_lost, ""
        self._pool.opened(self, session)
        self.last_used_s = self._pool.clock()
        self._failed = self._needs_sign_in = False
        self._start_idle_timer()
        return session, self._connect_s

    def _renew_launch(self) -> None:
        """If a value has changed, retires the session with the old value and allows an attempt with the new value at
        once."""
        try:
            launch = self._pool.vault.resolve(self.server, self.connection)
        except MissingReferenceError:  # opening reports it
            launch = None
        if launch != self._launch:
            self._launch = launch
            self._backoff.succeeded()
            if self.session is not None:
                self.drop(self.session, CHANGED, failed=False)

    def _let_go(self, why: str) -> None:
        """Has no session from now on. The next session will say why the state of its client is gone."""
        if self.session is not None and self.session.used and not self.shared:
            self._state_lost = self._redact(why)
        self.session = None
        self._changed()

    @property
    def shared(self) -> bool:
        return self.connection.shared or (self.session is not None and self.session.stateless)

    async def _connected(self) -> Session:
        """Returns an opened session. Greets the server as last time, else in the way that the failure suggests."""
        launch = self._launch = self._pool.vault.resolve(self.server, self.connection)
        self._pool.make_room(self.owner)
        limit_s = self._pool.config.connect_limit_s if self.connection.start_s is None else self.connection.start_s
        greetings, way = self._pool.greetings, self._pool.greetings.of(self.connection)
        end_s = asyncio.get_running_loop().time() + limit_s
        first = self._begun(launch, way)
        try:
            session = await self._greeted(first, limit_s / 2 if way == "modern" else limit_s)
        except NotConnectedError as error:
            greetings.keep(self.connection, "probe")
            other_way = next_way(way, launch.transport, first.error, first.last_words)
            if other_way is None or isinstance(error, UnauthorizedError):
                raise
            way, left_s = other_way, end_s - asyncio.get_running_loop().time()
            self._stderr_log.forget(first.log_start)
            try:
                session = await self._greeted(
                    self._begun(launch, way), min(left_s, SSE_LIMIT_S) if way == "sse" else left_s
                )
            except NotConnectedError as second:
                raise error if way in {"sse", "modern"} else second  # noqa: B904 - one of two failures of the same attempt
        era: Way = "modern" if session.protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"
        greetings.keep(self.connection, way if way == "sse" else era)
        return session

    def _begun(self, launch: Launch, way: Way) -> Session:
        session = Session(launch, self._open_target, self._stderr_log, self.owner.abilities, way)
        if self._pool.list_changed is not None:
            session.asking.list_changed = session.asking.updated = partial(self._told, self._pool.list_changed)
            session.asking.uris = self._uris
        self.sessions.add(session)
        session.task.add_done_callback(lambda _: self._ended(session))
        return session

    async def _greeted(self, session: Session, limit_s: float) -> Session:
        try:
            await session.opened(limit_s)
        except NotConnectedError as error:
            if session.refused.challenged is not None:
                raise self.unauthorized(session, session.refused) from None
            if session.refused.status == BUSY:
                raise self.busy_for_now(str(error), session.refused) from None
            raise
        return session

    def _told(self, tell: Callable[[ServerId, str], None], kind: str) -> None:
        self.told_s = self._pool.clock()
        tell(self.server._replace(person=""), kind)

    def _start_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        idle_s = self._pool.config.idle_s if self.connection.idle_s is None else self.connection.idle_s
        idle_s = min(idle_s, RETURN_S) if self.owner.passing else idle_s
        why = f"nothing was called for {idle_s:g} s"
        self._idle_timer = asyncio.get_running_loop().call_later(idle_s, self.release, why)

    def _ended(self, session: Session) -> None:
        self.sessions.discard(session)
        self.drop(session, str(session.error or "the server closed the connection"))

    def _opening_done(self, task: asyncio.Task[tuple[Session, float | None]]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # retrieved, because the waiting caller may have given up
        self._changed()

    def _fail(self, error: str) -> None:
        self._failed = True
        self._last_error = self._redact(error)
        self._changed()

    def _changed(self) -> None:
        self._since = self._pool.now()
