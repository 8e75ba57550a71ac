"""When a server that could not be reached may be tried again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Backoff:
    """No wait after the first failure, then base, twice base, ... up to the cap, all in s. A success resets it.

    >>> backoff = Backoff(base_s=0.5, cap_s=2.0)
    >>> waits = []
    >>> for _ in range(5):
    ...     backoff.failed(now_s=10.0)
    ...     waits.append(backoff.wait_s(now_s=10.0))
    >>> waits
    [0.0, 0.5, 1.0, 2.0, 2.0]
    >>> backoff.succeeded()
    >>> backoff.failures, backoff.wait_s(now_s=10.0)
    (0, 0.0)
    """

    base_s: float = 0.5
    cap_s: float = 30.0
    failures: int = 0
    _not_before_s: float = float("-inf")

    def failed(self, now_s: float) -> None:
        """One more attempt failed."""
        self.failures += 1
        exponent = min(self.failures - 2, 30)
        delay_s = 0.0 if exponent < 0 else min(self.cap_s, self.base_s * 2**exponent)
        self._not_before_s = now_s + delay_s

    def succeeded(self) -> None:
        """An attempt succeeded: the next failure starts from the beginning."""
        self.failures = 0
        self._not_before_s = float("-inf")

    def wait_s(self, now_s: float) -> float:
        """How long until the next attempt is allowed, s."""
        return max(0.0, self._not_before_s - now_s)
