"""What became of a tool, as the charts of tools write it: a sign before its name, words in its hover."""

from __future__ import annotations

from core.domain.trace import Drop, ToolRow
from dashboard.theme import ACCEPTED_SIGN, CHOSEN_SIGN, DROPPED_SIGN, REJECTED_SIGN


def sign(row: ToolRow) -> str:
    """Chosen, candidate, outranked, or dropped at a stage."""
    if row.dropped_by is None:
        return CHOSEN_SIGN if row.rank == 1 else ACCEPTED_SIGN
    return DROPPED_SIGN if row.dropped_by is Drop.OUTRANKED else REJECTED_SIGN


def state(row: ToolRow) -> str:
    """`candidate`, or the stage that dropped it."""
    return "candidate" if row.dropped_by is None else row.dropped_by.replace("_", " ")
