"""A tool's input schema as one short line that a model can call from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from core.domain.catalog import Json, Tool, first_sentence
from core.shared.json_schema import referenced
from core.shared.untrusted_text import one_line

MOST_ARGUMENTS = 12
MOST_VALUES = 6
NAME_CHARS, VALUE_CHARS, SENTENCE_CHARS = 40, 24, 140


def signature(tool: Tool) -> str:
    """Name, arguments with their types (`?` marks what may be left out), and what the tool does.

    >>> schema = {"type": "object", "required": ["path"], "properties": {
    ...     "path": {"type": "string"}, "mode": {"enum": ["text", "lines"]}, "tags": {"type": "array", "items": {"type": "string"}}}}
    >>> signature(Tool("files", "read", "Reads a file. Returns its text.", input_schema=schema))
    'read(path: string, mode?: "text"|"lines", tags?: string[]) -- Reads a file.'
    """
    schema = tool.input_schema or {}
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    needed: set[object] = set(cast("list[object]", required)) if _is_names(required) else set()
    names = sorted(properties, key=lambda name: name not in needed)
    parts = [
        f"{one_line(name, NAME_CHARS)}{'' if name in needed else '?'}: {_type(schema, properties[name])}"
        for name in names[:MOST_ARGUMENTS]
    ]
    more = [f"… {len(names) - MOST_ARGUMENTS} more"] if len(names) > MOST_ARGUMENTS else []
    about = one_line(first_sentence(tool.description), SENTENCE_CHARS)
    return f"{one_line(tool.name, 2 * NAME_CHARS)}({', '.join([*parts, *more])}){f' -- {about}' if about else ''}"


def _type(root: Json, schema: object) -> str:
    """The type of one argument in a word or a few."""
    found = _mapping(schema)
    if "$ref" in found:
        found = _mapping(referenced(root, found["$ref"]))
    if "const" in found:
        return _value(found["const"])
    if isinstance(found.get("enum"), list):
        values = cast("list[object]", found["enum"])
        shown = [_value(value) for value in values[:MOST_VALUES]]
        return "|".join([*shown, *(["…"] if len(values) > MOST_VALUES else [])]) or "any"
    for key in ("anyOf", "oneOf"):
        if isinstance(found.get(key), list):
            kinds = [_type({}, one) for one in cast("list[object]", found[key])[:MOST_VALUES]]
            return "|".join(dict.fromkeys(kinds)) or "any"
    kind: object = found.get("type", "any")
    if isinstance(kind, list):
        return "|".join(one_line(str(one), VALUE_CHARS) for one in cast("list[object]", kind)[:MOST_VALUES])
    if kind == "array":
        inner = _mapping(found.get("items")).get("type", "any")
        return f"{one_line(str(inner), VALUE_CHARS)}[]"
    return one_line(str(kind), VALUE_CHARS)


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, default=str), VALUE_CHARS)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[object]", value))
