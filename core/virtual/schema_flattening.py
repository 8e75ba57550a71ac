"""Schemas made simple: references followed, `allOf` merged, one branch of `anyOf`, `oneOf` and `if` chosen."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, cast

from core.shared.json_schema import referenced

Schema = dict[str, Any]
NOTHING: Schema = {"enum": []}  # the schema `false` admits no value
_STEPS = 40  # a reference that leads to itself is followed no further


class Flattener:
    """Simplifies the parts of one root schema. References are followed within it; others count as empty. `rng` chooses branches."""

    def __init__(self, root: Schema, rng: random.Random) -> None:
        self._root = root
        self._rng = rng

    def flat(self, schema: object, *, deep: bool = False) -> Schema:
        """One object without `$ref`, `allOf`, `anyOf`, `oneOf`, `if`. Where it is `deep` already, null is preferred."""
        flat = _object(schema)
        for _ in range(_STEPS):
            if "$ref" in flat:
                flat = merged(_object(referenced(self._root, str(flat["$ref"]))), _without(flat, "$ref"))
            elif "allOf" in flat:
                parts, flat = flat["allOf"], _without(flat, "allOf")
                for part in parts:
                    flat = merged(flat, _object(part))
            elif key := next((key for key in ("anyOf", "oneOf") if key in flat), ""):
                branch = self._branch([_object(one) for one in flat[key]], deep=deep)
                flat = merged(_without(flat, key), branch)
            elif "if" in flat:
                flat = self._condition(flat)
            else:
                return flat
        return _without(flat, "$ref", "allOf", "anyOf", "oneOf", "if")

    def _branch(self, branches: list[Schema], *, deep: bool) -> Schema:
        nulls = [one for one in branches if one.get("type") == "null"]
        others = [one for one in branches if one.get("type") != "null"]
        return self._rng.choice((nulls or others) if deep else (others or nulls) or [{}])

    def _condition(self, flat: Schema) -> Schema:
        rest = _without(flat, "if", "then", "else")
        condition_met = self._rng.random() < 0.5
        if condition_met:
            rest = merged(rest, _object(flat["if"]))
        return merged(rest, _object(flat.get("then" if condition_met else "else", {})))


def merged(first: Schema, second: Schema) -> Schema:
    """A schema with the constraints of both, as far as one object can express them; otherwise those of the second.

    >>> merged({"minimum": 1, "required": ["a"]}, {"minimum": 3, "required": ["b"]})
    {'minimum': 3, 'required': ['a', 'b']}
    """
    both = {key: _JOINED[key](first[key], second[key]) for key in first.keys() & second.keys() & _JOINED.keys()}
    return {**first, **second, **both}


def _properties(first: Schema, second: Schema) -> Schema:
    shared = {name: merged(_object(first[name]), _object(second[name])) for name in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _types(first: object, second: object) -> object:
    one, other = _list(first), _list(second)
    whole = ["integer"] if "integer" in {*one, *other} and "number" in {*one, *other} else []  # an integer is a number
    return [name for name in one if name in other] or whole or second


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


_JOINED: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": lambda a, b: list(dict.fromkeys([*a, *b])),
    "enum": lambda a, b: [value for value in a if value in b],
    "type": _types,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def _object(schema: object) -> Schema:
    if isinstance(schema, Mapping):
        return dict(cast("Mapping[str, Any]", schema))
    return NOTHING if schema is False else {}


def _without(schema: Schema, *keys: str) -> Schema:
    return {key: value for key, value in schema.items() if key not in keys}
