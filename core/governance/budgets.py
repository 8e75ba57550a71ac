"""Daily budgets in USD, calls and tokens: the largest possible use of a call is reserved before it and settled after it.

    settled + reserved + wanted <= limit                        for each of USD, calls and tokens, for each budget that covers the call

The strictest of the exceeded budgets decides. If a person approves a call beyond a budget, the call still counts in every budget.
Days are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, NamedTuple

from core.domain.documents import AMOUNT, CLOSED, COUNT
from core.domain.events import Spent

EACH = "*"
ROUNDING_USD = 1e-9  # sums of prices are not exact
AtLimit = Literal["refuse", "cheaper", "ask"]
AT_LIMIT: tuple[AtLimit, ...] = ("refuse", "cheaper", "ask")  # the strictest first
Unit = Literal["usd", "calls", "tokens"]
UNITS: tuple[Unit, ...] = ("usd", "calls", "tokens")
LEAST_TOKENS = 50  # a result that is cut to less is useless


class Amount(NamedTuple):
    """The use of calls: USD, their number, and the tokens of their results."""

    usd: float = 0.0
    calls: int = 0
    tokens: int = 0

    def plus(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.calls + other.calls, self.tokens + other.tokens)

    def at_most(self, bound: Amount) -> Amount:
        return Amount(min(self.usd, bound.usd), min(self.calls, bound.calls), min(self.tokens, bound.tokens))

    @classmethod
    def of(cls, spent: Spent) -> Amount:
        return cls(spent.usd, spent.calls, spent.tokens)


class Usage(NamedTuple):
    """The key of a use: a client, a server of a catalog, and a day as `2026-03-01`."""

    day: str
    client: str
    catalog: str
    server: str

    @classmethod
    def of(cls, spent: Spent) -> Usage:
        return cls(spent.day, spent.client, spent.catalog, spent.server)


@dataclass(frozen=True, slots=True)
class Budget:
    """Daily limits. `client`, `catalog` and `server` are a name, "" for all together, or `*` for each one separately.
    None means no limit.

    `at_limit` decides about a call that does not fit: "refuse" refuses it; "cheaper" refuses it, names the cheaper
    tools that still fit, and admits free ones; "ask" asks a person.
    """

    __pydantic_config__ = CLOSED

    client: str = EACH
    catalog: str = ""
    server: str = ""
    usd: Annotated[int | float, AMOUNT] | None = None
    calls: Annotated[int, COUNT] | None = None
    tokens: Annotated[int, COUNT] | None = None
    at_limit: AtLimit = "refuse"

    def covers(self, usage: Usage) -> bool:
        """Whether a client's use of a server counts.

        >>> Budget(client="ann").covers(Usage("2026-03-01", "ann", "demo", "files")), Budget(catalog="demo").covers(Usage("2026-03-01", "bob", "old", "files"))
        (True, False)
        """
        return (
            self.client in {"", EACH, usage.client}
            and self.catalog in {"", EACH, usage.catalog}
            and self.server in {"", EACH, usage.server}
        )

    def limit(self, unit: Unit) -> float | None:
        return getattr(self, unit)

    def counts(self, usage: Usage, of: Usage) -> bool:
        """Whether `usage` counts against this budget when a call of `of` is checked."""
        return (
            usage.day == of.day
            and (not self.client or usage.client == of.client)
            and (not self.catalog or usage.catalog == of.catalog)
            and (not self.server or usage.server == of.server)
        )


class Short(NamedTuple):
    """A budget that a call exceeds, the exceeded unit, and the amount that is left."""

    budget: Budget
    unit: Unit
    left: float


@dataclass
class Ledger:
    """Settled use and reservations. Its owner locks it.

    >>> ledger, usage, budget = Ledger(), Usage("2026-03-01", "ann", "demo", "files"), Budget(calls=2)
    >>> ledger.reserve(Spent("1", datetime(2026, 3, 1, 9, tzinfo=UTC), *usage, "read", *Amount(0.01, 1, 90), over=False, settled=False))
    >>> ledger.settle("1", Amount(0.002, 1, 30))
    >>> ledger.used(budget, usage), ledger.short([budget], usage, Amount(calls=2))
    (Amount(usd=0.002, calls=1, tokens=30), (Short(budget=Budget(client='*', catalog='', server='', usd=None, calls=2, tokens=None, at_limit='refuse'), unit='calls', left=1),))
    """

    _settled: dict[Usage, Amount] = field(default_factory=dict[Usage, Amount])
    _over: dict[Usage, Amount] = field(default_factory=dict[Usage, Amount])
    open: dict[str, Spent] = field(default_factory=dict[str, Spent])
    _since: dict[Usage, datetime] = field(default_factory=dict[Usage, datetime])

    def add(self, spent: Spent) -> None:
        self._count(spent, Amount.of(spent))
        self._since.setdefault(Usage.of(spent), spent.at)

    def read_anew(self, calls: Iterable[Spent]) -> None:
        """Replaces the settled use by these calls, or sums of calls. A call that is under way here stays reserved."""
        for table in (self._settled, self._over, self._since):
            table.clear()
        for call in calls:
            if call.id not in self.open:
                self._count(call, Amount.of(call))
            self._since.setdefault(Usage.of(call), call.at)

    def reserve(self, spent: Spent) -> None:
        """Keeps a reservation until it is settled. The caller has checked that it fits, under the same lock."""
        self.open[spent.id] = spent
        self._since.setdefault(Usage.of(spent), spent.at)

    def settle(self, id_: str, amount: Amount) -> None:
        """Replaces a reservation by the actual use, which is at most the reserved amount."""
        reserved = self.open.pop(id_)
        self._count(reserved, amount.at_most(Amount.of(reserved)))

    def release(self, id_: str) -> None:
        self.open.pop(id_, None)

    def usages(self, day: str) -> tuple[Usage, ...]:
        return tuple(usage for usage in self._since if usage.day == day)

    def used(self, budget: Budget, of: Usage) -> Amount:
        settled = (amount for usage, amount in self._settled.items() if budget.counts(usage, of))
        return _sum([*settled, self.reserved(budget, of)])

    def reserved(self, budget: Budget, of: Usage) -> Amount:
        return _sum(Amount.of(spent) for spent in self.open.values() if budget.counts(Usage.of(spent), of))

    def over(self, budget: Budget, of: Usage) -> Amount:
        """Returns the settled amount that a person approved beyond a budget."""
        return _sum(amount for usage, amount in self._over.items() if budget.counts(usage, of))

    def since(self, budget: Budget, of: Usage) -> datetime | None:
        """Returns the start of the day's first call that counts against a budget."""
        return min((start for usage, start in self._since.items() if budget.counts(usage, of)), default=None)

    def short(self, budgets: Iterable[Budget], usage: Usage, wanted: Amount) -> tuple[Short, ...]:
        """Returns the budgets that a call exceeds, the strictest first; empty if it fits into all. Free tools fit into
        an empty USD budget, unless that budget refuses every call."""
        gaps = [gap for budget in budgets if budget.covers(usage) for gap in self._short(budget, usage, wanted)]
        # among budgets that name cheaper tools: first those that a cheaper tool does not help, then those with less left
        return tuple(sorted(gaps, key=lambda gap: (AT_LIMIT.index(gap.budget.at_limit), gap.unit == "usd", gap.left)))

    def tokens_left(self, budgets: Sequence[Budget], usage: Usage, wanted: int) -> int:
        """Returns the tokens that a result may have: the wanted number, or what the budgets leave, but at least
        `LEAST_TOKENS`. Returns 0 if none are wanted."""
        if not wanted:
            return 0
        lefts = [
            budget.tokens - self.used(budget, usage).tokens
            for budget in budgets
            if budget.tokens is not None and budget.covers(usage)
        ]
        return max(LEAST_TOKENS, min([wanted, *lefts]))

    def _count(self, spent: Spent, amount: Amount) -> None:
        usage = Usage.of(spent)
        for table in (self._settled, self._over) if spent.over else (self._settled,):
            table[usage] = table.get(usage, Amount()).plus(amount)

    def _short(self, budget: Budget, usage: Usage, amount: Amount) -> Iterable[Short]:
        used = self.used(budget, usage)
        for unit in UNITS:
            limit = budget.limit(unit)
            if limit is None:
                continue
            left = max(0, round(limit - getattr(used, unit), 9))  # a person may have approved calls beyond the limit
            spent = unit == "usd" and budget.at_limit == "refuse" and left <= ROUNDING_USD
            if getattr(amount, unit) > left + ROUNDING_USD or spent:
                yield Short(budget, unit, left)


def day_of(at: datetime) -> str:
    """Returns the day on which a call counts.

    >>> day_of(datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
    '2026-03-01'
    """
    return at.astimezone(UTC).date().isoformat()


def next_day(at: datetime) -> datetime:
    """Returns the time at which budgets are reset."""
    return datetime.combine(at.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)


def runs_out_at(used: float, limit: float, since: datetime, now: datetime) -> datetime | None:
    """Returns when a budget is exhausted at the average rate since its first call, or None if that is not today.

    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> runs_out_at(2, 3, noon - timedelta(hours=2), noon), runs_out_at(1, 99, noon - timedelta(hours=2), noon)
    (datetime.datetime(2026, 3, 1, 13, 0, tzinfo=datetime.timezone.utc), None)
    """
    if used >= limit:
        return now
    if used <= 0:
        return None
    elapsed_s = max((now - since).total_seconds(), 60.0)
    seconds = (limit - used) * elapsed_s / used
    if seconds > (next_day(now) - now).total_seconds():
        return None
    return now + timedelta(seconds=seconds)


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = Amount()
    for amount in amounts:
        total = total.plus(amount)
    return total
