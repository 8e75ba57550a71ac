"""A circuit breaker: a server whose calls die or run out of time is left alone for a while, then tried with one call.

Connecting has its own waits, which all callers share (`core/mcp_bridge/backoff.py`); this one counts what happens after it.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """After how many failures in a row it opens (0: never), and for how long at first; each failed try doubles it."""

    failures: int = 5
    open_s: float = 30.0


@dataclass(slots=True)
class Breaker:
    """One server's. Closed: calls go. Open: none goes until `until_s`. Then half-open: one call tries, others wait for it.

    >>> breaker, rules = Breaker(), BreakerRules(failures=2, open_s=10.0)
    >>> for _ in range(2):
    ...     breaker.ended(False, rules, now_s=0.0)
    >>> breaker.state(5.0), breaker.wait_s(5.0), breaker.enter(5.0), breaker.state(10.0)
    ('open', 5.0, False, 'half-open')
    >>> breaker.enter(10.0), breaker.enter(10.0)
    (True, False)
    >>> breaker.ended(True, rules, now_s=11.0)
    >>> breaker.state(11.0)
    'closed'
    """

    failures: int = 0
    until_s: float | None = None
    opened: int = 0
    trying: bool = False

    def state(self, now_s: float) -> str:
        """closed, open or half-open."""
        if self.until_s is None:
            return "closed"
        return "open" if now_s < self.until_s else "half-open"

    def wait_s(self, now_s: float) -> float:
        """How long until a call may try, s."""
        return 0.0 if self.until_s is None else max(0.0, self.until_s - now_s)

    def may_enter(self, now_s: float) -> bool:
        """Whether a call may go now."""
        return self.until_s is None or not (self.trying or now_s < self.until_s)

    def enter(self, now_s: float) -> bool:
        """The same, and it goes; where it is the one that tries, nobody else may until it has ended."""
        if not self.may_enter(now_s):
            return False
        self.trying = self.until_s is not None
        return True

    def ended(self, good: bool | None, rules: BreakerRules, now_s: float) -> None:
        """A call that went has ended: well, badly, or in a way that says nothing of the server (None)."""
        was_trying, self.trying = self.trying, False
        if good is None:
            return
        if good:
            self.failures, self.opened, self.until_s = 0, 0, None
            return
        self.failures += 1
        if rules.failures and (was_trying or self.failures >= rules.failures) and self.wait_s(now_s) == 0.0:
            self.until_s = now_s + min(LONGEST_S, rules.open_s * 2**self.opened)
            self.opened += 1
