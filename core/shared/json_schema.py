"""JSON Schemas of strangers: usable or not, where references lead, what arguments do not satisfy. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, cast
from urllib.parse import unquote

from cachetools import LRUCache
from jsonschema_rs import ReferencingError, Registry, ValidationError, ValidationErrorKind, Validator, validator_for

Schema = Mapping[str, Any]
MESSAGE_LIMIT = 300
MOST_COMPILED = 256
_compiled: LRUCache[int, tuple[Schema, Validator]] = LRUCache(MOST_COMPILED)
_compiling = Lock()
BASE = "urn:wayfare:schema"  # what a schema without an $id is called while its references are followed


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


def arguments_fault(schema: Schema | None, arguments: Mapping[str, Any], most: int | None = None) -> str:
    """Returns at most so many problems of the arguments as a phrase, or "".

    >>> arguments_fault({"required": ["n"]}, {})
    'n is required'
    """
    problems = list(argument_problems(schema, arguments).items())[:most]
    return "; ".join(f"{field or 'arguments'} {text}" for field, text in problems)


def misfit(schema: Schema, value: object) -> str:
    """What is wrong with a value and where; "" where it satisfies the schema, or the schema cannot be used.

    >>> misfit({"properties": {"n": {"items": {"type": "integer"}}}}, {"n": [1, "x"]}), misfit({"type": 5}, {})
    ('n/1: "x" is not of type "integer"', '')
    """
    try:
        error = next(iter(_validator(schema).iter_errors(value)), None)
    except ValueError:
        return ""
    where = "" if error is None else "/".join(map(str, error.instance_path))
    return "" if error is None else f"{where and where + ': '}{error.message}"[:MESSAGE_LIMIT]


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


def referenced(root: Schema, reference: object) -> object:
    """What a `$ref` leads to within its schema; {} where it leads elsewhere, to nothing, or is no reference at all.

    A pointer such as `#/$defs/Place` is followed in any schema, an `$anchor` or `$id` only in one that is valid.

    >>> places = {"$defs": {"Place": {"type": "string"}, "Any": True, "Here": {"$anchor": "here", "const": 1}}}
    >>> referenced(places, "#/$defs/Place"), referenced(places, "#/$defs/Any"), referenced(places, "#here")
    ({'type': 'string'}, True, {'$anchor': 'here', 'const': 1})
    >>> referenced(places, "#/$defs/Nowhere"), referenced(places, "https://example.org/place.json"), referenced(places, 7)
    ({}, {}, {})
    """
    if not isinstance(reference, str):
        return {}
    if reference == "#" or reference.startswith("#/"):
        return _pointed_at(root, reference)
    base = str(root.get("$id", BASE))
    with suppress(ReferencingError, ValueError):
        return Registry([(base, dict(root))], retriever=_fetches_nothing).resolver(base).lookup(reference).contents
    return {}


def admitted_by(schema: Schema) -> Callable[[object], bool]:
    """Whether a value satisfies the schema, formats included. Raises ValueError where the schema cannot be used.

    >>> list(map(admitted_by({"type": "string", "format": "date"}), ("2026-02-01", "soon")))
    [True, False]
    """
    return validator_for(dict(schema), offline=True, validate_formats=True).is_valid


def _validator(schema: Schema) -> Validator:
    """Returns the compiled schema. No schema changes, so each is compiled once while it is in use. Raises ValidationError
    (a ValueError) for a broken schema, ValueError for one that is nested too deep."""
    with _compiling:
        known = _compiled.get(id(schema))
    if known is None or known[0] is not schema:
        known = schema, validator_for(dict(schema), offline=True)
        with _compiling:
            _compiled[id(schema)] = known
    return known[1]


def _pointed_at(root: Schema, pointer: str) -> object:
    found: Any = root
    for step in unquote(pointer[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = cast("Mapping[str, Any]", found).get(name, {})
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(name)]
        else:
            return {}
    return found


def _fetches_nothing(uri: str) -> Any:
    raise LookupError(uri)


def _problems(validator: Validator, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for error in validator.iter_errors(dict(arguments)):
        if isinstance(error.kind, ValidationErrorKind.Required) and not error.instance_path:
            yield error.kind.property, "is required"
        else:
            yield (str(error.instance_path[0]) if error.instance_path else ""), error.message
