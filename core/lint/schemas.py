"""Rules about input schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from core.domain.catalog import Json, Tool
from core.domain.lint import Severity
from core.lint.base import ToolRule, listed
from core.shared.json_schema import referenced, schema_fault

_TYPED = ("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "not", "properties", "items")
_DESCRIBED = ("description", "title", "enum", "const", "examples")


class MissingSchema(ToolRule):
    """No input schema at all."""

    id = "missing_schema"
    title = "No input schema"
    severity = Severity.WARNING
    why = "Without a schema a model guesses the arguments, and nothing is checked before a call."
    advice = 'Declare the arguments; a tool without any has {"type": "object", "properties": {}}.'

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return ("The tool declares no input schema.", "", "") if tool.input_schema is None else None


class BrokenSchema(ToolRule):
    """An input schema that is not a JSON Schema."""

    id = "broken_schema"
    title = "Broken input schema"
    severity = Severity.ERROR
    why = "Clients and model endpoints refuse a whole tool list for one schema that is not valid."
    advice = "Repair the schema: it has to be a JSON Schema of type object."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.input_schema is None:
            return None
        if fault := schema_fault(tool.input_schema):
            return f"The input schema {fault}.", "input schema", ""
        kind = tool.input_schema.get("type", "object")
        if kind != "object":
            return f"The input schema is of type {kind}, not object.", "input schema", str(kind)
        return None


class UnknownRequired(ToolRule):
    """A required parameter that is not declared."""

    id = "unknown_required"
    title = "Required but not declared"
    severity = Severity.ERROR
    why = "A model cannot give what it is not told about, so every call lacks it."
    advice = "Declare the parameter, or take it from the list of required ones."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        required = (tool.input_schema or {}).get("required")
        if not isinstance(required, list | tuple) or _composed(tool.input_schema):
            return None
        declared = properties(tool.input_schema)
        unknown = [name for name in cast("list[Any]", required) if isinstance(name, str) and name not in declared]
        if not unknown:
            return None
        return f"Required but not declared: {listed(unknown)}.", "required of the input schema", unknown[0]


class UndescribedParameters(ToolRule):
    """Parameters that say nothing."""

    id = "undescribed_parameters"
    title = "Parameters without a description"
    severity = Severity.NOTE
    why = "A name alone leaves open which unit, format or choice is meant; wrong arguments are failed calls."
    advice = "Describe each parameter in half a sentence with its unit or format."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return _lacking(tool, _described, "have no description")


class UntypedParameters(ToolRule):
    """Parameters of which nothing says what they take."""

    id = "untyped_parameters"
    title = "Parameters without a type"
    severity = Severity.WARNING
    why = "Without a type nothing is checked before a call, and models send text for numbers."
    advice = "Give each parameter a type, an enum or a reference."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return _lacking(tool, lambda details: any(keyword in details for keyword in _TYPED), "have no type")


def properties(schema: Json | None) -> Mapping[str, Any]:
    """The declared parameters of a schema, {} where there are none.

    >>> dict(properties({"properties": {"city": {"type": "string"}}})), dict(properties(None))
    ({'city': {'type': 'string'}}, {})
    """
    return _mapping((schema or {}).get("properties"))


def _lacking(tool: Tool, has: Callable[[Mapping[str, Any]], bool], what: str) -> tuple[str, str, str] | None:
    declared = properties(tool.input_schema)
    lacking = [name for name, details in declared.items() if not any(map(has, _details(tool.input_schema, details)))]
    if not lacking:
        return None
    return (
        f"{len(lacking)} of {len(declared)} parameters {what}: {listed(lacking)}.",
        f"parameter {lacking[0]}",
        lacking[0],
    )


def _details(schema: Json | None, details: object) -> Iterator[Mapping[str, Any]]:
    """The schemas of a parameter: its own, what it refers to, and the alternatives it admits."""
    if not isinstance(details, Mapping):
        yield {"type": "any"} if details is True else {}
        return
    known = cast(Mapping[str, Any], details)
    yield known
    yield _mapping(referenced(schema or {}, known.get("$ref")))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in cast("list[Any]", known.get(keyword)) if isinstance(known.get(keyword), list | tuple) else ():
            if isinstance(option, Mapping):
                yield cast(Mapping[str, Any], option)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _described(details: Mapping[str, Any]) -> bool:
    return any(details.get(keyword) for keyword in _DESCRIBED if keyword != "title")


def _composed(schema: Json | None) -> bool:
    """Whether parameters may be declared elsewhere than under `properties`."""
    return any(keyword in (schema or {}) for keyword in ("allOf", "anyOf", "oneOf", "$ref", "patternProperties"))
