"""What each stage that drops a tool is called."""

from __future__ import annotations

from core.domain.trace import Drop

DROPPED = {
    Drop.NOT_SHORTLISTED: "server not short-listed",
    Drop.REJECTED: "server rejected the price",
    Drop.NOT_AFFORDABLE: "not affordable",
    Drop.OUTRANKED: "outranked",
    Drop.PRUNED: "not curated",
    Drop.BELOW_THRESHOLD: "below the threshold",
    Drop.GATED: "left out by the state",
    Drop.NOT_RETRIEVED: "not retrieved",
    Drop.REFUSED: "refused",
    Drop.NOT_WORTH: "not worth a call",
}
