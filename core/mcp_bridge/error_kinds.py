"""Which kind of failure an error response is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from core.domain.catalog import Tool
from core.domain.outcome import OutcomeKind, ToolCall
from core.mcp_bridge.transports import HTTP_REFUSED
from core.shared.json_schema import arguments_fit


def not_json(arguments: Mapping[str, Any]) -> str:
    """Why the arguments cannot be sent as JSON; empty if they can.

    >>> not_json({"n": float("inf")})
    'The arguments are not JSON: Out of range float values are not JSON compliant'
    """
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"The arguments are not JSON: {error}"
    return ""


def classify_error_result(
    call: ToolCall, tool: Tool | None, listed: Mapping[str, mcp_types.Tool] | None
) -> OutcomeKind:
    """The kind of a result that is marked as an error: bad arguments, an unknown tool, or the tool's own error.

    Arguments are checked against the schema that the server listed, or the catalog's where the server lists nothing.
    """
    if listed is not None and call.tool not in listed:
        return OutcomeKind.INVALID_ARGUMENTS
    schema = listed[call.tool].input_schema if listed is not None else tool.input_schema if tool is not None else None
    if schema is not None and arguments_fit(schema, call.arguments) is False:
        return OutcomeKind.INVALID_ARGUMENTS
    return OutcomeKind.TOOL_ERROR


def classify_protocol_error(error: MCPError) -> OutcomeKind:
    """The kind of a protocol error: -32602 is about the arguments; an HTTP error page means that the tool was not reached."""
    if error.code == INVALID_PARAMS:
        return OutcomeKind.INVALID_ARGUMENTS
    if error.code == INTERNAL_ERROR and error.message.startswith(HTTP_REFUSED):
        return OutcomeKind.CRASH
    return OutcomeKind.TOOL_ERROR
