"""`read_result`: the rest of a result that was cut, and resources that a result links to."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import mcp_types

from core.endpoint.base import AgentTool, Answer, Refusal, Request, Services, answer, definition, or_null, text_block
from core.endpoint.passing_on import bounded
from core.endpoint.results import KeptText
from core.shared.tokens import count_tokens, piece


async def read_result(services: Services, request: Request) -> Answer:
    """The next part of a text, or a linked resource. Raises Refusal for a handle that is not kept, NotAllowedError."""
    return await anyio.to_thread.run_sync(_read, services, request)


def _read(services: Services, request: Request) -> Answer:
    handle = request.arguments["handle"]
    link = services.results.link(handle)
    if link is not None:  # while the client may use the tool that gave it
        services.app.governance.admission.describe(request.client, link.catalog, services.app.linked.tool(link))
    kept = services.results.text(handle)
    if kept is None and link is not None:
        contents = services.app.linked.read(link, request.client, limit_s=request.options.timeout_s)
        texts = [part.text for part in contents if isinstance(part, mcp_types.TextResourceContents)]
        blobs = [part for part in contents if isinstance(part, mcp_types.BlobResourceContents)]
        if not texts:
            blocks = [bounded(mcp_types.EmbeddedResource(type="resource", resource=blob)) for blob in blobs]
            return answer({"text": "", "next_offset": None, "total_chars": 0}, blocks or [text_block("It is empty.")])
        kept = KeptText("\n".join(texts), link.server_id)
        services.results.keep(kept, handle)
    if kept is None:
        raise Refusal(
            "unknown_handle",
            f"There is no result with the handle {handle!r}; only the latest are kept.",
            "Call the tool again if it just reads, and ask it for less at once.",
        )
    return answer(_part(services, request, kept))


def _part(services: Services, request: Request, kept: KeptText) -> dict[str, Any]:
    text, offset = kept.text, request.arguments.get("offset", 0)
    part = piece(text, offset, services.result_tokens)
    if part:
        given = services.app.governance.read_on(request.client, kept.source, count_tokens(part))
        part = piece(text, offset, given)
    end = min(offset, len(text)) + len(part)
    return {"text": part, "next_offset": end if end < len(text) else None, "total_chars": len(text)}


READ_RESULT = AgentTool(
    definition(
        "read_result",
        "Read on in a long result",
        "Read the next part of a result that execute_tool has cut, by its handle and next_offset; or a resource that a result "
        "links to, by the handle beside it.",
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
