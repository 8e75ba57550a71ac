"""What happened in a catalog, in the order in which it was committed: what a replay goes through."""

from __future__ import annotations

from core.domain.events import DecisionEvent, OutcomeEvent, Override
from core.store.log import Log

Happened = DecisionEvent | OutcomeEvent | Override


class History:
    """Reads only."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def of_catalog(self, catalog: str, *, decisions: int) -> tuple[Happened, ...]:
        """Every outcome and every price set by hand, and the newest decisions, so many."""
        newest = "catalog = ? AND sequence IN (SELECT sequence FROM decisions WHERE catalog = ? ORDER BY sequence DESC LIMIT ?)"
        happened: list[tuple[int, Happened]] = [
            *self._log.numbered(DecisionEvent, newest, [catalog, catalog, decisions]),
            *self._log.numbered(OutcomeEvent, "catalog = ?", [catalog]),
            *self._log.numbered(Override, "catalog = ?", [catalog]),
        ]
        return tuple(record for _, record in sorted(happened, key=lambda numbered: numbered[0]))
