"""Output schemas: simplified for making a value, and guessed from a tool's name if it declares none."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from core.domain.catalog import Tool, words
from core.domain.english import past_participle, plural
from core.domain.json_schema import referenced
from core.virtual.sample_values import LIMITS, NUMBERS, known_fields, plain_name

# Simplified schemas: references followed, `allOf` merged, one branch of `anyOf`, `oneOf` and `if` chosen.

Schema = dict[str, Any]
NOTHING: Schema = {"enum": []}  # the schema `false` admits no value
_STEPS = 40  # stops references that lead to themselves


@dataclass
class Flattener:
    """Simplifies the parts of one root schema. References are followed within it; others count as empty. `rng` chooses branches."""

    root: Schema
    rng: random.Random

    def flat(self, schema: object, *, deep: bool = False) -> Schema:
        """One object without `$ref`, `allOf`, `anyOf`, `oneOf`, `if`. A `deep` one prefers null."""
        flat = _object(schema)
        for _ in range(_STEPS):
            if "$ref" in flat:
                flat = merged(_object(referenced(self.root, str(flat["$ref"]))), _without(flat, "$ref"))
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
        return self.rng.choice((nulls or others) if deep else (others or nulls) or [{}])

    def _condition(self, flat: Schema) -> Schema:
        rest = _without(flat, "if", "then", "else")
        condition_met = self.rng.random() < 0.5
        if condition_met:
            rest = merged(rest, _object(flat["if"]))
        return merged(rest, _object(flat.get("then" if condition_met else "else", {})))


def merged(first: Schema, second: Schema) -> Schema:
    """A schema with the constraints of both, as far as one object can express them, else those of the second.

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


# Guessed schemas: the verb and the noun of a name.

Shape = Literal["many", "one", "made", "removed", "number", "text"]
SHAPES: dict[Shape, str] = {
    "many": "search find list query browse scan discover recommend suggest retrieve enumerate compare rank match "
    "explore filter crawl history",
    "one": "get read fetch show describe view check look lookup track inspect resolve identify detect analyze analyse "
    "verify validate parse extract open load preview status diff",
    "made": "create add send post book order schedule upload start run submit publish register reserve invite issue "
    "request reply place buy pay insert append import export launch deploy trigger build render generate draw plan "
    "subscribe enroll log record save write push fork clone copy convert update set edit rename move assign mark change "
    "apply merge replace restore enable configure resize share tag pin put patch sync transfer refund draft watch",
    "removed": "delete remove cancel clear drop archive revoke close stop disable unsubscribe purge reject terminate unpin "
    "decline trash",
    "number": "compute calculate count estimate sum average measure score predict subtract multiply divide evaluate",
    "text": "summarise summarize translate transcribe rewrite explain answer format paraphrase proofread correct ask "
    "classify define complete chat compose",
}
VERBS: dict[str, Shape] = {verb: shape for shape, verbs in SHAPES.items() for verb in verbs.split()}
MOST_FIELDS = 6
FILLERS = frozenset({"or", "and", "a", "an", "the", "of", "for", "by", "in", "to", "with", "from", "all"})
CONTROLS = LIMITS | {"offset", "page", "cursor", "sort", "order", "fields", "format", "verbose", "include"}
PRIVATE = ("token", "password", "secret", "card", "passport", "cvv", "pin", "key")


def inferred_schema(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """An output schema that fits the tool's name, description and hints, with fields for its arguments.

    >>> schema = inferred_schema(Tool("shop", "search_books", "Returns title and price."), {"query": "tides"})
    >>> schema["required"], list(schema["properties"]["books"]["items"]["properties"])
    (['query', 'books', 'count'], ['id', 'title', 'price'])
    >>> inferred_schema(Tool("shop", "cancelOrder"), {"order_id": "7"})["properties"]["status"]
    {'const': 'cancelled'}
    """
    verb, shape, noun = _parts(tool)
    repeated: dict[str, Any] = {name: {} for name, value in arguments.items() if _repeatable(name, value)}
    match shape:
        case "many":
            own = {
                plural(noun): {"type": "array", "items": _record(_fields(tool))},
                "count": {"type": "integer"},
            }
        case "one":
            own = _fields(tool)
        case "made":
            time = {"type": "string", "format": "date-time"}
            own = {f"{_singular(noun)}_id": {"type": "string", "pattern": "^[0-9a-f]{8}$"}, "at": time}
        case "removed":
            own = {}
        case "number":
            own = {"result": {"type": "number"}}
        case "text":
            own = {"text": {"type": "string"}}
    if shape in {"made", "removed"}:
        own["status"] = {"const": past_participle(verb)}
    return _record({**repeated, **own})


def _parts(tool: Tool) -> tuple[str, Shape, str]:
    """The verb, its result, and the noun. Without a verb a plural or a limit means many."""
    said = words(tool.name).lower().split()
    verb = next((word for word in said if word in VERBS), "")
    named = [word for word in said if word not in VERBS and word not in FILLERS] or ["result"]
    if verb:
        return verb, VERBS[verb], "_".join(named[:2])
    if tool.hints.read_only is False:
        return "do", "made", "_".join(named[:2])
    many = next((word for word in named if word.endswith("s") and not word.endswith("ss")), "")
    limited = any(plain_name(name) in LIMITS for name in schema_part(tool.input_schema, "properties"))
    return "get", "many" if many or limited else "one", many or "_".join(named[:2])


def schema_part(schema: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    """An object within a schema, empty without one. A stranger's schema may contain anything."""
    part = None if schema is None else schema.get(key)
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _fields(tool: Tool) -> dict[str, Any]:
    """The fields of one record: those that the description mentions, else an id, a name and a description."""
    mentioned = [name for name in known_fields(tool.description) if name not in {"id", "query"}][:MOST_FIELDS]
    names = ["id", *(mentioned if len(mentioned) > 1 else ["name", "description", *mentioned])]
    return {name: {"type": "number"} if name in NUMBERS else {"type": "string"} for name in dict.fromkeys(names)}


def _record(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _repeatable(name: str, value: object) -> bool:
    """Whether a result may repeat an argument: it is short, not private, and not for paging or sorting."""
    short = isinstance(value, str | int | float) and len(str(value)) <= 200
    return short and plain_name(name) not in CONTROLS and not any(word in name.lower() for word in PRIVATE)


def _singular(noun: str) -> str:
    """Simpler than `core.domain.english.singular`, so that field names stay the same."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
