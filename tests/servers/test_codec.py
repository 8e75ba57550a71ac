"""Tools and results of every shape become domain types, within bounds."""

from __future__ import annotations

import mcp_types
from mcp import MCPError
from mcp_types import ImageContent

from core.domain.catalog import ToolHints
from core.domain.json_schema import arguments_fit
from core.domain.outcome import OutcomeKind
from core.servers.caller import classify_protocol_error
from core.servers.results import decode_block, decode_tool
from tests.cases import each


def test_tool_with_everything() -> None:
    notes = mcp_types.ToolAnnotations(title="Second", read_only_hint=True, destructive_hint=False, idempotent_hint=True)
    wire = mcp_types.Tool(name="t", description="d", input_schema={"a": 1}, output_schema={"b": 2}, annotations=notes)
    tool = decode_tool("s", wire)
    assert (tool.id, tool.title, tool.description) == ("s::t", "Second", "d")
    assert (tool.input_schema, tool.output_schema) == ({"a": 1}, {"b": 2})
    assert tool.hints == ToolHints(read_only=True, destructive=False, idempotent=True, open_world=None)
    assert tool.price_usd is None


def test_bare_tool() -> None:
    tool = decode_tool("s", mcp_types.Tool(name="t", input_schema={}))
    assert (tool.title, tool.description, tool.hints, tool.hints.retry_safe) == ("", "", ToolHints(), False)


def test_broken_base64_becomes_a_note_and_wrapped_base64_is_read() -> None:
    assert "not valid" in decode_block(ImageContent(data="*", mime_type="image/png")).text
    assert decode_block(ImageContent(data="AA\nEC", mime_type="image/png")).data == b"\x00\x01\x02"


def test_a_remote_reference_in_a_schema_is_not_fetched() -> None:
    assert arguments_fit({"$ref": "http://127.0.0.1:9/schema.json"}, {}) is None


@each(
    ("code", "message", "kind"),
    [
        (-32602, "bad", OutcomeKind.INVALID_ARGUMENTS),
        (-32603, "boom", OutcomeKind.TOOL_ERROR),
        (-32601, "Method not found", OutcomeKind.TOOL_ERROR),
    ],
)
def test_error_results(code: int, message: str, kind: OutcomeKind) -> None:
    assert classify_protocol_error(MCPError(code, message)) is kind
