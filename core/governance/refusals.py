"""A call on its way through governance: the request, its permit, and its refusals as agents read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from core.domain import units
from core.domain.catalog import ServerId, Tool
from core.domain.errors import Refusal
from core.domain.events import Spent
from core.domain.execution import APPROVAL_DENIED, APPROVAL_NEEDED
from core.domain.limits import Breaker
from core.domain.outcome import ToolCall
from core.governance.approvals import Approval
from core.governance.budgets import Short, next_day


class ApprovalNeededError(Refusal):
    """A call waits for a person. `number` is the number of its approval. `over_budget` leaves the decision to the operator."""

    def __init__(self, error: str, why: str, advice: str, number: str, *, over_budget: bool) -> None:
        super().__init__(error, why, advice)
        self.number = number
        self.over_budget = over_budget


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a client wants to make. `result_tokens` limits its result; it is 0 for a person, because no model
    reads the result. `others` are tools of the same search. `origin` is agent, console or cli. `approved_by` is the
    origin of a person who saw this exact call and approves it if the policy asks for that, or "". A check of a job asks
    for `times` such calls."""

    client: str
    call: ToolCall
    tool: Tool
    result_tokens: int
    others: Sequence[str] = ()
    origin: str = "agent"
    approved_by: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Outlook:
    """The result of a check: why the call would be refused, or why a person has to approve it. Without either the call
    may be made. `price_usd` is the price of one call, or None if it has none."""

    refusal: Refusal | None = None
    reasons: tuple[str, ...] = ()
    price_usd: float | None = field(default=None, compare=False)

    @property
    def obstacles(self) -> tuple[str, ...]:
        waits = (f"A person has to approve it: {'; '.join(self.reasons)}.",) if self.reasons else ()
        return waits if self.refusal is None else (str(self.refusal),)


@dataclass(frozen=True, slots=True)
class Permit:
    """A permitted call, with the amount that is reserved for it."""

    wanted: Wanted
    reserved: Spent
    approval: Approval | None = None

    @property
    def tokens(self) -> int:
        return self.reserved.tokens


DEFINITION_CHANGED = "definition_changed"
DEFINITION_WAITS = "definition_waits"


def approval_needed(
    tool: str, reasons: str, number: str, expires_at: datetime, *, over_budget: bool
) -> ApprovalNeededError:
    return ApprovalNeededError(
        APPROVAL_NEEDED,
        f"This call of {tool} waits for a person, because {reasons}. Its number is {number}.",
        f"Ask the operator to approve {number} on Wayfare's page Govern, then call again with exactly the same arguments. It "
        f"waits until {expires_at:%H:%M:%S} UTC.",
        number,
        over_budget=over_budget,
    )


def not_decided(needed: ApprovalNeededError, held_s: float) -> ApprovalNeededError:
    advice = f"Nobody decided within {units.seconds(held_s)}. {needed.advice}"
    return ApprovalNeededError(needed.error, needed.why, advice, needed.number, over_budget=needed.over_budget)


def approval_denied(tool: str, expires_at: datetime) -> Refusal:
    return Refusal(
        APPROVAL_DENIED,
        f"A person denied this call of {tool}.",
        f"Do not repeat it as it is before {expires_at:%H:%M:%S} UTC; find another way, or ask the user.",
    )


def budget_spent(tool: str, short: Short, cheaper: Sequence[str], now: datetime) -> Refusal:
    """A daily budget is exhausted; `cheaper` are tools of the same search that still fit."""
    advice = f"The budget is reset at {next_day(now):%Y-%m-%d %H:%M} UTC."
    if short.budget.at_limit == "cheaper" and short.unit == "usd":
        names = f": {', '.join(cheaper)}" if cheaper else ""
        advice = f"Tools of at most ${short.left:.6g} a call still fit{names}. {advice}"
    return Refusal("budget_spent", f"The daily budget is too small for {tool}: {left_words(short)}.", advice)


def server_paused(server: ServerId, breaker: Breaker, now_s: float, now: datetime) -> Refusal:
    wait_s = breaker.wait_s(now_s)
    retry = f"in {units.seconds(wait_s)}, at {at_time(now, wait_s)}" if wait_s else "when the current try has ended"
    return Refusal(
        "server_paused",
        f"The last {breaker.failures} calls to {server.server} of catalog {server.catalog} were lost, so it is paused for a while.",
        f"It may be tried again {retry}; use a tool of another server meanwhile.",
    )


def left_words(short: Short) -> str:
    """Returns the rest of a limit as a phrase.

    >>> from core.governance.budgets import Budget
    >>> left_words(Short(Budget(usd=2.0), "usd", 0.25)), left_words(Short(Budget(calls=5), "calls", 0))
    ('$0.25 of $2 are left', '0 of 5 calls are left')
    """
    limit = short.budget.limit(short.unit) or 0
    if short.unit == "usd":
        return f"${short.left:.6g} of ${limit:g} are left"
    return f"{short.left:,.0f} of {limit:,.0f} {short.unit} are left"


def at_time(now: datetime, wait_s: float) -> str:
    return f"{now + timedelta(seconds=wait_s):%H:%M:%S} UTC"
