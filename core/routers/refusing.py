"""Refusal (ours): a sub-task that nothing seems to fit gets no candidate. For every router whose parameters have the knob.

refused where P(nothing fits) >= limit(wrong refusals at most)                          `core.relevance.refusal`
"""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.params import Parameters, Range, knob
from core.relevance.refusal import limit_of
from core.routers.context import Query
from core.routers.parameters import SIMILARITY


@dataclass(frozen=True)
class RefusingParameters(Parameters):
    """Whether a sub-task that nothing seems to fit is turned down."""

    wrong_refusals: float = knob(0.0, Range(0.0, 50.0, 1.0, "%"), group=SIMILARITY, symbol="wrong refusals", label="Wrong refusals at most",
        help="Of sub-tasks that something can do, the share that may be turned down so that those that nothing fits are; 0: none is.")  # fmt: skip


def refusal(query: Query, parameters: Parameters) -> str:
    """Why the sub-task is turned down, in one sentence; empty where it is not."""
    if not isinstance(parameters, RefusingParameters) or parameters.wrong_refusals <= 0:
        return ""
    chance, limit = query.fit().nothing, limit_of(parameters.wrong_refusals)
    if chance < limit:
        return ""
    return (
        f"Refused: nothing seems to fit. P(nothing fits) is {chance:.2f}; from {limit:.2f} on, sub-tasks are turned down where "
        f"{parameters.wrong_refusals:g} % wrong refusals are admitted."
    )
