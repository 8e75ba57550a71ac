"""From the protocol's types to ours: tools and content blocks."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

import mcp_types
from pydantic import BaseModel

from core.domain.catalog import Tool, ToolHints
from core.domain.outcome import ContentBlock
from core.shared.leaks import MASK

# ----------------------------------------------------------------------------------------------------------------------
# Messages of the protocol without secrets: what people and programs wrote is masked, the protocol's own words are not.

Redact = Callable[[str], str]
Message = TypeVar("Message", bound=BaseModel)


def without_secrets(message: Message, redact: Redact) -> Message:
    """The message with every text in it masked, at any depth; a field that takes certain words only is left as it is.

    >>> from mcp_types import TextContent
    >>> without_secrets(TextContent(type="text", text="a text: hunter2"), lambda text: text.replace("hunter2", "•••").replace("text", "•••"))
    TextContent(type='text', text='a •••: •••', annotations=None, meta=None)
    """
    words = _fields_of_words(type(message))
    fields = {name: value for name, value in message if name not in words}
    return message.model_copy(update={name: _masked(value, redact) for name, value in fields.items()})


def _masked(value: Any, redact: Redact) -> Any:
    match value:
        case BaseModel():
            return without_secrets(value, redact)
        case str():
            return redact(value)
        case int() | float() if not isinstance(value, bool):  # a number can be a secret as well
            return MASK if redact(str(value)) != str(value) else value
        case Mapping():
            named = cast("Mapping[Any, Any]", value)
            return {_masked(name, redact): _masked(one, redact) for name, one in named.items()}
        case Sequence():
            return [_masked(one, redact) for one in cast("Sequence[Any]", value)]
        case _:
            return value


@cache
def _fields_of_words(message: type[BaseModel]) -> frozenset[str]:
    """The fields whose values the protocol fixes: a role, a type, a level; and numbers, which must remain numbers."""
    return frozenset(name for name, field in message.model_fields.items() if not _free(field.annotation))


def _free(annotation: Any) -> bool:
    kinds = _kinds(annotation)
    return Literal not in kinds and not kinds <= {int, float, bool, type(None)}


def _kinds(annotation: Any) -> set[Any]:
    """The types that a field takes; `Literal` where it takes certain words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {Literal}
    if origin is Annotated:
        return _kinds(parts[0])
    return {kind for part in parts for kind in _kinds(part)} if parts else {annotation}


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
