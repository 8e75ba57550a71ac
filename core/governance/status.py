"""The present state of governance: budgets with their rest and forecast, servers with their breakers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from shutil import disk_usage
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
    """One limit of one budget, today. `used` is settled, `reserved` belongs to calls in progress. `over` is the part of `used` that a
    person approved beyond any budget.

    used + reserved + left = limit, unless a person approved more. `runs_out_at` follows from the pace since the day's first call; None
    means not today.
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
        return max(0.0, round(self.limit - self.used - self.reserved, 9))


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server whose last calls were lost, with its breaker's state and the time until the next try."""

    catalog: str
    server: str
    state: str
    wait_s: float
    failures: int


def budgets(governance: GovernanceService, now: Callable[[], datetime]) -> tuple[BudgetStatus, ...]:
    """Returns every limit with its use today. A budget for each client or server has a limit for every user of today."""
    with governance.lock:
        moment = now()
        ledger, usages = governance.ledger, governance.ledger.usages(day_of(moment))
        statuses: list[BudgetStatus] = []
        for budget in governance.policy.budgets:
            for use in _of(budget, usages, day_of(moment)):
                total, reserved, over = ledger.used(budget, use), ledger.reserved(budget, use), ledger.over(budget, use)
                since = ledger.since(budget, use)
                for unit in UNITS:
                    limit = budget.limit(unit)
                    if limit is None:
                        continue
                    used: float = getattr(total, unit)
                    held: float = getattr(reserved, unit)
                    ends = None if since is None else runs_out_at(used, limit, since, moment)
                    statuses.append(
                        BudgetStatus(
                            *use[1:], unit, limit, used - held, held, getattr(over, unit), ends, budget.at_limit
                        )
                    )
    return tuple(statuses)


def clients_today(governance: GovernanceService, now: Callable[[], datetime]) -> frozenset[str]:
    """Returns the names of the clients that called something today, with or without a token. People do not count."""
    with governance.lock:
        return frozenset(usage.client for usage in governance.ledger.usages(day_of(now()))) - OWN_NAMES.keys()


def servers(governance: GovernanceService) -> tuple[ServerStatus, ...]:
    with governance.lock:
        statuses = [
            ServerStatus(server.catalog, server.server, breaker.state(now_s), breaker.wait_s(now_s), breaker.failures)
            for now_s, server, breaker in governance.breakers()
            if breaker.failures
        ]
    return tuple(sorted(statuses, key=lambda status: (-status.wait_s, status.catalog, status.server)))


def _of(budget: Budget, usages: tuple[Usage, ...], day: str) -> list[Usage]:
    """Returns the uses that a budget is shown for: the named use, and for `*` each use that it covers."""
    named = Usage(day, budget.client, budget.catalog, budget.server)
    uses = {named} if EACH not in named else set[Usage]()
    for usage in usages:
        if budget.covers(usage):
            uses.add(
                Usage(day, *(value if name == EACH else name for name, value in zip(named[1:], usage[1:], strict=True)))
            )
    return sorted(uses)


# Metrics for Prometheus: totals of the log since the store was made, and the present state of governance. Counted on request.
#
# Labels are names of catalogs, servers, routers and clients, and kinds. No text of a task, an argument or a result is a label.

CONTENT_TYPE = CONTENT_TYPE_LATEST
Health = Mapping[str, tuple[float, str]]
"""Figures with their descriptions, by the end of their names."""


