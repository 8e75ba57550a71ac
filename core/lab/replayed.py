"""Recorded decisions beside the decisions of today: changed winners, their price, time and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """A winner (None without one) with its price (None if unknown), its expected seconds to success, and the tokens of the
    definitions of all candidates.
    """

    tool: str | None
    usd: float | None
    s: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """One recorded sub-task: the decision of then and that of now."""

    decision_id: str
    at: datetime
    subtask: str
    router: str
    then: Chosen
    now: Chosen

    @property
    def changed(self) -> bool:
        """Whether the winner differs, also where one side has none."""
        return self.then.tool != self.now.tool

    def to_json(self) -> dict[str, Any]:
        """One entry of `wayfare replay --json`."""
        return asdict(self) | {"at": self.at.isoformat(), "changed": self.changed}


@dataclass(frozen=True, slots=True)
class ReplayTotals:
    """Sums over the sub-tasks with a winner then and now (`both`), so that they compare. Unpriced winners add 0 USD and are counted.

    `refused` counts sub-tasks that lost their winner, `answered` those that gained one.
    """

    decisions: int
    changed: int
    refused: int
    answered: int
    both: int
    usd_then: float
    usd_now: float
    unpriced_then: int
    unpriced_now: int
    s_then: float
    s_now: float
    tokens_then: int
    tokens_now: int

    @classmethod
    def of(cls, rows: Sequence[Replayed]) -> ReplayTotals:
        """The sums."""
        both = [row for row in rows if row.then.tool is not None and row.now.tool is not None]
        then, now = [row.then for row in both], [row.now for row in both]
        return cls(
            decisions=len(rows),
            changed=sum(row.changed for row in rows),
            refused=sum(row.then.tool is not None and row.now.tool is None for row in rows),
            answered=sum(row.then.tool is None and row.now.tool is not None for row in rows),
            both=len(both),
            usd_then=_sum(one.usd for one in then),
            usd_now=_sum(one.usd for one in now),
            unpriced_then=sum(one.usd is None for one in then),
            unpriced_now=sum(one.usd is None for one in now),
            s_then=_sum(one.s for one in then),
            s_now=_sum(one.s for one in now),
            tokens_then=sum(one.tokens for one in then),
            tokens_now=sum(one.tokens for one in now),
        )


def _sum(values: Iterable[float | None]) -> float:
    return float(sum(value for value in values if value is not None))
