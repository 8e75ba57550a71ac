"""A server as the plain catalog format writes it: what `core.importers` reads back, without its connection."""

from __future__ import annotations

from typing import Any

from core.domain.catalog import Server, Tool, ToolHints

HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
SERVER_FIELDS = (
    "title", "category", "ask_usd", "conn_s", "call_s", "success", "success_variance", "post_accept_failure", "virtual",
)  # fmt: skip
TOOL_FIELDS = ("title", "price_usd", "latency_s", "success", "tier", "tier_reason")


def plain_server(server: Server) -> dict[str, Any]:
    """One entry of `servers`; unknown values are left out.

    >>> plain_server(Server("a", tools=(Tool("a", "t", hints=ToolHints(read_only=True)),)))
    {'name': 'a', 'description': '', 'tools': [{'name': 't', 'description': '', 'annotations': {'readOnlyHint': True}}]}
    """
    return {
        "name": server.name,
        "description": server.description,
        **_known(server, SERVER_FIELDS),
        "tools": [_tool(tool) for tool in server.tools],
    }


def hint_names(hints: ToolHints) -> dict[str, bool]:
    """The hints under the names that MCP gives them; only those that the server gives."""
    said = {name: getattr(hints, field) for field, name in HINTS.items()}
    return {name: value for name, value in said.items() if value is not None}


def _tool(tool: Tool) -> dict[str, Any]:
    schemas = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
    hints = hint_names(tool.hints)
    return {
        "name": tool.name,
        "description": tool.description,
        **{key: dict(schema) for key, schema in schemas.items() if schema is not None},
        **({"annotations": hints} if hints else {}),
        **_known(tool, TOOL_FIELDS),
        **({"preconditions": list(tool.preconditions)} if tool.preconditions else {}),
    }


def _known(record: Server | Tool, fields: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in fields}
    return {name: value for name, value in values.items() if value not in (None, "", False)}
