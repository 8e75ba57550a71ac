"""JSON Schemas of strangers: usable or not, and what arguments do not satisfy. References to elsewhere are never fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind, Validator, validator_for

Schema = Mapping[str, Any]
MESSAGE_LIMIT = 300


def schema_fault(schema: Schema) -> str:
    """Why nothing can be checked against a schema; "" where it can.

    >>> schema_fault({"type": "object"}), schema_fault({"type": 7})
    ('', 'is not a valid JSON Schema')
    >>> schema_fault({"$ref": "https://example.org/schema.json"})
    'refers to a schema elsewhere or to a part that it does not have'
    """
    try:
        _validator(schema)
    except ValidationError as error:
        if isinstance(error.kind, ValidationErrorKind.Referencing):
            return "refers to a schema elsewhere or to a part that it does not have"
        return "is not a valid JSON Schema"
    except ValueError:
        return "is not a valid JSON Schema"
    return ""


def argument_problems(schema: Schema | None, arguments: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong, by field ("" for the whole): empty where the arguments satisfy the schema.

    A schema that cannot be used (broken, or with a reference to elsewhere) checks nothing: the server has the last word.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> argument_problems(schema, {})
    {'n': 'is required'}
    >>> argument_problems(schema, {"n": "x"})
    {'n': '"x" is not of type "integer"'}
    """
    problems: dict[str, str] = {}
    try:
        for field, message in _problems(_validator(schema or {}), arguments):
            problems.setdefault(field, message[:MESSAGE_LIMIT])
    except ValueError:
        return {}
    return problems


def arguments_fit(schema: Schema, arguments: Mapping[str, Any]) -> bool | None:
    """Whether the arguments satisfy the schema; None where the schema itself cannot be used.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> arguments_fit(schema, {"n": 1}), arguments_fit(schema, {}), arguments_fit({"type": 5}, {})
    (True, False, None)
    """
    try:
        return _validator(schema).is_valid(dict(arguments))
    except ValueError:
        return None


def admitted_by(schema: Schema) -> Callable[[object], bool]:
    """Whether a value satisfies the schema, formats included. Raises ValueError where the schema cannot be used.

    >>> list(map(admitted_by({"type": "string", "format": "date"}), ("2026-02-01", "soon")))
    [True, False]
    """
    return validator_for(dict(schema), offline=True, validate_formats=True).is_valid


def _validator(schema: Schema) -> Validator:
    """Raises ValidationError (a ValueError) for a broken schema, ValueError for one that is nested too deep."""
    return validator_for(dict(schema), offline=True)


def _problems(validator: Validator, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for error in validator.iter_errors(dict(arguments)):
        if isinstance(error.kind, ValidationErrorKind.Required) and not error.instance_path:
            yield error.kind.property, "is required"
        else:
            yield (str(error.instance_path[0]) if error.instance_path else ""), error.message
