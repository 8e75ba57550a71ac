"""A call on its way through governance: the request, its permit, and every refusal as agents read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.domain import units
from core.domain.catalog import ServerId, Tool
from core.domain.errors import Refusal
from core.domain.execution import APPROVAL_DENIED, APPROVAL_NEEDED
from core.domain.outcome import ToolCall
from core.governance.budgets import Reservation, Short, next_day

if TYPE_CHECKING:
    from core.governance.approvals import Approval


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
    id: str
    wanted: Wanted
    reservation: Reservation
    approval: Approval | None = None

    @property
    def tokens(self) -> int:
        return self.reservation.amount.tokens


DEFINITION_CHANGED = "definition_changed"
DEFINITION_WAITS = "definition_waits"


def not_authorized(client: str) -> Refusal:
    return Refusal(
        "not_authorized",
        f"The name {client!r} belongs to a client with a token, and the request has none.",
        "Send the token as Authorization: Bearer, or use another name.",
    )


def token_needed() -> Refusal:
    """A request without a token, while clients are limited and the client "anonymous" has no scope."""
    return Refusal(
        "not_authorized",
        "The request has no token. A client here has a limited scope, so nothing may be used without one.",
        "Send a token as Authorization: Bearer (`wayfare mcp` takes it from WAYFARE_TOKEN), or ask the operator for a token or to give "
        "the client 'anonymous' a scope.",
    )


def not_in_force(client: str) -> Refusal:
    return Refusal(
        "not_authorized", f"The token of {client!r} was revoked or has expired.", "Ask the operator for a new token."
    )


def name_taken(client: str) -> Refusal:
    return Refusal("not_authorized", f"The name {client!r} is Wayfare's own.", "Use another name.")


def catalog_not_allowed(client: str, reason: str) -> Refusal:
    return Refusal("not_allowed", f"The client {client!r} may not: {reason}.", "Use a catalog inside its scope.")


def tool_not_allowed(tool: str, reason: str) -> Refusal:
    return Refusal(
        "not_allowed", f"{tool} may not be used: {reason}.", "Search again for another tool, or ask the operator."
    )


def may_not_improve(client: str) -> Refusal:
    return Refusal(
        "not_allowed",
        f"The client {client!r} may not write example requests.",
        "Ask the operator: `wayfare clients change NAME --improve`, or `wayfare clients add anonymous --improve` for requests without "
        "a token.",
    )


def rate_limited(client: str, per_minute: float, wait_s: float, now: datetime) -> Refusal:
    return Refusal(
        "rate_limited",
        f"The client {client!r} may make {per_minute:g} requests a minute.",
        f"Go on in {units.seconds(wait_s)}, at {_time(now, wait_s)}.",
    )


def flooding(client: str, per_minute: float, wait_s: float, now: datetime) -> Refusal:
    return Refusal(
        "rate_limited",
        f"The client {client!r} may make {per_minute:g} HTTP requests a minute; it was answered with status 429.",
        f"Go on in {units.seconds(wait_s)}, at {_time(now, wait_s)}.",
    )


def busy(wait_s: float) -> Refusal:
    return Refusal("busy", "More requests waited than can be answered soon.", f"Try again in {units.seconds(wait_s)}.")


def definition_changed(tool: str, *, denied: bool) -> Refusal:
    status = "was denied by a person" if denied else "differs from the approved one, and the new one waits for approval"
    return Refusal(
        DEFINITION_CHANGED,
        f"The definition of {tool} {status}: it is held back.",
        "The operator sees the changes on the page Govern. Use another tool, or call again after the approval.",
    )


def definition_waits(tool: str, error: str) -> Refusal:
    return Refusal(
        DEFINITION_WAITS,
        f"{tool} is new, and Lint finds an error in its definition ({error}): it waits for a person.",
        "The operator sees it on the page Govern. Use another tool, or call again after the approval.",
    )


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


def too_many_waiting(waiting: int) -> Refusal:
    return Refusal(
        "too_many_waiting",
        f"{waiting} calls of this client wait for a person already.",
        "Wait until some of them are decided; each says when it expires.",
    )


def budget_spent(tool: str, short: Short, cheaper: Sequence[str], now: datetime) -> Refusal:
    """A daily budget is exhausted; `cheaper` are tools of the same search that still fit."""
    advice = f"The budget is reset at {next_day(now):%Y-%m-%d %H:%M} UTC."
    if short.budget.at_limit == "cheaper" and short.unit == "usd":
        names = f": {', '.join(cheaper)}" if cheaper else ""
        advice = f"Tools of at most ${short.left:.6g} a call still fit{names}. {advice}"
    return Refusal("budget_spent", f"The daily budget is too small for {tool}: {left_words(short)}.", advice)


def server_paused(server: ServerId, failures: int, wait_s: float, now: datetime) -> Refusal:
    retry = f"in {units.seconds(wait_s)}, at {_time(now, wait_s)}" if wait_s else "when the current try has ended"
    return Refusal(
        "server_paused",
        f"The last {failures} calls to {server.server} of catalog {server.catalog} were lost, so it is paused for a while.",
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


def _time(now: datetime, wait_s: float) -> str:
    return f"{now + timedelta(seconds=wait_s):%H:%M:%S} UTC"
