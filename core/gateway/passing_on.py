"""A server's result on its way to the client: unchanged if it is short, cut with a handle if it is long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, cast

import mcp_types

from core.domain.catalog import Json
from core.domain.errors import Refusal
from core.domain.json_schema import misfit
from core.domain.outcome import SIMULATED_MARK, Outcome, OutcomeKind
from core.domain.tools import count_tokens, fits, piece
from core.domain.untrusted_text import one_line, visible
from core.gateway.base import (
    AgentTool,
    Answer,
    KeptText,
    Request,
    Services,
    answer,
    compact,
    definition,
    in_thread,
    or_null,
    text_block,
)
from core.governance.governed_calls import ResourceLink

WHY_CHARS = 4_000
MOST_BINARY_CHARS = 8 * 1024 * 1024
MOST_LINKS, LINK_CHARS = 20, 200
LONGEST_LIST, CHARS_PER_ITEM = 12, 16
"""The first length of lists that are shortened, as a power of two, and the characters of texts for each of its items."""
EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})
EMPTY_TEXTS = {"", "[]", "{}", "null", "None"}
PROTOCOLS_OWN = "io.modelcontextprotocol/"
UNFIT = (
    "[The tool has run, and its work is done. This is marked as an error alone because the structured result, as far as there is room, "
    "does not fit the tool's output schema.]"
)
GAVE_NOTHING = "The tool ended well and gave no result."
Block = mcp_types.ContentBlock


def is_empty(outcome: Outcome) -> bool:
    """Whether a successful call returned nothing: no content, or only empty lists and texts."""
    content, structured = _parts(outcome)
    texts = [block.text for block in content if isinstance(block, mcp_types.TextContent)]
    if len(texts) < len(content) or any(text.strip() not in EMPTY_TEXTS for text in texts):
        return False
    values = cast("dict[str, Any]", structured).values() if isinstance(structured, dict) else [structured]
    return all(value in EMPTY_VALUES for value in values)


def given_tokens(outcome: Outcome, limit: int) -> int:
    """Returns how many tokens of a result a client gets, at most `limit`. Text and structured form have the same content, so
    the longer form counts, together with metadata beside texts."""
    content, result = _parts(outcome)
    text = text_of(content)
    documents = [text] if _is_text(result, text) else [text, compact(result)]
    others = [extra for extra in (*map(beside, content), _meta(outcome)) if extra]

    def size(text: str) -> int:
        return count_tokens(text) if fits(text, limit) else limit

    return min(limit, max(map(size, documents)) + (size(compact(others)) if others else 0))


def told_tokens(outcome: Outcome, limit: int) -> int:
    """Returns the `given_tokens` of a client that gets only the beginning of an error."""
    tokens = given_tokens(outcome, limit)
    return tokens if outcome.kind is OutcomeKind.OK else min(tokens, count_tokens(outcome.error[:WHY_CHARS]))


def passed_on(
    services: Services, outcome: Outcome, limit: int, *, as_it_is: bool = False, schema: Json | None = None
) -> Answer:
    """Returns the server's own content and metadata, together with Wayfare's figures of the call. `limit` is the number
    of text tokens returned at once. `as_it_is` leaves out Wayfare's figures; a structured result that is too long is
    shortened then, so that it still fits the `schema` that the client was given."""
    content, result = _parts(outcome)
    text = text_of(content)
    blocks, meta, limit = _with_room(content, _meta(outcome), limit)
    is_text = _is_text(result, text)
    document = text if is_text else compact(result)
    cut: dict[str, Any] | None = None if fits(document, limit) else _cut(services, outcome, document, limit)
    if not fits(text, limit):
        text_cut = cut if cut is not None and is_text else _cut(services, outcome, text, limit)
        blocks = [*_first(blocks, text_cut["next_offset"]), text_block(_read_on(text_cut))]
    blocks = [*map(bounded, blocks)]  # after the cut, whose offset counts the result's own texts alone
    if cut is not None and as_it_is and not is_text:
        blocks.append(text_block(f"[The structured result is shortened. {_read_on({**cut, 'next_offset': 0})[1:]}"))
    ok = outcome.kind is OutcomeKind.OK
    note = visible(outcome.error or outcome.note) if ok else ""
    if ok and outcome.error:  # the result does not fit the tool's output schema
        blocks.append(text_block(f"[{note}]"))
    if as_it_is:
        short: Any = result if cut is None or result is None else shortened(result, schema, limit)
        unfit = ok and not outcome.error and schema is not None and (short is None or misfit(schema, short) != "")
        blocks += [text_block(UNFIT)] if unfit else []
        failed = unfit or not ok or bool(outcome.error)
        return Answer(content=blocks, structured_content=short, is_error=failed, _meta=meta)
    figures: dict[str, Any] = {
        "tool": f"{outcome.call.server}::{outcome.call.tool}",
        "ok": True,
        "outcome": outcome.kind.value,
        "latency_ms": round(outcome.latency_s * 1e3, 1),
        "price_usd": outcome.price_usd,
        "result": cut or (text or None if result is None else result),
        "fallback": [],
        "links": _links(services, outcome, blocks),
        **({"note": note} if note else {}),
    }
    return answer(figures, blocks or [text_block(GAVE_NOTHING)], meta=meta)


def shortened(result: Any, schema: Json | None, limit: int) -> Any:
    """Returns the result with shorter texts and lists, and if need be with fewer fields, so that it fits the limit and the schema.
    Returns None if no shorter form fits.

    >>> schema = {"type": "object", "required": ["n", "text"], "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
    >>> shortened({"n": 7, "text": "word " * 100}, schema, 15)
    {'n': 7, 'text': 'word word word …'}
    """
    for fields in (False, True):
        value, text = result, ""
        for power in range(LONGEST_LIST, -1, -1):  # each step shortens the last one
            value, previous = _with_fewer(value, 2**power, fields), text
            text = compact(value)
            if text != previous and fits(text, limit) and (schema is None or not misfit(schema, value)):
                return value
    return None


def _with_fewer(value: Any, most: int, fields: bool) -> Any:
    """Returns a value with at most `most` items in each list, and with `fields` in each object, and texts in proportion."""
    if isinstance(value, str):
        chars = CHARS_PER_ITEM * most
        return value if len(value) <= chars else f"{value[: chars - 1]}…"
    if isinstance(value, list):
        return [_with_fewer(item, most, fields) for item in cast("list[Any]", value)[:most]]
    if isinstance(value, dict):
        named = islice(cast("dict[str, Any]", value).items(), most if fields else None)
        return {name: _with_fewer(item, most, fields) for name, item in named}
    return value


def beside(block: Block) -> list[Any]:
    """Returns the metadata of a block, and the words of a link, which a client reads beside the text."""
    extras: list[Any] = [block.meta, getattr(getattr(block, "resource", None), "meta", None)]
    if isinstance(block, mcp_types.ResourceLink):
        icons = [icon.model_dump(mode="json") for icon in block.icons or ()]
        extras += [str(block.uri), block.name, block.title, block.description, icons]
    return [extra for extra in extras if extra]


def _with_room(
    content: Iterable[Block], meta: dict[str, Any] | None, limit: int
) -> tuple[list[Block], dict[str, Any] | None, int]:
    """Returns blocks and metadata, as far as their data beside texts fits into half of the limit, and the rest of the limit. A block
    without room loses its metadata, and a link its long words; a link that is still too long is left out and counted."""
    room, left_out, blocks = limit // 2, 0, list[Block]()
    if meta is not None and not fits(compact(meta), room):
        meta = {SIMULATED_MARK: True} if SIMULATED_MARK in meta else None
    room -= 0 if meta is None else count_tokens(compact(meta))
    for block in content:
        candidate = block if _has_room(block, room) else _bare(block)
        if _has_room(candidate, room):
            room -= count_tokens(compact(beside(candidate))) if beside(candidate) else 0
            blocks.append(candidate)
        else:
            left_out += 1
    if left_out:
        blocks.append(text_block(f"[left out: {left_out} links, for which there is no room]"))
    return blocks, meta, limit - limit // 2 + room


def _has_room(block: Block, room: int) -> bool:
    return not beside(block) or fits(compact(beside(block)), room)


def _bare(block: Block) -> Block:
    if isinstance(block, mcp_types.ResourceLink):
        words = {"title": one_line(block.title or "", LINK_CHARS) or None, "name": one_line(block.name, LINK_CHARS)}
        about = one_line(block.description or "", LINK_CHARS) or None
        return block.model_copy(update={"meta": None, "icons": None, "description": about, **words})
    if isinstance(block, mcp_types.EmbeddedResource):
        return block.model_copy(update={"meta": None, "resource": block.resource.model_copy(update={"meta": None})})
    return block.model_copy(update={"meta": None})


def _parts(outcome: Outcome) -> tuple[list[Block], Any]:
    original = outcome.original
    if not isinstance(original, mcp_types.CallToolResult):
        return [], None
    return list(original.content), original.structured_content


def _meta(outcome: Outcome) -> dict[str, Any] | None:
    """Returns the server's metadata without the protocol's own, which belong to its session, and marks a simulated
    result."""
    original = outcome.original
    meta = original.meta if isinstance(original, mcp_types.CallToolResult) else None
    return {**servers_own(meta), **({SIMULATED_MARK: True} if outcome.simulated else {})} or None


def servers_own(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (meta or {}).items() if not name.startswith(PROTOCOLS_OWN)}


def text_of(content: Iterable[Block]) -> str:
    """Returns the texts of content, including those of embedded resources."""
    return "\n".join(text for block in content if (text := _own_text(block)) is not None)


def _own_text(block: Block) -> str | None:
    match block:
        case (
            mcp_types.TextContent(text=text)
            | mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(text=text))
        ):
            return text
        case _:
            return None


def _is_text(result: Any, text: str) -> bool:
    """Whether a structured result adds nothing to the text: there is none, or it is the text as the SDKs wrap it."""
    return result is None or result == {"result": text}


def _first(blocks: list[Block], chars: int) -> list[Block]:
    """Returns blocks with the first `chars` characters of their texts, as `text_of` joins them, and all blocks without
    a text."""
    first: list[Block] = []
    for block in blocks:
        text = _own_text(block)
        if text is None or len(text) <= chars:
            first.append(block)
        elif chars > 0:
            first.append(_with_text(block, text[:chars]))
        chars -= 0 if text is None else len(text) + 1
    return first


def _with_text(block: Block, text: str) -> Block:
    if isinstance(block, mcp_types.EmbeddedResource):
        return block.model_copy(update={"resource": block.resource.model_copy(update={"text": text})})
    return block.model_copy(update={"text": text})


def _cut(services: Services, outcome: Outcome, text: str, limit: int) -> dict[str, Any]:
    first = piece(text, 0, limit)
    return {
        "cut": True,
        "text": first,
        "handle": services.results.keep(KeptText(text, outcome.call.server_id)),
        "next_offset": len(first),
        "total_chars": len(text),
    }


def _links(services: Services, outcome: Outcome, blocks: list[Block]) -> list[dict[str, str]]:
    call = outcome.call
    links = [block for block in blocks if isinstance(block, mcp_types.ResourceLink)][:MOST_LINKS]
    return [
        {
            "uri": str(block.uri),
            "name": one_line(block.name, LINK_CHARS),
            "handle": services.results.keep_link(ResourceLink(call.catalog, call.server, call.tool, str(block.uri))),
        }
        for block in links
    ]


def _read_on(cut: dict[str, Any]) -> str:
    return (
        f"[cut: {cut['next_offset']:,} of {cut['total_chars']:,} characters. Read on with read_result, handle "
        f"{cut['handle']}, offset {cut['next_offset']}.]"
    )


def bounded(block: Block) -> Block:
    """Returns the block, or a note in its place if it is larger than clients accept."""
    resource = block.resource if isinstance(block, mcp_types.EmbeddedResource) else None
    match block, resource:
        case ((mcp_types.ImageContent() | mcp_types.AudioContent()), _):
            size = len(block.data)
        case _, mcp_types.BlobResourceContents():
            size = len(resource.blob)
        case _:
            size = 0
    if size <= MOST_BINARY_CHARS:
        return block
    return text_block(f"[left out: {block.type} of {size:,} characters; at most {MOST_BINARY_CHARS:,} are passed on]")


# `read_result`: the rest of a result that was cut, and resources that a result links to.


def read_result(services: Services, request: Request) -> Answer:
    handle = request.arguments["handle"]
    link = services.results.link(handle)
    if link is not None:  # only while the client may use the tool that returned it
        services.app.governance.admission.describe(request.client, link.catalog, services.app.linked.tool(link))
    stored = services.results.text(handle)
    if stored is None and link is not None:
        contents = services.app.linked.read(link, request.client, limit_s=request.options.timeout_s)
        texts = [content.text for content in contents if isinstance(content, mcp_types.TextResourceContents)]
        blobs = [content for content in contents if isinstance(content, mcp_types.BlobResourceContents)]
        if not texts:
            blocks = [bounded(mcp_types.EmbeddedResource(type="resource", resource=blob)) for blob in blobs]
            return answer({"text": "", "next_offset": None, "total_chars": 0}, blocks or [text_block("It is empty.")])
        stored = KeptText("\n".join(texts), link.server_id)
        services.results.keep(stored, handle)
    if stored is None:
        raise Refusal(
            "unknown_handle",
            f"There is no result with the handle {handle!r}; only the latest are kept.",
            "Call the tool again if it just reads, and ask it for less at once.",
        )
    return answer(_part(services, request, stored))


def _part(services: Services, request: Request, stored: KeptText) -> dict[str, Any]:
    text, offset = stored.text, int(request.arguments.get("offset", 0))
    excerpt = piece(text, offset, services.result_tokens)
    if excerpt:
        allowance = services.app.governance.read_on(request.client, stored.source, count_tokens(excerpt))
        excerpt = piece(text, offset, allowance)
    end = min(offset, len(text)) + len(excerpt)
    return {"text": excerpt, "next_offset": end if end < len(text) else None, "total_chars": len(text)}


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
    in_thread(read_result),
)  # fmt: skip
