"""A call on its way through governance: what is wanted, what stands in its way, and the leave to make it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.catalog import Tool
from core.domain.outcome import ToolCall
from core.governance.budgets import Reservation
from core.shared.errors import WayfareError

# ----------------------------------------------------------------------------------------------------------------------
# Why a call is not made, in words that an agent can act on.


class NotAllowedError(WayfareError):
    """A short name of the error, what is wrong, and what to do about it."""

    def __init__(self, error: str, why: str, advice: str) -> None:
        super().__init__(f"{why} {advice}")
        self.error = error
        self.why = why
        self.advice = advice

    def as_json(self) -> str:
        """The same as an agent reads it."""
        return json.dumps({"error": self.error, "why": self.why, "try": self.advice}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a client wants to make. `result_tokens` is how much of its result it may be given, 0 for a person, who is no
    model; `others` are tools of the same search; `origin` is where it comes from: agent, console or cli. `approved_by` is the origin of
    a person who has seen the call as it is and approves it where the policy asks for that; "" where nobody has."""

    client: str
    call: ToolCall
    tool: Tool
    result_tokens: int
    others: Sequence[str] = ()
    origin: str = "agent"
    approved_by: str = ""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a call would meet if it were made now: why it would be refused, or why a person has to approve it; neither: it goes."""

    refusal: NotAllowedError | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Permit:
    """A call that may be made now: what was reserved for it."""

    id: str
    wanted: Wanted
    reservation: Reservation

    @property
    def tokens(self) -> int:
        """At most so many tokens of the result."""
        return self.reservation.amount.tokens
