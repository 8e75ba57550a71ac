"""JSON Schemas of strangers: their faults, their references, and the faults of arguments. Fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from cachetools import LRUCache, cached
from jsonschema_rs import ReferencingError, Registry, ValidationError, ValidationErrorKind, Validator, validator_for

Schema = Mapping[str, Any]
MESSAGE_LIMIT = 300
MOST_COMPILED = 256
MOST_PARTS, MOST_CHECKED, MOST_EXPLAINED = 10_000, 50_000_000, 20_000
"""Limits of the parts of a schema, and of schema parts times value parts for a check and for its reasons. Each takes up to half a second."""
TOO_LARGE = f"grows to more than {MOST_PARTS:,} parts when its references are followed"
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS = ("$defs", "definitions")
BASE = "urn:wayfare:schema"  # the $id of a schema without one while its references are followed


def schema_fault(schema: Schema) -> str:
    """The reason why a schema cannot be used, or "".

    >>> schema_fault({"type": "object"}), schema_fault({"type": 7})
    ('', 'is not a valid JSON Schema')
    >>> schema_fault({"$ref": "https://example.org/schema.json"})
    'refers to a schema elsewhere or to a part that it does not have'
    >>> levels = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(26)}
    >>> schema_fault({"$ref": "#/$defs/a0", "$defs": {**levels, "a26": {"type": "integer"}}})
    'grows to more than 10,000 parts when its references are followed'
    """
    if too_large(schema):
        return TOO_LARGE
    try:
        _compiled_schema(schema)
    except ValidationError as error:
        if isinstance(error.kind, ValidationErrorKind.Referencing):
            return "refers to a schema elsewhere or to a part that it does not have"
        return "is not a valid JSON Schema"
    except ValueError:
        return "is not a valid JSON Schema"
    return ""


def too_large(schema: Schema | None) -> bool:
    """Whether a schema has too many parts to be checked, by Wayfare or by a client."""
    return _parts(schema or {})[0] > MOST_PARTS


def object_schema(given: object) -> Schema:
    """Returns a tool's schema in the form that every client reads: of type object, with properties by name. Raises ValueError if the
    schema does not plainly mean this. A missing schema, or the empty list that PHP writes for an empty object, means any object.

    >>> object_schema({}), object_schema({"type": ["object", "null"], "properties": [], "required": None})
    ({'type': 'object'}, {'type': 'object', 'properties': {}})
    """
    document: object = dict[str, Any]() if given is None or given is True or given == [] else given
    if not isinstance(document, Mapping):
        raise ValueError("it is no object")
    schema = {name: value for name, value in cast("Schema", document).items() if value is not None}
    kind, properties, required = (schema.get(name) for name in ("type", "properties", "required"))
    if kind and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError(f"it is of type {kind}, not object")
    if properties and not isinstance(properties, Mapping):
        raise ValueError("its properties have no names")
    schema["type"] = "object"
    if "properties" in schema:
        parts = cast("Schema", properties or {}).items()
        schema["properties"] = {name: part if isinstance(part, Mapping | bool) else {} for name, part in parts}
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[object]", required)):
        schema.pop("required", None)
    if not isinstance(schema.get("$schema"), str):
        schema.pop("$schema", None)
    return schema


def argument_problems(schema: Schema | None, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Problems by field ("" for the whole). Empty if the arguments satisfy the schema.

    An unusable schema (broken, or with a reference to elsewhere) checks nothing. The server then decides.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> argument_problems(schema, {})
    {'n': 'is required'}
    >>> argument_problems(schema, {"n": "x"})
    {'n': '"x" is not of type "integer"'}
    """
    problems: dict[str, str] = {}
    with suppress(ValueError):
        for name, message in _problems(schema or {}, dict(arguments)):
            problems.setdefault(name, message[:MESSAGE_LIMIT])
    return problems


def arguments_fault(schema: Schema | None, arguments: Mapping[str, Any], most: int | None = None) -> str:
    """Returns at most `most` problems of the arguments as a phrase, or "".

    >>> arguments_fault({"required": ["n"]}, {})
    'n is required'
    """
    problems = list(argument_problems(schema, arguments).items())[:most]
    return "; ".join(f"{field or 'arguments'} {text}" for field, text in problems)


def misfit(schema: Schema, value: object) -> str:
    """The first problem of a value and its place, or "" if it satisfies the schema or the schema cannot be used.

    >>> misfit({"properties": {"n": {"items": {"type": "integer"}}}}, {"n": [1, "x"]}), misfit({"type": 5}, {})
    ('n/1: "x" is not of type "integer"', '')
    """
    try:
        fits, explained = _checked(schema, value)
    except ValueError:
        return ""
    if fits or not explained:
        return "" if fits else "there are too many reasons to name one"
    error = next(iter(_compiled_schema(schema).validator.iter_errors(value)))
    where = "/".join(map(str, error.instance_path))
    return f"{where and where + ': '}{error.message}"[:MESSAGE_LIMIT]


