"""Translation of the protocol's tools and content blocks into our types."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

import mcp_types
from pydantic import BaseModel

from core.domain.catalog import Tool, ToolHints
from core.domain.leaks import MASK
from core.domain.outcome import ContentBlock

# Protocol messages without secrets: free texts are masked, the protocol's own words stay.

UNREAD: dict[type[BaseModel], frozenset[str]] = {
    mcp_types.ImageContent: frozenset({"data"}),
    mcp_types.AudioContent: frozenset({"data"}),
    mcp_types.BlobResourceContents: frozenset({"blob"}),
    mcp_types.InputRequiredResult: frozenset({"request_state"}),
}
"""Fields that stay as they are: binary content, and values that return to the server."""
MOST_EXTRA_CHARS = 50_000
Redact = Callable[[str], str]
Message = TypeVar("Message", bound=BaseModel)


def without_secrets(message: Message, redact: Redact, *, numbers: bool = True) -> Message:
    """Returns the message with every text in it masked, at any depth, and with masked numbers if `numbers` is set.
    Enumerated fields, binary content and values that return to the server stay as they are.

    >>> from mcp_types import TextContent
    >>> without_secrets(TextContent(type="text", text="a text: hunter2"), lambda text: text.replace("hunter2", "•••").replace("text", "•••"))
    TextContent(type='text', text='a •••: •••', annotations=None, meta=None)
    """
    words = _fields_of_words(type(message))
    fields = {name: value for name, value in message if name not in words}
    return message.model_copy(update={name: _masked(value, redact, numbers) for name, value in fields.items()})


def result_without_secrets(result: Message, values: Sequence[str]) -> Message:
    """Returns a successful result with these values masked in its texts, longest first. Numbers stay, so that it still
    fits its schema.

    >>> from mcp_types import CallToolResult, TextContent
    >>> result_without_secrets(CallToolResult(content=[TextContent(text="key=hunter22")], structured_content={"n": 7}), ["hunter22"])
    CallToolResult(meta=None, content=[TextContent(type='text', text='key=•••', annotations=None, meta=None)], structured_content={'n': 7}, is_error=False, result_type='complete')
    """
    if not values:
        return result
    with suppress(ValueError):  # a text that cannot be written as JSON is searched below
        written = result.model_dump_json()
        if not any(json.dumps(value, ensure_ascii=False)[1:-1] in written for value in values):
            return result  # the usual case, 13 times as fast

    return without_secrets(result, lambda text: text_without_secrets(text, values), numbers=False)


def text_without_secrets(text: str, values: Sequence[str]) -> str:
    """Returns a text with these values masked, longest first."""
    for value in values:
        text = text.replace(value, MASK)
    return text


def _masked(value: Any, redact: Redact, numbers: bool) -> Any:
    match value:
        case BaseModel():
            return without_secrets(value, redact, numbers=numbers)
        case str():
            return redact(value)
        case int() | float() if numbers and not isinstance(value, bool):  # a number can be a secret as well
            return MASK if redact(str(value)) != str(value) else value
        case Mapping():
            named = cast("Mapping[Any, Any]", value)
            return {_masked(name, redact, numbers): _masked(one, redact, numbers) for name, one in named.items()}
        case Sequence():
            return [_masked(one, redact, numbers) for one in cast("Sequence[Any]", value)]
        case _:
            return value


@cache
def _fields_of_words(message: type[BaseModel]) -> frozenset[str]:
    """Returns the fields whose values the protocol fixes (a role, a type, a level), number fields, and `UNREAD`."""
    free = (name for name, field in message.model_fields.items() if _free(field.annotation))
    return frozenset(message.model_fields) - frozenset(free) | UNREAD.get(message, frozenset())


def _free(annotation: Any) -> bool:
    kinds = _kinds(annotation)
    return Literal not in kinds and not kinds <= {int, float, bool, type(None)}


def _kinds(annotation: Any) -> set[Any]:
    """Returns the types that a field accepts; `Literal` for an enumeration."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {Literal}
    if origin is Annotated:
        return _kinds(parts[0])
    return {kind for part in parts for kind in _kinds(part)} if parts else {annotation}


def decode_tool(server_name: str, tool: mcp_types.Tool) -> Tool:
    """Returns a listed tool as a domain tool. MCP has no fields for prices, times and success."""
    notes = tool.annotations
    return Tool(
        server=server_name,
        name=tool.name,
        description=tool.description or "",
        title=tool.title or (notes.title if notes is not None else None) or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        hints=ToolHints() if notes is None else _hints(notes),
        extras=_extras(tool),
    )


def _extras(tool: mcp_types.Tool) -> str:
    """Returns icons and metadata as JSON, or "" without them or if they are too long for a list."""
    said = tool.model_dump(mode="json", by_alias=True, include={"icons", "meta"}, exclude_none=True)
    text = json.dumps(said, sort_keys=True) if any(said.values()) else ""
    return text if len(text) <= MOST_EXTRA_CHARS else ""


def _hints(notes: mcp_types.ToolAnnotations) -> ToolHints:
    return ToolHints(
        read_only=notes.read_only_hint,
        destructive=notes.destructive_hint,
        idempotent=notes.idempotent_hint,
        open_world=notes.open_world_hint,
    )


def decode_block(block: mcp_types.ContentBlock) -> ContentBlock:
    """Returns one content block of any type. A note replaces data that is not valid base64."""
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
