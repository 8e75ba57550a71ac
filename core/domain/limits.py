"""A circuit breaker: a server whose calls crash or time out is paused for a while, then tried with one call.

Connecting has its own waits, which all callers share (`core/servers/pooled_connection.py`). The breaker counts
failures after a connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from core.domain.documents import AMOUNT, CLOSED, COUNT

LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """The number of failures in a row that opens the breaker (0: never), and its first pause. Each failed try doubles
    the pause."""

    __pydantic_config__ = CLOSED

    failures: Annotated[int, COUNT] = 5
    open_s: Annotated[int | float, AMOUNT] = 30.0


@dataclass(slots=True)
class Breaker:
    """The breaker of a server. Closed: calls pass. Open: no call passes until `until_s`. Then half-open: one call
    tries, others wait for it.

    Each call has an id. A call that began before the breaker opened may end during another call's try; it does not end
    that try.

    >>> breaker, rules = Breaker(), BreakerRules(failures=2, open_s=10.0)
    >>> for call in ("a", "b"):
    ...     breaker.ended(call, False, rules, now_s=0.0)
    >>> breaker.state(5.0), breaker.wait_s(5.0), breaker.enter("c", 5.0), breaker.state(10.0)
    ('open', 5.0, False, 'half-open')
    >>> breaker.enter("c", 10.0), breaker.enter("d", 10.0)
    (True, False)
    >>> breaker.ended("c", True, rules, now_s=11.0)
    >>> breaker.state(11.0)
    'closed'
    """

    failures: int = 0
    until_s: float | None = None
    opened: int = 0
    trying: str = ""
    """The id of the trying call, or ""."""

    def state(self, now_s: float) -> str:
        if self.until_s is None:
            return "closed"
        return "open" if now_s < self.until_s else "half-open"

    def wait_s(self, now_s: float) -> float:
        """Returns the time until a call may try, s."""
        return 0.0 if self.until_s is None else max(0.0, self.until_s - now_s)

    def may_enter(self, now_s: float) -> bool:
        return self.until_s is None or not (self.trying or now_s < self.until_s)

    def enter(self, call: str, now_s: float) -> bool:
        """Lets a call pass if it may. A trying call blocks all others until it has ended."""
        if not self.may_enter(now_s):
            return False
        if self.until_s is not None:
            self.trying = call
        return True

    def ended(self, call: str, good: bool | None, rules: BreakerRules, now_s: float) -> None:
        """Records the end of a call: success, failure, or None if the server is not to blame."""
        is_try = call == self.trying
        if is_try:
            self.trying = ""
        if good is None:
            return
        if good:
            self.failures, self.opened, self.until_s = 0, 0, None
            return
        self.failures += 1
        if rules.failures and (is_try or self.failures >= rules.failures) and self.wait_s(now_s) == 0.0:
            self.until_s = now_s + min(LONGEST_S, rules.open_s * 2 ** min(self.opened, 30))  # no overflow
            self.opened += 1


# A rate limit: requests per minute, with bursts of up to a minute's worth.


@dataclass(slots=True)
class Bucket:
    """A token bucket that fills evenly with `per_minute`, up to a minute's worth or `least`, whichever is more. A new
    client may make that many requests at once.

    >>> bucket = Bucket()
    >>> [bucket.wait_s(4.0, now_s=0.0) for _ in range(5)]
    [0.0, 0.0, 0.0, 0.0, 15.0]
    >>> bucket.wait_s(4.0, now_s=15.0)
    0.0
    """

    least: float = 1.0
    level: float | None = None
    at_s: float = 0.0

    def wait_s(self, per_minute: float, now_s: float) -> float:
        """Takes one request and returns 0, or returns the wait until a request is possible, s."""
        room = max(self.least, per_minute)
        level = room if self.level is None else self.level + (now_s - self.at_s) * per_minute / 60.0
        self.level, self.at_s = min(room, level), now_s
        if self.level >= 1.0 - 1e-9:
            self.level -= 1.0
            return 0.0
        return (1.0 - self.level) * 60.0 / per_minute
