"""The input schema of a tool as the fields of a form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, TypeGuard

from core.domain.json_schema import referenced

MAX_REFERENCES = 8
MAX_DEPTH = 2


def required_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    required = schema.get("required")
    return tuple(name for name in required if isinstance(name, str)) if isinstance(required, list | tuple) else ()


def skeleton(schema: object) -> dict[str, Any]:
    """Returns JSON to start from: every default, and an example for other required arguments.

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
    """Returns a property with local references, single allOf and "or null" resolved, or {} if it is unusable."""
    for _ in range(MAX_REFERENCES):
        if not isinstance(spec, Mapping):
            return {}
        rest = dict(spec)
        inner = _inner(rest, root)
        if inner is None:
            kinds = rest.get("type")
            if isinstance(kinds, list):
                types = [kind for kind in kinds if kind != "null"]
                rest["type"] = types[0] if len(types) == 1 else None
            return rest
        spec = {**inner, **rest}
    return {}


def example_of(spec: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Any:
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
        names = [name for name in required_names(spec) if name in properties] or list(properties)[:3]
        return {str(name): example_of(resolved(properties[name], root), root, depth + 1) for name in names[:8]}
    kind = spec.get("type")
    return {"integer": 0, "number": 0.0, "boolean": False, "object": {}}.get(kind if isinstance(kind, str) else "", "…")


def is_number(value: object) -> TypeGuard[int | float]:
    """Tells whether a value is a finite number that a float can hold. Booleans are not numbers."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _inner(rest: dict[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the schema behind a $ref, a single allOf or an "or null", and removes that key from `rest`."""
    if "$ref" in rest:
        target = referenced(root, rest.pop("$ref"))
        return target if isinstance(target, Mapping) else {}
    for key in ("allOf", "anyOf", "oneOf"):
        options = rest.get(key)
        if not isinstance(options, list):
            continue
        schemas = (
            options
            if key == "allOf"
            else [option for option in options if not (isinstance(option, Mapping) and option.get("type") == "null")]
        )
        if len(schemas) == 1 and isinstance(schemas[0], Mapping):
            del rest[key]
            return schemas[0]
    return None


MAX_FIELDS = 40
MAX_CHOICES = 500
SAFE_INTEGER = 2**53 - 1
LONG_TEXT_CHARS = 300
LONG_FORMATS = frozenset({"textarea", "multiline", "markdown", "html", "json", "yaml", "xml"})
LONG_NAMES = frozenset(
    {"text", "content", "body", "message", "markdown", "html", "code", "sql", "csv", "document", "script", "prompt"}
)


class Unset(Enum):
    UNSET = "not sent"


UNSET = Unset.UNSET


class Kind(StrEnum):
    TEXT = "text"
    LONG_TEXT = "long_text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Field:
    """An argument with its limits, and a compact example if it is entered as JSON."""

    name: str
    kind: Kind
    required: bool = False
    title: str = ""
    description: str = ""
    default: Any = UNSET
    choices: tuple[Any, ...] = ()
    step: float | None = None
    limits: str = ""
    example: str = ""
    secret: bool = False

    @property
    def help(self) -> str:
        parts = [part.strip() for part in (self.title, self.description, self.limits) if part.strip()]
        return " – ".join(dict.fromkeys(parts))


def form_fields(schema: object) -> tuple[Field, ...] | None:
    """Returns the fields of a form, required fields first, or None if the arguments need to be edited as JSON.

    >>> schema = {"properties": {"n": {"type": "integer"}, "to": {"type": "string"}}, "required": ["to"]}
    >>> [(f.name, f.kind.value, f.required) for f in form_fields(schema)]
    [('to', 'text', True), ('n', 'integer', False)]
    >>> form_fields(True) is None
    True
    """
    if not isinstance(schema, Mapping) or "$ref" in schema or "allOf" in schema:
        return None
    properties = schema.get("properties", {})
    names = required_names(schema)
    if not isinstance(properties, Mapping) or len({*properties, *names}) > MAX_FIELDS:
        return None
    if not properties and not names and not _takes_nothing(schema):
        return None
    all_names = dict.fromkeys([*properties, *names])
    fields = [_field(str(name), properties.get(name, True), schema, name in names) for name in all_names]
    return tuple(sorted(fields, key=lambda field: not field.required))


def _takes_nothing(schema: Mapping[str, Any]) -> bool:
    says_object = schema.get("type") == "object" and not {"anyOf", "oneOf", "patternProperties"} & schema.keys()
    return says_object and schema.get("additionalProperties", False) is False


def _field(name: str, raw: object, root: Mapping[str, Any], required: bool) -> Field:
    spec = resolved(raw, root)
    kind, choices = _kind(name, spec)
    step = spec.get("multipleOf")
    return Field(
        name, kind, required, title=_text(spec, "title"), description=_text(spec, "description"),
        default=UNSET if spec.get("default") is None else spec["default"], choices=choices,
        step=step if is_number(step) and 0 < step < SAFE_INTEGER else None, limits=_limits(spec),
        example=json.dumps(example_of({**spec, "default": None}, root), ensure_ascii=False, default=str)[:200]
        if kind is Kind.JSON else "",
        secret=spec.get("format") == "password" or spec.get("writeOnly") is True,
    )  # fmt: skip


def _kind(name: str, spec: Mapping[str, Any]) -> tuple[Kind, tuple[Any, ...]]:
    options = [spec["const"]] if "const" in spec else spec.get("enum")
    if isinstance(options, list) and options:
        choices = tuple(option for option in options if option is not None)
        simple = all(isinstance(option, str | int | float) for option in choices)
        return (Kind.CHOICE, choices) if choices and simple and len(choices) <= MAX_CHOICES else (Kind.JSON, ())
    if {"anyOf", "oneOf", "allOf", "not", "$ref"} & spec.keys():
        return Kind.JSON, ()
    kind = spec.get("type")
    if kind == "string":
        return (Kind.LONG_TEXT if _is_long(name, spec) else Kind.TEXT), ()
    kinds = {"integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}
    return (kinds.get(kind, Kind.JSON) if isinstance(kind, str) else Kind.JSON), ()


def _is_long(name: str, spec: Mapping[str, Any]) -> bool:
    longest, default = spec.get("maxLength"), spec.get("default")
    multiline = isinstance(default, str) and ("\n" in default or len(default) > 80)
    return (
        multiline
        or "contentMediaType" in spec
        or str(spec.get("format")) in LONG_FORMATS
        or (longest > LONG_TEXT_CHARS if is_number(longest) else name.lower() in LONG_NAMES)
    )


FORMATS = {
    "date": "a date like 2026-05-31", "date-time": "a time like 2026-05-31T09:00:00Z", "time": "a time like 09:00:00Z",
    "uri": "an address with https://", "email": "an e-mail address",
}  # fmt: skip
SHOWN_PATTERN = 40  # characters


def _limits(spec: Mapping[str, Any]) -> str:
    """Returns the declared limits in words, as in "at least 1, at most 100".

    >>> _limits({"type": "string", "pattern": "^[A-Z]{3}$"}), _limits({"type": "string", "format": "date"})
    ('matches ^[A-Z]{3}$', 'a date like 2026-05-31')
    """
    words = {
        "minimum": "at least {}", "exclusiveMinimum": "more than {}", "maximum": "at most {}",
        "exclusiveMaximum": "less than {}", "minLength": "at least {} characters", "maxLength": "at most {} characters",
        "minItems": "at least {} items", "maxItems": "at most {} items",
    }  # fmt: skip
    bounds = [phrase.format(_number(spec[key])) for key, phrase in words.items() if is_number(spec.get(key))]
    pattern = _text(spec, "pattern")
    forms = [FORMATS.get(_text(spec, "format"), ""), f"matches {pattern}" if 0 < len(pattern) <= SHOWN_PATTERN else ""]
    return ", ".join([*filter(None, forms), *bounds])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**9 else f"{value:g}"


def _text(spec: Mapping[str, Any], key: str) -> str:
    return spec[key] if isinstance(spec.get(key), str) else ""
