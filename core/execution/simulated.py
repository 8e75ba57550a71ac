"""Simulated calls: outcomes drawn from known success rates and times, marked as simulated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from core.domain.outcome import CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall


def simulated_outcome(
    call: ToolCall,
    *,
    success: float,
    post_accept_failure: float,
    latency_s: float,
    rng: np.random.Generator,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """Draw one outcome: a post-accept failure with its probability, else success with probability `success`.

    Latency is the expected one, in s; nothing waits. The result says that no tool was called.

    >>> call = ToolCall("files", "read")
    >>> drawn = simulated_outcome(call, success=1, post_accept_failure=0, latency_s=0.5, rng=np.random.default_rng(1))
    >>> drawn.kind.value, drawn.latency_s, drawn.simulated
    ('ok', 0.5, True)
    """
    if rng.random() < post_accept_failure:
        kind, text = OutcomeKind.CRASH, "Simulated: the server failed after accepting the call."
    elif rng.random() < success:
        kind, text = OutcomeKind.OK, "Simulated: no tool was called. A real call would return the tool's result here."
    else:
        kind, text = OutcomeKind.TOOL_ERROR, "Simulated: the tool answered with an error."
    return Outcome(
        call=call,
        kind=kind,
        started_at=now(),
        latency_s=latency_s,
        content=(ContentBlock("text", text=text),) if kind is OutcomeKind.OK else (),
        error="" if kind is OutcomeKind.OK else text,
        mode=CallMode.DRAWN,
    )
