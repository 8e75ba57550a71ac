"""Reading a JSON Schema from a stranger: local references, "or null", examples. Pure, never raises, fetches nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from core.shared.json_schema import referenced

MAX_REFERENCES = 8
MAX_DEPTH = 2


def required_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names under `required`, as far as it is a list of names."""
    required = schema.get("required")
    return tuple(name for name in required if isinstance(name, str)) if isinstance(required, list | tuple) else ()


def skeleton(schema: object) -> dict[str, Any]:
    """Where to start editing JSON: every default, and an example for what is required without one.

    >>> skeleton({"properties": {"n": {"type": "integer"}, "m": {"default": 2}, "o": {}}, "required": ["n"]})
    {'n': 0, 'm': 2}
    """
    if not isinstance(schema, Mapping):
        return {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    start: dict[str, Any] = {}
    for name in dict.fromkeys([*required_names(schema), *properties]):
        spec = resolved(properties.get(name, True), schema)
        if spec.get("default") is not None:
            start[str(name)] = spec["default"]
        elif name in required_names(schema):
            start[str(name)] = example_of(spec, schema)
    return start


def resolved(spec: object, root: Mapping[str, Any]) -> dict[str, Any]:
    """A property with local references, single allOf and "or null" folded away; {} where it says nothing usable."""
    for _ in range(MAX_REFERENCES):
        if not isinstance(spec, Mapping):
            return {}
        rest = dict(spec)
        inner = _inner(rest, root)
        if inner is None:
            return _without_null(rest)
        spec = {**inner, **rest}
    return {}


def example_of(spec: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Any:
    """A small value of the shape that a property asks for."""
    for key in ("default", "const"):
        if spec.get(key) is not None:
            return spec[key]
    for key in ("examples", "enum"):
        if isinstance(spec.get(key), list) and spec[key]:
            return spec[key][0]
    if spec.get("type") == "array":
        least = spec.get("minItems")
        count = int(min(3, max(1, least))) if is_number(least) else 1
        return [] if depth > MAX_DEPTH else [example_of(resolved(spec.get("items", {}), root), root, depth + 1)] * count
    properties = spec.get("properties")
    if isinstance(properties, Mapping) and depth <= MAX_DEPTH:
        shown = [name for name in required_names(spec) if name in properties] or list(properties)[:3]
        return {str(name): example_of(resolved(properties[name], root), root, depth + 1) for name in shown[:8]}
    kind = spec.get("type")
    return {"integer": 0, "number": 0.0, "boolean": False, "object": {}}.get(kind if isinstance(kind, str) else "", "…")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number that a float can hold; true and false are none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _inner(rest: dict[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a $ref, a single allOf or an "or null" stands for; takes that key out of `rest`."""
    if "$ref" in rest:
        found = referenced(root, rest.pop("$ref"))
        return found if isinstance(found, Mapping) else {}
    for key in ("allOf", "anyOf", "oneOf"):
        options = rest.get(key)
        if not isinstance(options, list):
            continue
        left = (
            options
            if key == "allOf"
            else [o for o in options if not (isinstance(o, Mapping) and o.get("type") == "null")]
        )
        if len(left) == 1 and isinstance(left[0], Mapping):
            del rest[key]
            return left[0]
    return None


def _without_null(spec: dict[str, Any]) -> dict[str, Any]:
    kinds = spec.get("type")
    if isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        spec["type"] = left[0] if len(left) == 1 else None
    return spec
