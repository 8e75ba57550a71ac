"""Results of a server: repaired before the SDK reads them, without secrets, and translated into our types.

The SDK validates a result as a whole, so that one odd tool would take down all others. A part is repaired if its meaning is plain,
otherwise it is left out and named."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

import mcp_types
from mcp import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import CONNECTION_CLOSED
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from core.domain.catalog import Tool, ToolHints
from core.domain.execution import ITEMS, TEMPLATES, TOOLS
from core.domain.json_schema import object_schema, referenced
from core.domain.leaks import MASK
from core.domain.outcome import ContentBlock

MAX_PAGES = 100
SHOWN_CHARS = 100
ODD = "wayfare/odd"
"""The key in a page's `_meta` for its oddities: phrases that follow "Server ... lists"."""
KEYS = {**ITEMS, TEMPLATES: "resourceTemplates"}
NEEDED = {"name", "inputSchema", "uri", "uriTemplate"}
WHOLE, PART = "it was left out", "this part was left out"
Entry = dict[str, Any]
_BLOCK: TypeAdapter[mcp_types.ContentBlock] = TypeAdapter(mcp_types.ContentBlock)
_NOTES = frozenset({"annotations", "_meta"})
_FALSE = ("", "0", "false", "no")


async def all_pages(ask: Callable[[str | None], Awaitable[Any]], key: str) -> tuple[list[Any], list[str]]:
    """Returns the entries of every page, and phrases about odd entries. A repeated cursor ends the list. A page that is listed again is
    left out, because some servers take an empty cursor for the first page."""
    pages: list[list[Any]] = []
    odd: list[str] = []
    cursors: list[str | None] = [None]
    while len(cursors) <= MAX_PAGES:
        try:
            page = await ask(cursors[-1])
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or not pages:
                raise
            odd.append(f"a page (number {len(cursors)}) that it refuses ({error}): {WHOLE}")
            break
        if getattr(page, key) not in pages:
            pages.append(getattr(page, key))
            odd += cast("dict[str, Any]", page.meta or {}).get(ODD, ())
        if page.next_cursor is None or page.next_cursor in cursors:
            break
        cursors.append(page.next_cursor)
    else:
        odd.append(f"more than {MAX_PAGES} pages, and the rest was left out")
    return [entry for page in pages for entry in page], odd


def mended(method: str, result: Entry, *, modern: bool) -> Entry:
    """Returns a result that the SDK accepts, if it is of a tool or a page of a list. `modern`: from 2026-07-28 on. Phrases about odd
    entries are in its `_meta`.

    >>> page = mended(TOOLS, {"tools": [{"name": "a", "inputSchema": {}}, {"name": 7}]}, modern=True)
    >>> page["tools"][0]["inputSchema"], page["_meta"][ODD]
    ({'type': 'object'}, ['a tool (number 2) with an unusable name (7): it was left out'])
    """
    if method not in KEYS:
        return _OTHERS.get(method, dict)(result)
    kept_entries, odd = list[Entry](), list[str]()
    version = LATEST_MODERN_VERSION if modern else LATEST_HANDSHAKE_VERSION
    entries, cursor, meta = (result.get(name) for name in (KEYS[method], "nextCursor", "_meta"))
    if not isinstance(entries, list):
        odd.append(f"no array of {KEYS[method]} ({repr(entries)[:SHOWN_CHARS]}): {WHOLE}")
    for number, entry in enumerate(cast("list[object]", entries) if isinstance(entries, list) else (), 1):
        name = cast("Entry", entry).get("name") if isinstance(entry, dict) else None
        noun = KEYS[method].removesuffix("s")
        label = f"the {noun} {name[:SHOWN_CHARS]}" if name and isinstance(name, str) else f"a {noun} (number {number})"
        whole, faults = _entry(method, version, entry)
        kept_entries += [] if whole is None else [whole]
        odd += [f"{label} with an unusable {fault}" for fault in faults]
    return {
        **result,
        KEYS[method]: kept_entries,
        "nextCursor": str(cursor) if type(cursor) in {str, int} else None,
        "_meta": {**(cast("Entry", meta) if isinstance(meta, dict) else {}), ODD: odd},
        **_OF_PAGE,
    }


