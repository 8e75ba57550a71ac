"""Arguments checked against a tool's JSON Schema before anything is sent. References to elsewhere are never fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from core.domain.catalog import Json

_NOTHING_TO_FETCH: Any = cast("Any", Registry)()
MESSAGE_LIMIT = 300
UNUSABLE = (SchemaError, Unresolvable, RecursionError, TypeError, ValueError, AttributeError)
"""What a stranger's schema can make the validator raise: broken, circular, or naming a draft that is none."""


def argument_problems(schema: Json | None, arguments: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong, by field ("" for the whole): empty where the arguments satisfy the schema.

    A schema that cannot be used (broken, or with a reference to elsewhere) checks nothing: the server has the last word.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> argument_problems(schema, {})
    {'n': 'is required'}
    >>> argument_problems(schema, {"n": "x"})
    {'n': "'x' is not of type 'integer'"}
    """
    problems: dict[str, str] = {}
    try:
        for field, message in _problems(dict(schema or {}), dict(arguments)):
            problems.setdefault(field, message[:MESSAGE_LIMIT])
    except UNUSABLE:
        return {}
    return problems


def _problems(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterable[tuple[str, str]]:
    checker: Any = validator_for(schema, default=Draft202012Validator)
    checker.check_schema(schema)
    validator: Validator = checker(schema, registry=_NOTHING_TO_FETCH)
    for error in cast("Iterable[ValidationError]", validator.iter_errors(arguments)):
        if error.validator == "required" and not error.path:
            yield from (
                (name, "is required") for name in cast("list[str]", error.validator_value) if name not in arguments
            )
        else:
            yield (str(error.path[0]) if error.path else ""), error.message
