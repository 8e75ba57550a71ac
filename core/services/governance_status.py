"""What pages show of governance as it is now: budgets with what is left and when it runs out, servers with their breakers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from core.governance.budgets import EACH, UNITS, Budget, Unit, Usage, day_of, runs_out_at
from core.services.clients import OWN_NAMES
from core.services.governance import GovernanceService


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
        """What calls may still use."""
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
    """Servers whose last calls were lost, those that wait longest first."""
    with governance.lock:
        found = [
            ServerStatus(*server, breaker.state(now_s), breaker.wait_s(now_s), breaker.failures)
            for now_s, server, breaker in governance.breakers()
            if breaker.failures
        ]
    return tuple(sorted(found, key=lambda one: (-one.wait_s, one.catalog, one.server)))


def _of(budget: Budget, usages: tuple[Usage, ...], day: str) -> list[Usage]:
    """Whose use a budget is shown for: whom it names, and of each by itself those that used something it covers."""
    named = Usage(day, budget.client, budget.catalog, budget.server)
    found = {named} if EACH not in named else set[Usage]()
    for usage in usages:
        if budget.covers(usage):
            found.add(
                Usage(day, *(own if name == EACH else name for name, own in zip(named[1:], usage[1:], strict=True)))
            )
    return sorted(found)
