"""From the protocol's types to ours: tools and content blocks."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import mcp_types

from core.domain.catalog import Tool, ToolHints
from core.domain.outcome import ContentBlock

MAX_RESULT_BYTES = 20 * 1024 * 1024


def decode_tool(server_name: str, tool: mcp_types.Tool) -> Tool:
    """A listed tool as a domain tool; MCP says nothing of prices, times and success."""
    notes = tool.annotations
    return Tool(
        server=server_name,
        name=tool.name,
        description=tool.description or "",
        title=tool.title or (notes.title if notes is not None else None) or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        hints=ToolHints() if notes is None else _hints(notes),
    )


def _hints(notes: mcp_types.ToolAnnotations) -> ToolHints:
    return ToolHints(
        read_only=notes.read_only_hint,
        destructive=notes.destructive_hint,
        idempotent=notes.idempotent_hint,
        open_world=notes.open_world_hint,
    )


def decode_block(block: mcp_types.ContentBlock) -> ContentBlock:
    """One content block of any type; data that is not valid base64 becomes a note in its place."""
    match block:
        case mcp_types.TextContent():
            return ContentBlock("text", text=block.text)
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return _binary(ContentBlock(block.type, mime_type=block.mime_type), block.data)
        case mcp_types.ResourceLink():
            mime_type = block.mime_type or ""
            name = block.title or block.name
            return ContentBlock("resource_link", block.description or "", mime_type=mime_type, uri=block.uri, name=name)
        case mcp_types.EmbeddedResource():
            resource = block.resource
            shell = ContentBlock("resource", mime_type=resource.mime_type or "", uri=str(resource.uri))
            if isinstance(resource, mcp_types.TextResourceContents):
                return replace(shell, text=resource.text)
            return _binary(shell, resource.blob)


def _binary(shell: ContentBlock, encoded: str) -> ContentBlock:
    try:
        return replace(shell, data=base64.b64decode("".join(encoded.split()), validate=True))
    except (binascii.Error, ValueError):
        return replace(shell, text="[the server's data is not valid base64]")


def decode_blocks(
    blocks: Iterable[mcp_types.ContentBlock], limit_bytes: int = MAX_RESULT_BYTES
) -> tuple[ContentBlock, ...]:
    """The content blocks in order, as far as they fit into the limit; a note says what was left out."""
    kept: list[ContentBlock] = []
    room, left_out = limit_bytes, 0
    for block in map(decode_block, blocks):
        text = block.text.encode()
        size = len(text) + len(block.data)
        fits = size if size <= room else room if block.kind == "text" else 0  # half a picture is of no use
        if fits == size:
            kept.append(block)
        elif fits > 0:
            kept.append(replace(block, text=text[:fits].decode(errors="ignore")))
        room -= fits
        left_out += size - fits
    if left_out:
        kept.append(_note(left_out, limit_bytes))
    return tuple(kept)


def decode_structured(value: Any, limit_bytes: int = MAX_RESULT_BYTES) -> tuple[Any, ContentBlock | None]:
    """The structured result, or None and a note where it is larger than the limit."""
    if value is None:
        return None, None
    size = len(json.dumps(value, ensure_ascii=False, default=str).encode())
    return (value, None) if size <= limit_bytes else (None, _note(size, limit_bytes))


def _note(left_out_bytes: int, limit_bytes: int) -> ContentBlock:
    mib = 1024 * 1024
    return ContentBlock(
        "text",
        text=f"[left out: {left_out_bytes / mib:.1f} MiB of the result, the limit is {limit_bytes / mib:.1f} MiB]",
    )
