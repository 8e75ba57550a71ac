"""The present state of governance: budgets with their rest and forecast, servers with their breakers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from shutil import disk_usage
from types import MappingProxyType
from typing import Any

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from core.domain.catalog import ConnectionState
from core.governance.budgets import EACH, UNITS, Budget, Unit, Usage, day_of, runs_out_at
from core.governance.clients import OWN_NAMES
from core.governance.governance import GovernanceService
from core.store import Store


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One limit of one budget, today: `used` is settled, `reserved` is of calls under way. `over` is the part of `used` that a person
    let go beyond a budget, this one or another.

    used + reserved + left = limit, unless a person let more go. `runs_out_at` follows from the pace since the day's first call; None:
    not today.
    """

    client: str  # "" all together
    catalog: str  # "" all together
    server: str  # "" all together
    unit: Unit
    limit: float
    used: float
    reserved: float
    over: float
    runs_out_at: datetime | None
    at_limit: str

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.used - self.reserved)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server whose last calls were lost: its breaker's state, and how long until a call may try it."""

    catalog: str
    server: str
    state: str
    wait_s: float
    failures: int


def budgets(governance: GovernanceService, now: Callable[[], datetime]) -> tuple[BudgetStatus, ...]:
    """Every limit with its use today; of a budget for each client or server, of each that used something today."""
    with governance.lock:
        at = now()
        ledger, usages = governance.ledger, governance.ledger.usages(day_of(at))
        found: list[BudgetStatus] = []
        for budget in governance.policy.budgets:
            for of in _of(budget, usages, day_of(at)):
                total, reserved, over = ledger.used(budget, of), ledger.reserved(budget, of), ledger.over(budget, of)
                since = ledger.since(budget, of)
                for unit in UNITS:
                    limit = budget.limit(unit)
                    if limit is None:
                        continue
                    used: float = getattr(total, unit)
                    held: float = getattr(reserved, unit)
                    ends = None if since is None else runs_out_at(used, limit, since, at)
                    found.append(
                        BudgetStatus(
                            *of[1:], unit, limit, used - held, held, getattr(over, unit), ends, budget.at_limit
                        )
                    )
    return tuple(found)


def clients_today(governance: GovernanceService, now: Callable[[], datetime]) -> frozenset[str]:
    """The names of the clients that called something today, with a token or without one; people are none."""
    with governance.lock:
        return frozenset(usage.client for usage in governance.ledger.usages(day_of(now()))) - OWN_NAMES.keys()


def servers(governance: GovernanceService) -> tuple[ServerStatus, ...]:
    with governance.lock:
        found = [
            ServerStatus(server.catalog, server.server, breaker.state(now_s), breaker.wait_s(now_s), breaker.failures)
            for now_s, server, breaker in governance.breakers()
            if breaker.failures
        ]
    return tuple(sorted(found, key=lambda one: (-one.wait_s, one.catalog, one.server)))


def _of(budget: Budget, usages: tuple[Usage, ...], day: str) -> list[Usage]:
    """The uses that a budget is shown for: those it names, and for `*` each one that used something it covers."""
    named = Usage(day, budget.client, budget.catalog, budget.server)
    found = {named} if EACH not in named else set[Usage]()
    for usage in usages:
        if budget.covers(usage):
            found.add(
                Usage(day, *(own if name == EACH else name for name, own in zip(named[1:], usage[1:], strict=True)))
            )
    return sorted(found)


# What Prometheus reads: totals of the log since the store was made, and governance as it is now. Counted when it is asked for.
#
# Labels are names of catalogs, servers, routers and clients, and kinds; no text of a task, an argument or a result is one.

CONTENT_TYPE = CONTENT_TYPE_LATEST
Health = Mapping[str, tuple[float, str]]
"""Figures with what they are, by the end of their names."""


