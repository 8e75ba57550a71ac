"""A rate limit: requests in a minute, of which a whole minute's worth may come at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """A token bucket that fills evenly with `per_minute`, up to a minute's worth, and at least to `least`: who begins may make that
    many requests at once, and from then on as many as it fills.

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
        """0 where a request may go on, which it then does; else how long until it may, s."""
        room = max(self.least, per_minute)
        filled = room if self.level is None else self.level + (now_s - self.at_s) * per_minute / 60.0
        self.level, self.at_s = min(room, filled), now_s
        if self.level >= 1.0 - 1e-9:
            self.level -= 1.0
            return 0.0
        return (1.0 - self.level) * 60.0 / per_minute
