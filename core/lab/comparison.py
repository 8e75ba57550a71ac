"""Several decisions on one sub-task beside each other: where each would have gone, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision
from core.domain.trace import Drop


@dataclass(frozen=True, slots=True)
class Placing:
    """One tool in one decision: its rank among the candidates from 1, or None and the stage that dropped it."""

    rank: int | None
    dropped_by: Drop | None
    score: float


@dataclass(frozen=True, slots=True)
class ComparedTool:
    """A tool that is a candidate somewhere, with its placing in each decision."""

    tool: str
    placings: tuple[Placing, ...]


def agreement(decisions: Sequence[Decision]) -> NDArray[np.float64]:
    """(R, R) overlap of candidates, Jaccard |A and B| / |A or B|; two decisions without any agree wholly."""
    found = [_candidates(decision) for decision in decisions]
    return np.array(
        [[len(a & b) / len(a | b) if a | b else 1.0 for b in found] for a in found], dtype=np.float64
    ).reshape(len(found), len(found))


def compared_tools(decisions: Sequence[Decision]) -> tuple[ComparedTool, ...]:
    """Every tool that is a candidate of some decision: those that most decisions keep first, then by best rank."""
    names = dict.fromkeys(d.tools.ids[row] for d in decisions for row in d.candidates)
    found = [ComparedTool(name, tuple(_placing(decision, name) for decision in decisions)) for name in names]
    return tuple(sorted(found, key=_place))


def winners(decisions: Sequence[Decision]) -> dict[str, int]:
    """How many decisions each winner has, most first; "" stands for no candidate."""
    counts: dict[str, int] = {}
    for decision in decisions:
        name = decision.winner.tool if decision.winner else ""
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _candidates(decision: Decision) -> set[str]:
    return {decision.tools.ids[row] for row in decision.candidates}


def _placing(decision: Decision, tool: str) -> Placing:
    if tool not in decision.tools.ids:
        return Placing(None, None, float("nan"))
    row = decision.tools.ids.index(tool)
    found = decision.tool_at(row)
    rank = decision.candidates.index(row) + 1 if row in decision.candidates else None
    return Placing(rank, found.dropped_by, found.utility)


def _place(compared: ComparedTool) -> tuple[int, int, str]:
    ranks = [placing.rank for placing in compared.placings if placing.rank is not None]
    return -len(ranks), min(ranks), compared.tool