def health(
    store: Store, sessions: Iterable[ConnectionState], waiting: int, backups: tuple[float | None, str] | None
) -> Health:
    """Returns the present load of a console. `waiting` counts requests of agents without a turn. `backups` has the age of the newest
    scheduled backup, s, and the error of the last try."""
    ready = sum(session.state == "ready" for session in sessions)
    figures: dict[str, tuple[float, str]] = {
        "requests_waiting": (waiting, "Requests of agents that wait for their turn."),
        "sessions": (ready, "Open sessions with servers."),
        "unwritten_seconds": (
            store.events.unwritten_s,
            "Age of the oldest decision or call that is not in the store yet.",
        ),
    }
    for family in ProcessCollector(registry=None).collect():
        if family.name == "process_resident_memory_bytes":
            figures["memory_bytes"] = family.samples[0].value, "Resident memory of the console."
    if store.path is not None:
        figures["disk_free_bytes"] = disk_usage(store.path.parent).free, "Free room on the disk of the store."
        figures["store_bytes"] = store.path.stat().st_size, "Size of the store's file."
    if backups is not None:
        age_s, problem = backups
        figures["backup_failed"] = bool(problem), "1 if the last scheduled backup failed."
        if age_s is not None:
            figures["backup_age_seconds"] = age_s, "Age of the newest scheduled backup."
    return figures


DECISION_S = (0.002, 0.005, 0.01, 0.015, 0.02, 0.05, 0.1, 0.5)
CALL_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


@dataclass(eq=False)
class Metrics(Collector):
    """One page of metrics. `sessions` are the connections of the pool, `health` is the present load."""

    store: Store
    governance: GovernanceService
    sessions: Callable[[], Iterable[ConnectionState]]
    now: Callable[[], datetime]
    health: Health = field(default_factory=dict[str, tuple[float, str]])

    def text(self) -> bytes:
        registry = CollectorRegistry(auto_describe=False)  # so that nothing is counted for a description
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterable[Family]:
        for name, (value, about) in self.health.items():
            yield GaugeMetricFamily(f"wayfare_{name}", about, value)
        yield from self._log()
        yield from self._now_in_force()

    def _log(self) -> Iterable[Family]:
        decisions, calls = self.store.activity.decision_totals(DECISION_S), self.store.activity.call_totals(CALL_S)
        yield _histogram(
            "wayfare_decision_duration_seconds",
            "Routing decisions.",
            ("catalog", "router", "origin"),
            decisions,
            DECISION_S,
        )
        labels = ("catalog", "server", "outcome", "simulated", "origin")
        yield _histogram("wayfare_call_duration_seconds", "Calls of tools, without connecting.", labels, calls, CALL_S)
        spent = CounterMetricFamily("wayfare_call_cost_usd", "Declared prices of calls.", labels=labels)
        unpriced = CounterMetricFamily("wayfare_unpriced_calls", "Calls without a declared price.", labels=labels)
        for row in calls:
            spent.add_metric(_labels(labels, row), row["usd"])
            unpriced.add_metric(_labels(labels, row), row["unpriced"])
        yield from (spent, unpriced)

    def _now_in_force(self) -> Iterable[Family]:
        governance = self.governance
        yield GaugeMetricFamily("wayfare_approvals_waiting", "Calls that wait for a person.", len(governance.waiting()))
        circuits = GaugeMetricFamily(
            "wayfare_server_circuit", "1 for the state of a server's breaker.", labels=("catalog", "server", "state")
        )
        for status in servers(governance):
            circuits.add_metric((status.catalog, status.server, status.state), 1)
        names = ("client", "catalog", "server", "unit", "at_limit")
        left = GaugeMetricFamily("wayfare_budget_left", "What is left of a budget today.", labels=names)
        least = dict[tuple[str, ...], float]()  # two budgets may have the same labels, which Prometheus takes only once
        for status in budgets(governance, self.now):
            labels = (status.client, status.catalog, status.server, status.unit, status.at_limit)
            least[labels] = min(status.left, least.get(labels, status.left))
        for labels, value in least.items():
            left.add_metric(labels, value)
        sessions = GaugeMetricFamily(
            "wayfare_server_connection", "1 for the state of a connection.", labels=("catalog", "server", "state")
        )
        for labels in sorted({(session.catalog, session.server, session.state) for session in self.sessions()}):
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
