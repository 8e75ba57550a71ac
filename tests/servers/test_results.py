"""Texts of strangers are masked anywhere in a message; the words and numbers of the protocol do not change."""

from __future__ import annotations

from typing import Any

import mcp_types
from pydantic import BaseModel

from core.domain.catalog import ToolHints
from core.domain.leaks import MASK
from core.servers.results import decode_block, decode_tool, result_without_secrets, without_secrets
from tests.cases import each

VALUES = ("user", "text", "info", "complete", "4711", "object", "sampling/createMessage", "hunter2")
"""Values that a server's variables may well have: most are words of the protocol as well."""
SAID = f"I am a user, 4711, {' '.join(VALUES)}"
MESSAGES: list[BaseModel] = [
    mcp_types.CallToolResult(
        content=[
            mcp_types.TextContent(type="text", text=SAID, annotations=mcp_types.Annotations(audience=["user"], priority=1.0)),
            mcp_types.ResourceLink(type="resource_link", name=SAID, uri=f"x://{VALUES[-1]}", size=4711),
        ],
        structured_content={"deep": [{"said": SAID, "hunter2": 4711, "none": None, "true": True}]},
        is_error=True,
    ),
    mcp_types.LoggingMessageNotificationParams(level="info", logger=SAID, data={"message": SAID}),
    mcp_types.ErrorData(code=4711, message=SAID, data={"said": [SAID]}),
    mcp_types.CreateMessageRequest(
        params=mcp_types.CreateMessageRequestParams(
            messages=[mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(type="text", text=SAID))],
            max_tokens=4711,
        )
    ),
    mcp_types.ListResourcesResult(resources=[mcp_types.Resource(name=SAID, uri="x://y", mime_type="text/plain")]),
]  # fmt: skip


def redact(text: str) -> str:
    for value in VALUES:
        text = text.replace(value, MASK)
    return text


@each("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_texts_are_masked_and_the_message_remains_one(message: BaseModel) -> None:
    masked = without_secrets(message, redact)
    written = masked.model_dump_json(by_alias=True, exclude_none=True)
    assert "hunter2" not in written
    assert SAID not in written
    parsed: Any = type(message).model_validate_json(written)
    assert parsed == masked
    assert "hunter2" in message.model_dump_json()  # the original is not changed


def test_words_and_numbers_of_the_protocol_stay() -> None:
    result, log, error, question, _ = (without_secrets(message, redact) for message in MESSAGES)
    assert isinstance(result, mcp_types.CallToolResult)
    text, link = result.content
    assert isinstance(text, mcp_types.TextContent)
    assert isinstance(link, mcp_types.ResourceLink)
    assert text.annotations == mcp_types.Annotations(audience=["user"], priority=1.0)
    assert (link.size, result.is_error) == (4711, True)
    assert result.structured_content == {"deep": [{"said": redact(SAID), MASK: MASK, "none": None, "true": True}]}
    assert isinstance(log, mcp_types.LoggingMessageNotificationParams)
    assert log.level == "info"
    assert isinstance(error, mcp_types.ErrorData)
    assert error.code == 4711
    assert isinstance(question, mcp_types.CreateMessageRequest)
    assert (question.method, question.params.max_tokens, question.params.messages[0].role) == (
        "sampling/createMessage", 4711, "user",
    )  # fmt: skip


def test_of_a_result_every_text_is_masked_and_nothing_that_is_no_text() -> None:
    key = 'k"ey-47114711'
    image = mcp_types.ImageContent(data=key, mime_type="image/png")
    file = mcp_types.TextResourceContents(uri=f"x://{key}", text=f"in {key}")
    result = mcp_types.CallToolResult(
        content=[
            mcp_types.TextContent(text=f"{key}, {key}", annotations=mcp_types.Annotations(audience=["user"])),
            mcp_types.EmbeddedResource(resource=file),
            mcp_types.ResourceLink(name=key, uri=f"x://{key}", size=47114711),
            image,
        ],
        structured_content={"n": 47114711, key: [key, True, None]},
        _meta={"at": key},
    )
    masked = result_without_secrets(result, [key, "47114711"])
    text, embedded, link, last = masked.content
    assert text == mcp_types.TextContent(text="•••, •••", annotations=mcp_types.Annotations(audience=["user"]))
    assert embedded == mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(uri="x://•••", text="in •••"))
    assert link == mcp_types.ResourceLink(name="•••", uri="x://•••", size=47114711)
    assert (last, masked.meta) == (image, {"at": "•••"})
    assert masked.structured_content == {"n": 47114711, "•••": ["•••", True, None]}
    required = mcp_types.InputRequiredResult(request_state=key)
    assert result_without_secrets(required, [key]).request_state == key  # the server wants it back as it came
    for values in ([], ["another-value"]):
        assert result_without_secrets(result, values) is result


def test_tool_with_everything() -> None:
    notes = mcp_types.ToolAnnotations(title="Second", read_only_hint=True, destructive_hint=False, idempotent_hint=True)
    wire = mcp_types.Tool(name="t", description="d", input_schema={"a": 1}, output_schema={"b": 2}, annotations=notes)
    tool = decode_tool("s", wire)
    assert (tool.id, tool.title, tool.description) == ("s::t", "Second", "d")
    assert (tool.input_schema, tool.output_schema) == ({"a": 1}, {"b": 2})
    assert tool.hints == ToolHints(read_only=True, destructive=False, idempotent=True, open_world=None)
    assert tool.price_usd is None


def test_broken_base64_becomes_a_note_and_wrapped_base64_is_read() -> None:
    assert "not valid" in decode_block(mcp_types.ImageContent(data="*", mime_type="image/png")).text
    assert decode_block(mcp_types.ImageContent(data="AA\nEC", mime_type="image/png")).data == b"\x00\x01\x02"