_OF_PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Fields of a page that protocols from 2026-07-28 on require. They have no effect, because pages are not cached."""


def _entry(method: str, version: str, entry: Any) -> tuple[Entry | None, list[str]]:
    """Returns an entry that the SDK accepts, or None, and the faults of the parts that were left out."""
    if not isinstance(entry, dict):
        return None, [f"form ({repr(entry)[:SHOWN_CHARS]}): {WHOLE}"]
    whole, faults = cast("Entry", entry), list[str]()
    if method == TOOLS:
        try:
            whole, faults = _tool(whole, modern=version == LATEST_MODERN_VERSION)
        except ValueError as error:
            return None, [f"inputSchema ({error}): {WHOLE}"]
    try:
        parse_server_result(method, version, {KEYS[method]: [whole], **_OF_PAGE})
    except ValidationError as error:
        bad = {str(detail["loc"][2]): _fault(detail) for detail in error.errors() if len(detail["loc"]) > 2}
        if bad.keys() & NEEDED:
            return None, [f"{fault}: {WHOLE}" for name, fault in bad.items() if name in NEEDED]
        whole = {name: value for name, value in whole.items() if name not in bad}
        faults += [f"{fault}: {PART}" for fault in bad.values()]
    return whole, faults


def _fault(error: ErrorDetails) -> str:
    value = "missing" if error["type"] == "missing" else repr(error["input"])[:SHOWN_CHARS]
    return f"{'.'.join(map(str, error['loc'][2:]))} ({value})"


def _tool(tool: Entry, *, modern: bool) -> tuple[Entry, list[str]]:
    """Returns a tool with schemas in the form of the protocol, without hints that are neither true nor false. Raises ValueError if its
    input schema cannot be mended."""
    values = (tool.get(name) for name in ("inputSchema", "input_schema", "parameters"))
    schema, faults = object_schema(next((value for value in values if value is not None), None)), list[str]()
    if modern and (fault := find_invalid_x_mcp_header(schema)):
        raise ValueError(fault)
    whole = {**tool, "inputSchema": schema}
    try:
        whole["outputSchema"] = _output_schema(tool.get("outputSchema"), modern=modern)
    except ValueError as error:
        del whole["outputSchema"]
        faults.append(f"outputSchema ({error}): {PART}")
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        values = cast("Entry", hints)
        bad = [name for name, hint in values.items() if name.endswith("Hint") and not isinstance(hint, bool | None)]
        whole["annotations"] = {name: hint for name, hint in values.items() if name not in bad}
        faults += [f"{name} ({values[name]!r:.{SHOWN_CHARS}}): {PART}" for name in bad]
    return whole, faults


def _output_schema(value: object, *, modern: bool) -> Any:
    if value is None or value is True or value in ([], {}):
        return None
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    schema = cast("Entry", value)
    if modern:
        return schema
    target = referenced(schema, schema.get("$ref"))
    kind = (cast("Entry", target) if isinstance(target, dict) and target else schema).get("type")
    if not kind:
        raise ValueError("it is not of type object")
    return object_schema({**schema, "type": kind})


def tool_result(result: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool's result in the protocol's form.

    >>> tool_result({"output": 7})["content"], tool_result({"content": ["done"], "isError": "no"})["isError"]
    ([{'type': 'text', 'text': '{"output": 7}'}], False)
    """
    if result.get("resultType") == "input_required":
        return result
    fixed = {name: value for name, value in result.items() if value is not None or name == "structuredContent"}
    if fixed.keys().isdisjoint({"content", "structuredContent"}):
        others = {name: value for name, value in fixed.items() if name not in {"isError", "_meta", "resultType"}}
        fixed["content"] = json.dumps(others, ensure_ascii=False) if others else []
    is_error = fixed.get("isError", False)
    if not isinstance(is_error, bool):
        fixed["isError"] = is_error.lower() not in _FALSE if isinstance(is_error, str) else bool(is_error)
    if not isinstance(fixed.get("_meta"), dict):
        fixed.pop("_meta", None)
    structured = fixed.get("structuredContent")
    if structured is not None and not isinstance(structured, dict) and "resultType" not in fixed:
        del fixed["structuredContent"]  # before 2026-07-28 only an object may stand here
        fixed["content"] = fixed.get("content") or json.dumps(structured, ensure_ascii=False)
    content = fixed.get("content", [] if structured is None else json.dumps(structured, ensure_ascii=False))
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    return {"resultType": "complete", **fixed, "content": list(map(_block, blocks))}


