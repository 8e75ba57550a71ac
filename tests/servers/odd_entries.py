"""Entries of lists as servers in the wild write them: most of them are against the protocol."""

from __future__ import annotations

from typing import Any

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
GOOD = {"name": "good", "inputSchema": OBJECT}


def multiplying(levels: int, keyword: str = "anyOf") -> dict[str, Any]:
    """A small schema of 2 ** levels parts: each level has two references to the next."""
    parts: dict[str, Any] = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {
        **OBJECT,
        "properties": {"x": {"$ref": "#/$defs/a0"}},
        "$defs": {**parts, f"a{levels}": {"type": "integer"}},
    }


def _tools(prefix: str, field: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**GOOD, "name": f"{prefix}_{name}", field: value} for name, value in values.items()]


REPAIRED = [
    {"name": "in_missing"},
    {"name": "in_snake", "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}},
    *_tools("in", "inputSchema", {
        "empty": {}, "null": None, "true": True, "list": [], "any_of": {"anyOf": [OBJECT]}, "one_of": {"oneOf": [OBJECT]},
        "all_of": {"allOf": [OBJECT]}, "reference": {"$ref": "#/$defs/A", "$defs": {"A": OBJECT}}, "types": {"type": ["object", "null"]},
        "properties_list": {"type": "object", "properties": []}, "properties_null": {"properties": None},
        "property_text": {"type": "object", "properties": {"q": "string"}}, "required_true": {"type": "object", "required": True},
        "dialect": {"$schema": 7, "type": "object"}, "recursive": {"type": "object", "properties": {"more": {"$ref": "#"}}},
        "pattern": {"type": "object", "properties": {"q": {"type": "string", "pattern": "^(?<n>[a-z+$"}}},
    }),
    *_tools("out", "outputSchema", {
        "empty": {}, "null": None, "true": True, "reference": {"$ref": "#/$defs/A", "$defs": {"A": OBJECT}},
    }),
]  # fmt: skip
"""Tools whose meaning is plain."""
LACKING = [
    *_tools("out", "outputSchema", {"text": "object", "false": False}),
    *_tools("icons", "icons", {"text": "icon.png", "sizes": [{"src": "data:,", "sizes": "48x48"}]}),
    *_tools("meta", "_meta", {"list": []}),
    *_tools(
        "hints",
        "annotations",
        {"list": [], "text": {"readOnlyHint": "true"}, "number": {"readOnlyHint": 1, "title": 5}},
    ),
    *_tools("words", "title", {"title": 5}),
    *_tools("words", "description", {"description": {"en": "Reads."}}),
    *_tools("in", "inputSchema", {"multiplying": multiplying(26)}),
    *_tools("out", "outputSchema", {"multiplying": multiplying(26, "allOf")}),
]
"""Tools that are taken without a part, or with one that is not checked."""
LEGACY_LACKING = [
    *_tools("out", "outputSchema", {"array": {"type": "array"}, "any_of": {"anyOf": [OBJECT, {"type": "null"}]}}),
    *_tools("task", "execution", {"unknown": {"taskSupport": "maybe"}}),
]
"""Tools that are against the protocol up to 2025-11-25 alone."""
LEFT_OUT = _tools("in", "inputSchema", {
    "false": False, "text": "object", "array": {"type": "array"}, "properties_pairs": {"type": "object", "properties": [{"name": "q"}]},
})  # fmt: skip
NAMELESS: list[Any] = [
    {"inputSchema": OBJECT}, *({**GOOD, "name": name} for name in (None, "", 7)), "just text", None, 5, [],
]  # fmt: skip
LISTS: dict[str, Any] = {
    "tools": [*REPAIRED, *LACKING, *LEGACY_LACKING, *LEFT_OUT, *NAMELESS, GOOD, {**GOOD, "title": "Again"}, {**GOOD, "name": "deep"}],
    "prompts": [{"name": 7}, "text", {"name": "good"}, {"name": "odd", "icons": 5}],
    "resources": [{"uri": 5, "name": "x"}, {"name": "no uri"}, {"uri": "a://b", "name": "good"}, {"uri": "a://c", "name": "odd", "size": "big"}],
    "resourceTemplates": [None, {"uriTemplate": "a://{x}", "name": "good"}],
}  # fmt: skip
