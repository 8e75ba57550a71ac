"""A plan of tries: which tools to call one after the other until one solves the sub-task, and what that is expected to take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlannedTry:
    """One try. `chance` that it solves the sub-task once it comes to it, `reached` the chance that it does come to it;
    `cost_usd` is price, time and the risk of a wrong call in USD."""

    tool: str
    p_fit: float
    delivery: float
    chance: float
    reached: float
    cost_usd: float
    price_usd: float | None
    time_s: float

    def to_json(self) -> dict[str, Any]:
        """One entry of `order` in `wayfare route --json`."""
        return {"tool": self.tool, "p": self.chance, "cost_usd": self.cost_usd, "reached": self.reached}


@dataclass(frozen=True, slots=True)
class TryPlan:
    """The tries in order, their expected value in USD, and what the next tool would need to be worth a try."""

    tries: tuple[PlannedTry, ...]
    worth_usd: float
    value_usd: float
    next_tool: str | None = None
    next_worth_usd: float | None = None

    @property
    def success(self) -> float:
        """The chance that one of the tries solves the sub-task."""
        return math.fsum(one.reached * one.chance for one in self.tries)

    @property
    def usd(self) -> float:
        """The price that is expected to be paid; an unpriced tool counts nothing."""
        return math.fsum(one.reached * (one.price_usd or 0.0) for one in self.tries)

    @property
    def time_s(self) -> float:
        """The seconds that are expected to pass."""
        return math.fsum(one.reached * one.time_s for one in self.tries)

    def to_json(self) -> dict[str, Any]:
        """`order` and `expected` of `wayfare route --json`."""
        return {"order": [one.to_json() for one in self.tries], "expected": self.expected()}

    def expected(self) -> dict[str, float]:
        """`expected` in `wayfare route --json`."""
        return {"success": self.success, "usd": self.usd, "s": self.time_s, "value_usd": self.value_usd}