def greeting(result: Entry) -> Entry:
    """Returns an answer to `initialize` in the protocol's form.

    >>> greeting({"capabilities": {"tools": True, "logging": None}})["capabilities"]
    {'tools': {}}
    """
    info, offers = (
        cast("Entry", value) if isinstance(value := result.get(name), dict) else {}
        for name in ("serverInfo", "capabilities")
    )
    return {
        **result,
        "protocolVersion": str(result.get("protocolVersion") or LATEST_HANDSHAKE_VERSION),
        "serverInfo": {name: str(info.get(name) or "") for name in ("name", "title", "version", "description")},
        "capabilities": {
            name: offer if isinstance(offer, dict) else {}
            for name, offer in offers.items()
            if offer not in (None, False)
        },
        "instructions": text if isinstance(text := result.get("instructions"), str) else None,
    }


_OTHERS: dict[str, Callable[[Entry], Entry]] = {"tools/call": tool_result, "initialize": greeting}


def _block(block: Any) -> Any:
    """Returns a content block, without notes that do not fit; as text, if the protocol does not know it."""
    match block:
        case {"type": "text", "text": str(), **more} if not more:  # the usual block
            return block
        case str(text) | {"text": str(text)} if isinstance(block, str) or "type" not in block:
            return {"type": "text", "text": text}
        case _:
            pass
    parts = cast("Entry", block) if isinstance(block, dict) else {}
    bare: Any = {name: value for name, value in parts.items() if name not in _NOTES}
    for form in (cast("Any", block), bare):
        with suppress(ValidationError):
            _BLOCK.validate_python(form, by_name=False)
            return form
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


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
        dump = result.model_dump_json()
        if not any(json.dumps(value, ensure_ascii=False)[1:-1] in dump for value in values):
            return result  # the usual case, 13 times as fast
    return without_secrets(result, lambda text: text_without_secrets(text, values), numbers=False)


def text_without_secrets(text: str, values: Sequence[str]) -> str:
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
            mapping = cast("Mapping[Any, Any]", value)
            return {_masked(key, redact, numbers): _masked(item, redact, numbers) for key, item in mapping.items()}
        case Sequence():
            return [_masked(item, redact, numbers) for item in cast("Sequence[Any]", value)]
        case _:
            return value


@cache
def _fields_of_words(message: type[BaseModel]) -> frozenset[str]:
    """Returns the fields whose values the protocol fixes (a role, a type, a level), number fields, and `UNREAD`."""
    kinds = {name: _kinds(field.annotation) for name, field in message.model_fields.items()}
    fixed = (name for name, kind in kinds.items() if Literal in kind or kind <= {int, float, bool, type(None)})
    return UNREAD.get(message, frozenset()).union(fixed)


def _kinds(annotation: Any) -> set[Any]:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {Literal}
    if origin is Annotated:
        return _kinds(parts[0])
    return {kind for part in parts for kind in _kinds(part)} if parts else {annotation}


def decode_tool(server_name: str, tool: mcp_types.Tool) -> Tool:
    """Returns a listed tool as a domain tool. MCP has no fields for prices, times and success."""
    notes = tool.annotations or mcp_types.ToolAnnotations()
    extra_fields = tool.model_dump(mode="json", by_alias=True, include={"icons", "meta"}, exclude_none=True)
    extras = json.dumps(extra_fields, sort_keys=True) if any(extra_fields.values()) else ""
    return Tool(
        server=server_name,
        name=tool.name,
        description=tool.description or "",
        title=tool.title or notes.title or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        hints=ToolHints(notes.read_only_hint, notes.destructive_hint, notes.idempotent_hint, notes.open_world_hint),
        extras=extras if len(extras) <= MOST_EXTRA_CHARS else "",
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