def arguments_fit(schema: Schema, arguments: Mapping[str, Any]) -> bool | None:
    """Whether the arguments satisfy the schema. None if the schema cannot be used.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> arguments_fit(schema, {"n": 1}), arguments_fit(schema, {}), arguments_fit({"type": 5}, {})
    (True, False, None)
    """
    try:
        return _checked(schema, dict(arguments))[0]
    except ValueError:
        return None


def referenced(root: Schema, reference: object) -> object:
    """The target of a `$ref` within its schema. {} if it leads elsewhere, to nothing, or is no reference.

    A pointer such as `#/$defs/Place` is followed in any schema, an `$anchor` or `$id` only in a valid schema.

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
    """A check of whether a value satisfies the schema with its formats. Raises ValueError if the schema cannot be used.

    >>> list(map(admitted_by({"type": "string", "format": "date"}), ("2026-02-01", "soon")))
    [True, False]
    """
    if too_large(schema):
        raise ValueError(TOO_LARGE)
    return validator_for(dict(schema), offline=True, validate_formats=True).is_valid


class _Compiled(NamedTuple):
    schema: Schema
    validator: Validator
    parts: int
    recursive: bool


@cached(LRUCache(MOST_COMPILED), key=id, lock=Lock())
def _compiled_schema(schema: Schema) -> _Compiled:
    """Returns the compiled schema, which holds the schema. It is cached by identity, because schemas never change. Raises ValidationError
    (a ValueError) for a broken schema, ValueError for a schema that is nested too deep or has too many parts."""
    parts, recursive = _parts(schema)
    if parts > MOST_PARTS:
        raise ValueError(TOO_LARGE)
    return _Compiled(schema, validator_for(dict(schema), offline=True), parts, recursive)


def _checked(schema: Schema, value: object) -> tuple[bool, bool]:
    """Returns whether a value fits, and whether the reasons can be collected in time. Alternatives multiply their number.
    Raises ValueError if the schema cannot be used, or the value is too large to be checked."""
    _, validator, parts, recursive = _compiled_schema(schema)
    size, depth = _extent(value, MOST_CHECKED // parts)
    if size * parts > MOST_CHECKED:
        raise ValueError("The value is too large to be checked.")
    return validator.is_valid(value), (parts**depth if recursive else parts * size) <= MOST_EXPLAINED


def _extent(value: object, most: int) -> tuple[int, int]:
    """Returns the number of parts of a value, and their depth. Counting ends beyond `most` parts."""
    size, depth, level = 0, 0, [value]
    while level and size <= most:
        size, depth, above, level = size + len(level), depth + 1, level, list[object]()
        for node in above:
            level += (
                cast("Schema", node).values()
                if isinstance(node, dict)
                else cast("list[object]", node if isinstance(node, list) else [])
            )
    return size, depth


def _parts(schema: Schema) -> tuple[int, bool]:
    """Returns the number of parts of a schema with its references followed, and whether a part contains itself (it counts once)."""
    text = str(schema)
    if not any(reference in text for reference in _REFERENCES):
        return text.count("{"), False
    counts: dict[str, int] = {}
    recursive = False

    def parts(node: Any) -> int:
        nonlocal recursive
        if not isinstance(node, Mapping):
            return sum(map(parts, cast("list[Any]", node))) if isinstance(node, list) else 0
        mapping, total = cast("Schema", node), 1
        if "$id" in mapping and isinstance(mapping["$id"], str) and node is not schema:
            return MOST_PARTS + 1  # its references lead elsewhere
        for name, part in mapping.items():
            if name not in _REFERENCES or not isinstance(part, str):
                total += 0 if node is schema and name in _DEFINITIONS else parts(part)
                continue
            recursive |= counts.get(part) == 0
            if part not in counts:
                counts[part] = 0
                counts[part] = parts(referenced(schema, part)) or 1
            total += counts[part] or 1
        return total

    try:
        return parts(schema), recursive
    except RecursionError:
        return MOST_PARTS + 1, True


def _pointed_at(root: Schema, pointer: str) -> object:
    node: Any = root
    for step in unquote(pointer[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = cast("Mapping[str, Any]", node).get(name, {})
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(cast("list[Any]", node)):
            node = cast("list[Any]", node)[int(name)]
        else:
            return {}
    return node


def _fetches_nothing(uri: str) -> Any:
    raise LookupError(uri)


def _problems(schema: Schema, arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    fits, explained = _checked(schema, arguments)
    if fits:
        return
    if not explained:
        fields = {name: part for name, part in schema.items() if name in (*_DEFINITIONS, "$schema", "properties")}
        yield from ((key, "does not fit") for key, value in arguments.items() if not _checked(fields, {key: value})[0])
        yield "", "do not fit the schema"
        return
    for error in _compiled_schema(schema).validator.iter_errors(arguments):
        if isinstance(error.kind, ValidationErrorKind.Required) and not error.instance_path:
            yield error.kind.property, "is required"
        else:
            yield (str(error.instance_path[0]) if error.instance_path else ""), error.message
