"""Usage of a model so far: calls, tokens, money, cache hits, and names that it made up."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals of one model since the start. `calls` were answered; `failed` gave no reply that can be used. `cost_usd` is
    None as soon as one call has no known price: what is unpriced is not free. `invented` counts names that were not offered."""

    model: str = ""
    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cache_hits: int = 0
    invented: int = 0


class Meter:
    """Adds up. Safe for several threads.

    >>> meter = Meter("small")
    >>> meter.answered(100, 20, 0.5)
    >>> meter.answered(100, 20, None)
    >>> meter.usage.calls, meter.usage.cost_usd
    (2, None)
    """

    def __init__(self, model: str) -> None:
        self._usage = Usage(model)
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """The totals as they stand."""
        return self._usage

    def answered(self, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
        """One call that was answered; None: its price is not known."""
        with self._lock:
            u = self._usage
            self._usage = replace(
                u,
                calls=u.calls + 1,
                input_tokens=u.input_tokens + input_tokens,
                output_tokens=u.output_tokens + output_tokens,
                cost_usd=None if u.cost_usd is None or cost_usd is None else u.cost_usd + cost_usd,
            )

    def failed(self) -> None:
        """One question without a reply that can be used."""
        with self._lock:
            self._usage = replace(self._usage, failed=self._usage.failed + 1)

    def cache_hit(self) -> None:
        """One reply from the cache."""
        with self._lock:
            self._usage = replace(self._usage, cache_hits=self._usage.cache_hits + 1)

    def invented(self, count: int) -> None:
        """Names that were not offered."""
        with self._lock:
            self._usage = replace(self._usage, invented=self._usage.invented + count)
