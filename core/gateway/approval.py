"""A call that waits for a person: its request stays open for a bounded time, and the client's own person may be asked."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import anyio.to_thread
import mcp_types
from mcp import MCPError

from core.domain.errors import WayfareError
from core.domain.execution import ClientSide
from core.domain.governance_events import origin_of
from core.domain.untrusted_text import one_line, visible
from core.gateway.base import Request, Services, no_progress
from core.governance import refusals
from core.governance.calls import ApprovalNeededError

TOLD_EVERY_S = 2.0
SHORT_HOLD_S = 3.0
"""A client that wants no progress may give up after 5 s: it learns before how to ask again."""
PROGRESS_S = 1e6
"""Progress has to grow over one request. The wait takes less than the first of any progress of the tool."""
QUESTION_CHARS = 1_000
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
"""The form of the question: accept or decline says all."""


async def decided(services: Services, request: Request, needed: ApprovalNeededError) -> None:
    """Waits until a person has decided, for `hold_s` at most, and shortly for a client that hears no progress. Raises ApprovalNeededError if the time is over, or if the
    client asks its person between two requests."""
    governance = services.app.governance
    rules, side = governance.policy.approvals, request.side
    asking: asyncio.Task[None] | None = None
    by_client = rules.client_may_approve and not needed.over_budget
    if by_client and side is not None and "elicitation" in side.abilities:
        if side.asked_between and _key(needed) not in (side.answers.get("input_responses") or {}):
            side.questions.append(mcp_types.InputRequiredResult(input_requests={_key(needed): _question(needed)}))
            raise needed
        asking = asyncio.create_task(_ask(services, request, side, needed))
    unheard = request.progress is no_progress and asking is None
    hold_s = min(rules.hold_s, SHORT_HOLD_S) if unheard else rules.hold_s
    try:
        with governance.approvals.watched(needed.number) as future:
            if not await _waited(request, needed, future, hold_s):
                raise refusals.not_decided(needed, hold_s)
    finally:
        if asking is not None:
            asking.cancel()


async def _waited(request: Request, needed: ApprovalNeededError, future: Future[None], hold_s: float) -> bool:
    """Tells whether the future was done in time. The client is told of the wait."""
    began, waiting = time.monotonic(), asyncio.wrap_future(future)
    while not waiting.done() and (left_s := hold_s - (time.monotonic() - began)) > 0:
        with suppress(MCPError):
            said = f"Call {needed.number} waits for a person, for {left_s:.0f} s more"
            await request.progress((time.monotonic() - began) / PROGRESS_S, None, said)
        await asyncio.wait({waiting}, timeout=min(TOLD_EVERY_S, left_s))
    return waiting.done()


async def _ask(services: Services, request: Request, side: ClientSide, needed: ApprovalNeededError) -> None:
    """Asks the person at the client and takes an answer. Without one the operator decides."""
    if side.asked_between:
        given: Any = side.answers["input_responses"][_key(needed)]
    else:
        try:
            given = await asyncio.wrap_future(side.ask(_question(needed)))
        except MCPError:  # the client cannot ask after all
            return
    action = getattr(given, "action", None)
    if action not in {"accept", "decline"}:
        return
    origin = origin_of("client", one_line(request.client, 80))
    with suppress(WayfareError):  # the operator was quicker
        await anyio.to_thread.run_sync(
            lambda: services.app.governance.decide(needed.number, approve=action == "accept", origin=origin)
        )


def _key(needed: ApprovalNeededError) -> str:
    return f"approval-{needed.number}"


def _question(needed: ApprovalNeededError) -> mcp_types.ElicitRequest:
    message = f"{visible(needed.why)[:QUESTION_CHARS]} Accept to let it through once, decline to refuse it."
    return mcp_types.ElicitRequest(params=mcp_types.ElicitRequestFormParams(message=message, requested_schema=NOTHING))
