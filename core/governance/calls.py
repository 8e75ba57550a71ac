"""A call on its way through governance: the request, its obstacles, and the permit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.catalog import Tool
from core.domain.errors import Refusal
from core.domain.outcome import ToolCall
from core.governance.budgets import Reservation


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
        """Returns what stops the call, in sentences."""
        waits = (f"A person has to approve it: {'; '.join(self.reasons)}.",) if self.reasons else ()
        return waits if self.refusal is None else (str(self.refusal),)


@dataclass(frozen=True, slots=True)
class Permit:
    """A call that may be made now, with its reservation."""

    id: str
    wanted: Wanted
    reservation: Reservation

    @property
    def tokens(self) -> int:
        """The largest number of tokens of the result."""
        return self.reservation.amount.tokens
