"""Sheets: servers as they are written by hand, in `sheets/*.toml`, and how a tool of one becomes a definition.

A parameter without a type is a string; one that several tools have is `shared` and named by them.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Sheet = dict[str, Any]
Parameters = dict[str, dict[str, Any]]

FOLDER = Path(__file__).resolve().parent / "sheets"
FIGURES = ("ask", "conn_s", "call_s", "success", "success_variance", "post_accept_failure")
HINTS: Mapping[str, tuple[bool, bool, bool]] = {  # read-only, destructive, idempotent
    "look": (True, False, True),
    "add": (False, False, False),
    "set": (False, False, True),
    "remove": (False, True, True),
}


def read_sheet(name: str) -> Sheet:
    """The sheet of this name."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def parameters(tool: Sheet, shared: Parameters) -> Parameters:
    """All parameters that a tool may have, the important ones first: those it uses, its own, those it also takes.

    >>> parameters({"parameters": {"query": {"minLength": 1}}, "also": ["page"]}, {"page": {"type": "integer"}})
    {'query': {'type': 'string', 'minLength': 1}, 'page': {'type': 'integer'}}
    """
    used = {name: shared[name] for name in tool.get("use", ())}
    late = {name: shared[name] for name in tool.get("also", ())}
    return {name: {"type": "string", **schema} for name, schema in {**used, **tool["parameters"], **late}.items()}


def object_schema(properties: Parameters, required: list[str]) -> dict[str, Any]:
    """JSON Schema of an object with these properties.

    >>> object_schema({"url": {"type": "string"}}, ["url"])
    {'type': 'object', 'properties': {'url': {'type': 'string'}}, 'required': ['url']}
    """
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def hints(does: str, *, open_world: bool) -> dict[str, bool]:
    """MCP's annotations of a tool that looks something up, adds, sets or removes something."""
    read_only, destructive, idempotent = HINTS[does]
    return {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }


def economics(tool: Sheet) -> dict[str, Any]:
    """Price tier with its reason, and how much slower than the server's average the tool is."""
    tier = {"tier": "high", "tier_reason": tool["high"]} if "high" in tool else {"tier": "low"}
    return tier | ({"latency_factor": tool["slow"]} if "slow" in tool else {})
