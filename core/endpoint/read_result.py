"""`read_result`: the rest of a result that was cut."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import mcp_types

from core.endpoint.base import AgentTool, Answer, Refusal, Request, Services, answer, definition, or_null
from core.shared.tokens import count_tokens, piece


async def read_result(services: Services, request: Request) -> Answer:
    """The next part of a text. Raises Refusal for a handle that is not kept."""
    return answer(await anyio.to_thread.run_sync(_part, services, request))


def _part(services: Services, request: Request) -> dict[str, Any]:
    handle, offset = request.arguments["handle"], request.arguments.get("offset", 0)
    text = services.results.text(handle)
    if text is None:
        raise Refusal(
            "unknown_handle",
            f"There is no result with the handle {handle!r}; only the latest are kept.",
            "Call the tool again if it just reads, and ask it for less at once.",
        )
    part = piece(text, offset, services.result_tokens)
    if part:
        part = piece(text, offset, services.app.governance.read_on(request.client, count_tokens(part)))
    end = min(offset, len(text)) + len(part)
    return {"text": part, "next_offset": end if end < len(text) else None, "total_chars": len(text)}


READ_RESULT = AgentTool(
    definition(
        "read_result",
        "Read on in a long result",
        "Read the next part of a result that execute_tool has cut, by its handle and next_offset.",
        {
            "handle": {"type": "string", "maxLength": 100},
            "offset": {"type": "integer", "minimum": 0, "description": "Where to read on, in characters."},
        },
        ["handle"],
        {
            "text": {"type": "string"},
            "next_offset": {**or_null("integer"), "description": "null: that was the end."},
            "total_chars": {"type": "integer"},
        },
        mcp_types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    ),
    read_result,
)  # fmt: skip
