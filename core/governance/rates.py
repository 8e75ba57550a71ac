"""A rate limit: requests in a minute, with as many at once as the bucket has room for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """A token bucket that fills evenly with `per_minute`, up to a tenth of a minute's worth, and at least to `least`.

    >>> bucket = Bucket()
    >>> [bucket.wait_s(60.0, now_s=0.0) for _ in range(7)]
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    >>> bucket.wait_s(60.0, now_s=1.0)
    0.0
    """

    least: float = 1.0
    level: float | None = None
    at_s: float = 0.0

    def wait_s(self, per_minute: float, now_s: float) -> float:
        """0 where a request may go on, which it then does; else how long until it may, s."""
        room = max(self.least, per_minute / 10.0)
        filled = room if self.level is None else self.level + (now_s - self.at_s) * per_minute / 60.0
        self.level, self.at_s = min(room, filled), now_s
        if self.level >= 1.0 - 1e-9:
            self.level -= 1.0
            return 0.0
        return (1.0 - self.level) * 60.0 / per_minute
