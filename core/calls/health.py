"""Background checks of servers that are believed to be down: a handshake, or a probe of the open session. No tool is called.

A handshake refutes that a server cannot be reached. It does not refute that a tool hangs or takes its server down. After such losses
only time (`RunningTable`) and the next call can tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.catalogs.background_jobs import Rounds
from core.catalogs.catalogs import CatalogService
from core.domain import units
from core.domain.catalog import ServerId

if TYPE_CHECKING:
    from core.servers.pool import SessionPool

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0
ROUND_S = 1.0
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ServerDown:
    """A server that is believed to be down. `next_check` is None if only a call can tell whether it is back."""

    since: datetime
    next_check: datetime | None

    def words(self, now: datetime) -> str:
        """The state as a phrase.

        >>> at = datetime(2026, 11, 23, 14, 2, tzinfo=UTC)
        >>> ServerDown(at, at + timedelta(seconds=100)).words(at + timedelta(seconds=60))
        'down since 14:02 UTC, next check in 40 s'
        """
        since = self.since.astimezone(UTC)
        day = "" if since.date() == now.astimezone(UTC).date() else f"{since:%Y-%m-%d} "
        if self.next_check is None:
            return f"down since {day}{since:%H:%M} UTC, the next call tells whether it is back"
        wait_s = max(0.0, (self.next_check - now).total_seconds())
        return f"down since {day}{since:%H:%M} UTC, next check in {units.seconds(wait_s)}"


@dataclass(slots=True)
class _Plan:
    failed: int
    due: datetime


class HealthChecks(Rounds):
    """Checks servers that could not be reached, after 5 s and then after ever longer waits, up to 5 min. Thread-safe."""

    def __init__(
        self, catalogs: CatalogService, sessions: Callable[[], SessionPool], now: Callable[[], datetime]
    ) -> None:
        super().__init__(pause_s=ROUND_S, name="wayfare-health")
        self._catalogs = catalogs
        self._sessions = sessions
        self._now = now
        self._plans: dict[ServerId, _Plan] = {}
        self._lock = threading.Lock()

    def down(self, catalog: str) -> dict[str, ServerDown]:
        down_servers, first = self._catalogs.down(catalog), self._now() + timedelta(seconds=wait_s(0))
        with self._lock:
            plans = {server: self._plans.get(ServerId(catalog, server), _Plan(0, first)) for server in down_servers}
        return {
            server: ServerDown(down.since, plans[server].due if down.unreachable else None)
            for server, down in down_servers.items()
        }

    def round(self) -> None:
        self.check_due()

    def check_due(self) -> tuple[ServerId, ...]:
        """Checks every server that is due. Returns the servers that answer again."""
        due = self._due(self._now())
        if not due:
            return ()
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="wayfare-check") as pool:
            answers = list(pool.map(self._answers, due))
        back = tuple(server for server, answers_again in zip(due, answers, strict=True) if answers_again)
        for server in back:
            self._catalogs.answered(server.catalog, server.server)
        with self._lock:
            for server, answers_again in zip(due, answers, strict=True):
                if answers_again:
                    self._plans.pop(server, None)
                elif (plan := self._plans.get(server)) is not None:
                    plan.failed += 1
                    plan.due = self._now() + timedelta(seconds=wait_s(plan.failed))
        return back

    def _due(self, now: datetime) -> list[ServerId]:
        unreachable = [server for server, down in self._catalogs.down_anywhere().items() if down.unreachable]
        with self._lock:
            self._plans = {
                server: self._plans.get(server) or _Plan(0, now + timedelta(seconds=wait_s(0)))
                for server in unreachable
            }
            return [server for server, plan in self._plans.items() if plan.due <= now]

    def _answers(self, server: ServerId) -> bool:
        """Whether the server opens a session or asks for a sign-in or for patience."""
        catalog = self._catalogs.catalog(server.catalog)
        row = catalog.server_row.get(server.server)
        connection = None if row is None else catalog.servers[row].connection
        if connection is None:
            return False
        sessions = self._sessions()
        from core.servers.threads import BusyError, UnauthorizedError

        try:
            sessions.check(server, connection)
        except (UnauthorizedError, BusyError):
            return True
        except Exception:  # noqa: BLE001  any error of the SDK means that the server is not back
            return False
        return True


def wait_s(failed: int) -> float:
    """Seconds until the next check after `failed` checks without an answer.

    >>> [wait_s(failed) for failed in (0, 1, 5, 60)]
    [5.0, 10.0, 160.0, 300.0]
    """
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failed, 10))
