"""From a tool's JSON Schema to the fields of a form. Pure: draws nothing, never raises, whatever the schema says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from dashboard.pages.call.schema import example_of, is_number, required_names, resolved

MAX_FIELDS = 40
MAX_CHOICES = 500
SAFE_INTEGER = 2**53 - 1
LONG_TEXT_CHARS = 300
LONG_FORMATS = frozenset({"textarea", "multiline", "markdown", "html", "json", "yaml", "xml"})
LONG_NAMES = frozenset(
    {"text", "content", "body", "message", "markdown", "html", "code", "sql", "csv", "document", "script", "prompt"}
)


class Unset(Enum):
    """The value of an argument that is not sent."""

    UNSET = "not sent"


UNSET = Unset.UNSET


class Kind(StrEnum):
    """The widget that a field needs."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Field:
    """One argument: what it is, what it may be, and a compact example where it is typed as JSON."""

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
        """Title, description and limits in one text."""
        parts = [part.strip() for part in (self.title, self.description, self.limits) if part.strip()]
        return " – ".join(dict.fromkeys(parts))


def form_fields(schema: object) -> tuple[Field, ...] | None:
    """The fields of a form, required ones first; None where the arguments can only be edited as one JSON object.

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
    every = dict.fromkeys([*properties, *names])
    fields = [_field(str(name), properties.get(name, True), schema, name in names) for name in every]
    return tuple(sorted(fields, key=lambda field: not field.required))


def _takes_nothing(schema: Mapping[str, Any]) -> bool:
    says_object = schema.get("type") == "object" and not {"anyOf", "oneOf", "patternProperties"} & schema.keys()
    return says_object and schema.get("additionalProperties", False) is False


def _field(name: str, raw: object, root: Mapping[str, Any], required: bool) -> Field:
    spec = resolved(raw, root)
    kind, choices = _kind(name, spec)
    step = spec.get("multipleOf")
    return Field(
        name,
        kind,
        required,
        title=_text(spec, "title"),
        description=_text(spec, "description"),
        default=UNSET if spec.get("default") is None else spec["default"],
        choices=choices,
        step=step if is_number(step) and 0 < step < SAFE_INTEGER else None,
        limits=_limits(spec),
        example=_compact(example_of({**spec, "default": None}, root)) if kind is Kind.JSON else "",
        secret=spec.get("format") == "password" or spec.get("writeOnly") is True,
    )


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
    known = {"integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}
    return (known.get(kind, Kind.JSON) if isinstance(kind, str) else Kind.JSON), ()


def _is_long(name: str, spec: Mapping[str, Any]) -> bool:
    longest, default = spec.get("maxLength"), spec.get("default")
    multiline = isinstance(default, str) and ("\n" in default or len(default) > 80)
    return (
        multiline
        or "contentMediaType" in spec
        or str(spec.get("format")) in LONG_FORMATS
        or (longest > LONG_TEXT_CHARS if is_number(longest) else name.lower() in LONG_NAMES)
    )


def _limits(spec: Mapping[str, Any]) -> str:
    """The declared limits in words, as in "at least 1, at most 100"."""
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
        "minLength": "at least {} characters",
        "maxLength": "at most {} characters",
        "minItems": "at least {} items",
        "maxItems": "at most {} items",
    }
    return ", ".join(phrase.format(_number(spec[key])) for key, phrase in words.items() if is_number(spec.get(key)))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**9 else f"{value:g}"


def _text(spec: Mapping[str, Any], key: str) -> str:
    return spec[key] if isinstance(spec.get(key), str) else ""


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:200]
