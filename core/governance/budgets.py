"""Budgets of a day in USD, calls and tokens: what a call may use at most is reserved before it and settled after it.

    settled + reserved + wanted <= limit                        for each of USD, calls and tokens, for each budget that covers the call

The strictest of the budgets that are short decides. A call that a person let go beyond a budget that asks counts in every budget, in
that one, too: what is spent is spent. Days are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Literal, NamedTuple

from core.shared.documents import AMOUNT, CLOSED, COUNT

EACH = "*"
ROUNDING_USD = 1e-9  # sums of prices are not exact
AtLimit = Literal["refuse", "cheaper", "ask"]
AT_LIMIT: tuple[AtLimit, ...] = ("refuse", "cheaper", "ask")  # the strictest first
Unit = Literal["usd", "calls", "tokens"]
UNITS: tuple[Unit, ...] = ("usd", "calls", "tokens")
LEAST_TOKENS = 50  # a result that is cut to less says nothing


class Amount(NamedTuple):
    """What calls used: USD, their number, and the tokens of their results."""

    usd: float = 0.0
    calls: int = 0
    tokens: int = 0

    def plus(self, other: Amount) -> Amount:
        """The sum, unit by unit."""
        return Amount(self.usd + other.usd, self.calls + other.calls, self.tokens + other.tokens)

    def at_most(self, bound: Amount) -> Amount:
        """The smaller of both, unit by unit."""
        return Amount(min(self.usd, bound.usd), min(self.calls, bound.calls), min(self.tokens, bound.tokens))


class Usage(NamedTuple):
    """Whose use it is: a client's, of a server of a catalog, on a day as `2026-03-01`."""

    day: str
    client: str
    catalog: str
    server: str


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a day. `client`, `catalog` and `server` are a name, "" for all together, or `*` for each by itself; None is no limit.

    `at_limit` says what happens to a call that does not fit: refused; refused, with the cheaper tools that still fit named,
    and free ones let through; or left to a person.
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
        """The limit of a unit."""
        return getattr(self, unit)

    def counts(self, usage: Usage, of: Usage) -> bool:
        """Whether some use counts where this budget is asked for another."""
        return (
            usage.day == of.day
            and (not self.client or usage.client == of.client)
            and (not self.catalog or usage.catalog == of.catalog)
            and (not self.server or usage.server == of.server)
        )


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call may use at most; `over` where a person let it go beyond a budget."""

    id: str
    usage: Usage
    amount: Amount
    over: bool = False


class Short(NamedTuple):
    """A budget that a call does not fit into, the unit that is missing, and how much of it is left."""

    budget: Budget
    unit: Unit
    left: float


class Ledger:
    """What was used and what is reserved. Its owner locks it.

    >>> ledger, usage, budget = Ledger(), Usage("2026-03-01", "ann", "demo", "files"), Budget(calls=2)
    >>> ledger.reserve(Reservation("1", usage, Amount(0.01, 1, 90)), at := datetime(2026, 3, 1, 9, tzinfo=UTC))
    >>> ledger.settle("1", Amount(0.002, 1, 30))
    >>> ledger.used(budget, usage), ledger.short([budget], usage, Amount(calls=2))
    (Amount(usd=0.002, calls=1, tokens=30), (Short(budget=Budget(client='*', catalog='', server='', usd=None, calls=2, tokens=None, at_limit='refuse'), unit='calls', left=1),))
    """

    def __init__(self) -> None:
        self._settled: dict[Usage, Amount] = {}
        self._over: dict[Usage, Amount] = {}
        self._open: dict[str, Reservation] = {}
        self._since: dict[Usage, datetime] = {}

    def add(self, usage: Usage, amount: Amount, at: datetime, *, over: bool = False) -> None:
        """Count what was settled earlier."""
        self._count(usage, amount, over=over)
        self._since.setdefault(usage, at)

    def reserve(self, reservation: Reservation, at: datetime) -> None:
        """Keep a reservation until it is settled. Who reserves has looked whether it fits, under the same lock."""
        if any(usage.day < reservation.usage.day for usage in islice(self._since, 1)):
            self._forget_before(reservation.usage.day)
        self._open[reservation.id] = reservation
        self._since.setdefault(reservation.usage, at)

    def settle(self, id_: str, amount: Amount) -> None:
        """Put what a call used in the place of what was reserved for it, at most that."""
        reserved = self._open.pop(id_)
        self._count(reserved.usage, amount.at_most(reserved.amount), over=reserved.over)

    def release(self, id_: str) -> None:
        """Forget a reservation: the call was not made."""
        self._open.pop(id_, None)

    def usages(self, day: str) -> tuple[Usage, ...]:
        """Who used what on a day."""
        return tuple(usage for usage in self._since if usage.day == day)

    def used(self, budget: Budget, of: Usage) -> Amount:
        """What counts against a budget: settled and reserved."""
        settled = (amount for usage, amount in self._settled.items() if budget.counts(usage, of))
        return _sum([*settled, self.reserved(budget, of)])

    def reserved(self, budget: Budget, of: Usage) -> Amount:
        """The part of it that calls under way have reserved."""
        return _sum(one.amount for one in self._open.values() if budget.counts(one.usage, of))

    def over(self, budget: Budget, of: Usage) -> Amount:
        """The part of what is settled that a person let go beyond a budget."""
        return _sum(amount for usage, amount in self._over.items() if budget.counts(usage, of))

    def since(self, budget: Budget, of: Usage) -> datetime | None:
        """When the first call of the day began that counts against a budget."""
        return min((at for usage, at in self._since.items() if budget.counts(usage, of)), default=None)

    def short(self, budgets: Iterable[Budget], usage: Usage, wanted: Amount) -> tuple[Short, ...]:
        """The budgets into which a call does not fit, the strictest first; none where it fits into all. Free tools fit where no USD
        are left, unless the budget refuses everything then."""
        found = [short for budget in budgets if budget.covers(usage) for short in self._short(budget, usage, wanted)]
        # of two that name cheaper tools first the one that none of them helps, then the one that has less
        return tuple(sorted(found, key=lambda one: (AT_LIMIT.index(one.budget.at_limit), one.unit == "usd", one.left)))

    def tokens_left(self, budgets: Sequence[Budget], usage: Usage, wanted: int) -> int:
        """How many tokens a result may have: what is wanted, or what the budgets leave, yet never less than is of use; 0 where none
        is wanted."""
        if not wanted:
            return 0
        lefts = [
            budget.tokens - self.used(budget, usage).tokens
            for budget in budgets
            if budget.tokens is not None and budget.covers(usage)
        ]
        return max(LEAST_TOKENS, min([wanted, *lefts]))

    def _count(self, usage: Usage, amount: Amount, *, over: bool) -> None:
        for kept in (self._settled, self._over) if over else (self._settled,):
            kept[usage] = kept.get(usage, Amount()).plus(amount)

    def _short(self, budget: Budget, usage: Usage, wanted: Amount) -> Iterable[Short]:
        """The units of a budget of which a call needs more than is left."""
        used = self.used(budget, usage)
        for unit in UNITS:
            limit = budget.limit(unit)
            if limit is None:
                continue
            left = max(0, limit - getattr(used, unit))  # a person may have let calls go beyond it
            spent = unit == "usd" and budget.at_limit == "refuse" and left <= ROUNDING_USD
            if getattr(wanted, unit) > left + ROUNDING_USD or spent:
                yield Short(budget, unit, left)

    def _forget_before(self, day: str) -> None:
        """Days that are over count for nothing any more."""
        for kept in (self._settled, self._over, self._since):
            for usage in [usage for usage in kept if usage.day < day]:
                del kept[usage]


def day_of(at: datetime) -> str:
    """The day that a call counts for.

    >>> day_of(datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
    '2026-03-01'
    """
    return at.astimezone(UTC).date().isoformat()


def next_day(at: datetime) -> datetime:
    """When budgets begin anew."""
    return datetime.combine(at.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)


def runs_out_at(used: float, limit: float, since: datetime, now: datetime) -> datetime | None:
    """When a budget is used up if the day goes on as it did since its first call; None where that is not today.

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