def health(
    store: Store, sessions: Iterable[ConnectionState], waiting: int, backups: tuple[float | None, str] | None
) -> Health:
    """The load of a console now. `waiting` are requests of agents without their turn; `backups` the age of the newest scheduled one, s,
    and why the last try failed."""
    ready = sum(one.state == "ready" for one in sessions)
    found: dict[str, tuple[float, str]] = {
        "requests_waiting": (waiting, "Requests of agents that wait for their turn."),
        "sessions": (ready, "Open sessions with servers."),
        "unwritten_seconds": (
            store.events.unwritten_s,
            "Age of the oldest decision or call that is not in the store yet.",
        ),
    }
    for family in ProcessCollector(registry=None).collect():
        if family.name == "process_resident_memory_bytes":
            found["memory_bytes"] = family.samples[0].value, "Resident memory of the console."
    if store.path is not None:
        found["disk_free_bytes"] = disk_usage(store.path.parent).free, "Free room on the disk of the store."
        found["store_bytes"] = store.path.stat().st_size, "Size of the store's file."
    if backups is not None:
        age_s, problem = backups
        found["backup_failed"] = bool(problem), "1 if the last scheduled backup failed."
        if age_s is not None:
            found["backup_age_seconds"] = age_s, "Age of the newest scheduled backup."
    return found


DECISION_S = (0.002, 0.005, 0.01, 0.015, 0.02, 0.05, 0.1, 0.5)
CALL_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class Metrics(Collector):
    """One page of them. `sessions` are the connections of the pool, `health` is the load now."""

    def __init__(
        self,
        store: Store,
        governance: GovernanceService,
        sessions: Callable[[], Iterable[ConnectionState]],
        now: Callable[[], datetime],
        health: Health = MappingProxyType({}),
    ) -> None:
        self._health = health
        self._store = store
        self._governance = governance
        self._sessions = sessions
        self._now = now
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Family]:
        """Nothing is counted for its description alone."""
        return ()

    def collect(self) -> Iterable[Family]:
        for name, (value, about) in self._health.items():
            yield GaugeMetricFamily(f"wayfare_{name}", about, value)
        yield from self._log()
        yield from self._now_in_force()

    def _log(self) -> Iterable[Family]:
        decided, called = self._store.activity.decision_totals(DECISION_S), self._store.activity.call_totals(CALL_S)
        yield _histogram(
            "wayfare_decision_duration_seconds",
            "Routing decisions.",
            ("catalog", "router", "origin"),
            decided,
            DECISION_S,
        )
        of = ("catalog", "server", "outcome", "simulated", "origin")
        yield _histogram("wayfare_call_duration_seconds", "Calls of tools, without connecting.", of, called, CALL_S)
        spent = CounterMetricFamily("wayfare_call_cost_usd", "Declared prices of calls.", labels=of)
        unpriced = CounterMetricFamily("wayfare_unpriced_calls", "Calls without a declared price.", labels=of)
        for row in called:
            spent.add_metric(_labels(of, row), row["usd"])
            unpriced.add_metric(_labels(of, row), row["unpriced"])
        yield from (spent, unpriced)

    def _now_in_force(self) -> Iterable[Family]:
        governance = self._governance
        yield GaugeMetricFamily("wayfare_approvals_waiting", "Calls that wait for a person.", len(governance.waiting()))
        circuits = GaugeMetricFamily(
            "wayfare_server_circuit", "1 for the state of a server's breaker.", labels=("catalog", "server", "state")
        )
        for one in servers(governance):
            circuits.add_metric((one.catalog, one.server, one.state), 1)
        of = ("client", "catalog", "server", "unit", "at_limit")
        left = GaugeMetricFamily("wayfare_budget_left", "What is left of a budget today.", labels=of)
        least = dict[tuple[str, ...], float]()  # two budgets may be of the same: Prometheus takes no value twice
        for one in budgets(governance, self._now):
            labels = (one.client, one.catalog, one.server, one.unit, one.at_limit)
            least[labels] = min(one.left, least.get(labels, one.left))
        for labels, value in least.items():
            left.add_metric(labels, value)
        sessions = GaugeMetricFamily(
            "wayfare_server_connection", "1 for the state of a connection.", labels=("catalog", "server", "state")
        )
        for labels in sorted({(one.catalog, one.server, one.state) for one in self._sessions()}):
            sessions.add_metric(labels, 1)
        yield from (circuits, left, sessions)


def _histogram(
    name: str, about: str, labels: Sequence[str], rows: Iterable[Mapping[str, Any]], bounds: Sequence[float]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, about, labels=labels)
    for row in rows:
        counts = [*accumulate(row["buckets"])]
        buckets = [*((str(bound), count) for bound, count in zip(bounds, counts, strict=False)), ("+Inf", row["count"])]
        family.add_metric(_labels(labels, row), buckets, row["seconds"])
    return family


def _labels(names: Iterable[str], row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]).lower() if isinstance(row[name], bool) else str(row[name]) for name in names)
