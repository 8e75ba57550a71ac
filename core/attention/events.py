"""What Tool Attention emits of every turn (its section 5.7): enough to audit the gate and to add up tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.domain.decision import Decision
from core.domain.trace import DROPS, Drop
from core.embedding.base import text_hash


def turn_event(decision: Decision) -> dict[str, Any]:
    """One turn as JSON: what passed the threshold with its ISO, what the state held back and why, what is active.

    The query is named by its hash, as the paper has it: an event can be kept where the question must not be.
    """
    tools = decision.tools
    above = np.flatnonzero(tools.dropped != DROPS.index(Drop.BELOW_THRESHOLD))
    ranked = above[np.argsort(-tools.utility[above], kind="stable")]
    return {
        "turn_id": decision.id,
        "query_hash": text_hash(decision.subtask),
        "candidates": [tools.ids[row] for row in ranked],
        "scores": {tools.ids[row]: round(float(tools.utility[row]), 6) for row in ranked},
        "gated_out_by_state": {tools.ids[row]: remark for row, remark in decision.remarks.items()},
        "active_set": [tools.ids[row] for row in decision.candidates],
        "phase1_tokens": decision.exposure.cached,
        "phase2_tokens": decision.exposure.exposed,
        "latency_ms": decision.timings_ms["total"],
    }
