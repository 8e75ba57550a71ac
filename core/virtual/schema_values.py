"""A plausible value that satisfies a JSON Schema. Names decide on texts and numbers; fields named like an argument repeat it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.domain.json_schema import admitted_by, referenced
from core.virtual.sample_values import (
    LIMITS,
    NUMBERS,
    TEXTS,
    Plausible,
    by_word,
    matching_text,
    named,
    plain_name,
    topic_of,
)

Schema = dict[str, Any]
NOTHING: Schema = {"enum": []}  # the schema `false` admits no value
_STEPS = 40  # stops references that lead to themselves


@dataclass
class Flattener:
    """Simplifies the parts of one root schema. References are followed within it; others count as empty. `rng` chooses branches."""

    root: Schema
    rng: random.Random

    def flat(self, schema: object, *, deep: bool = False) -> Schema:
        """Returns one object without `$ref`, `allOf`, `anyOf`, `oneOf`, `if`. With `deep` it prefers null."""
        flat = _object(schema)
        for _ in range(_STEPS):
            if "$ref" in flat:
                flat = merged(_object(referenced(self.root, str(flat["$ref"]))), _without(flat, "$ref"))
            elif "allOf" in flat:
                parts, flat = flat["allOf"], _without(flat, "allOf")
                for member in parts:
                    flat = merged(flat, _object(member))
            elif key := next((key for key in ("anyOf", "oneOf") if key in flat), ""):
                branch = self._branch([_object(option) for option in flat[key]], deep=deep)
                flat = merged(_without(flat, key), branch)
            elif "if" in flat:
                flat = self._condition(flat)
            else:
                return flat
        return _without(flat, "$ref", "allOf", "anyOf", "oneOf", "if")

    def _branch(self, branches: list[Schema], *, deep: bool) -> Schema:
        nulls = [branch for branch in branches if branch.get("type") == "null"]
        others = [branch for branch in branches if branch.get("type") != "null"]
        return self.rng.choice((nulls or others) if deep else (others or nulls) or [{}])

    def _condition(self, flat: Schema) -> Schema:
        rest = _without(flat, "if", "then", "else")
        condition_met = self.rng.random() < 0.5
        if condition_met:
            rest = merged(rest, _object(flat["if"]))
        return merged(rest, _object(flat.get("then" if condition_met else "else", {})))


def merged(first: Schema, second: Schema) -> Schema:
    """Joins the constraints of both schemas. If one object cannot express both, the second schema counts.

    >>> merged({"minimum": 1, "required": ["a"]}, {"minimum": 3, "required": ["b"]})
    {'minimum': 3, 'required': ['a', 'b']}
    """
    both = {key: _JOINED[key](first[key], second[key]) for key in first.keys() & second.keys() & _JOINED.keys()}
    return {**first, **second, **both}


def _properties(first: Schema, second: Schema) -> Schema:
    shared = {name: merged(_object(first[name]), _object(second[name])) for name in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _types(first: object, second: object) -> object:
    types, other_types = _list(first), _list(second)
    whole = (
        ["integer"] if "integer" in {*types, *other_types} and "number" in {*types, *other_types} else []
    )  # an integer is a number
    return [name for name in types if name in other_types] or whole or second


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


SPAN = 100.0  # range beside a single bound


def number(schema: Schema, name: str, plausible: Plausible, *, whole: bool = False) -> float | int:
    """A number that fits the schema's bounds and steps, near the number that the name suggests.

    >>> number({"minimum": 3, "exclusiveMaximum": 5, "multipleOf": 2}, "n", Plausible(random.Random(1)), whole=True)
    4
    """
    low, high = _bounds(schema, whole=whole)
    value = named(NUMBERS, name, plausible)
    if value is None or not low <= value <= high:
        value = _drawn(low, high, plausible)
    step = schema.get("multipleOf", 1 if whole else None)
    if step is None:
        value = round(value, 2) if low <= round(value, 2) <= high else value
    else:
        step = 1 if whole and isinstance(step, float) and not step.is_integer() else step
        nearest = round(value / step)
        nearest = nearest if math.isinf(low) else max(nearest, math.ceil(low / step))
        nearest = nearest if math.isinf(high) else min(nearest, math.floor(high / step))
        value = nearest * step
    return int(value) if whole or float(value).is_integer() else value


def _bounds(schema: Schema, *, whole: bool) -> tuple[float, float]:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    nudge = 1 if whole else 1e-6
    if isinstance(above, int | float) and not isinstance(above, bool):
        low = max(above + nudge, low)
    if isinstance(below, int | float) and not isinstance(below, bool):
        high = min(below - nudge, high)
    return low, high


def _drawn(low: float, high: float, plausible: Plausible) -> float:
    if math.isinf(low) and math.isinf(high):
        return plausible.rng.randrange(1, int(SPAN))
    start = high - SPAN if math.isinf(low) else low
    return plausible.rng.uniform(start, start + SPAN if math.isinf(high) else high)


LONGEST, SHORT = 100_000, 1_000
FORMATS: dict[str, Callable[[Plausible], str]] = by_word({
    "date-time": TEXTS["time"],
    "date": TEXTS["date"],
    "time": lambda p: f"{p.time():%H:%M:%S}Z",
    "duration": lambda p: f"PT{p.rng.randrange(1, 12)}H{p.rng.randrange(60)}M",
    "email idn-email": TEXTS["email"],
    "uri iri url": TEXTS["url"],
    "uri-reference iri-reference": lambda p: f"/{p.identifier()}",
    "uri-template": lambda _: "/items/{id}",
    "hostname idn-hostname": lambda p: f"{p.fake.user_name()}.example.org",
    "ipv4": lambda p: f"192.0.2.{p.rng.randrange(1, 255)}",
    "ipv6": lambda p: f"2001:db8::{p.rng.randrange(1, 0xFFFF):x}",
    "uuid": lambda p: _uuid(f"{p.rng.getrandbits(128):032x}"),
    "json-pointer": lambda p: f"/{p.identifier()}/0",
    "relative-json-pointer": lambda _: "0/id",
    "regex": lambda _: "^[a-z]+$",
    "byte": TEXTS["base64"],
})  # fmt: skip


def text(schema: Schema, name: str, plausible: Plausible) -> str:
    """A text that fits the schema.

    >>> text({"format": "date"}, "", Plausible(random.Random(1)))
    '2026-02-19'
    >>> len(text({"minLength": 50, "maxLength": 60}, "title", Plausible(random.Random(1)))) in range(50, 61)
    True
    """
    form, pattern = FORMATS.get(str(schema.get("format", ""))), schema.get("pattern")
    if schema.get("contentEncoding") == "base64":
        return TEXTS["base64"](plausible)
    if isinstance(pattern, str):
        form = None
        if (matching := matching_text(pattern, plausible.rng)) is not None:
            return matching
    if form is not None:
        return form(plausible)
    suggested = named(TEXTS, name, plausible)
    words = plausible.title() if suggested is None else suggested
    least, most = whole(schema, "minLength", 0), whole(schema, "maxLength", LONGEST)
    while len(words) < least:
        words = f"{words} {plausible.sentences() if len(words) < SHORT else words}"
    if len(words) > most:
        words = words[:most].rstrip() if len(words[:most].rstrip()) >= least else words[:most]
    return words


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def whole(schema: Schema, key: str, otherwise: int) -> int:
    """A count of the schema, at most a hundred thousand, because a stranger's schema must not fill the memory."""
    return min(int(schema.get(key, otherwise)), LONGEST)


TRIES = 30
DEEP, ENDLESS = 5, 60  # levels of objects; beyond DEEP only required fields are made
MOST_VALUES = 1_000  # in one result; further values count as deep, and are made only if they are required
MOST_REQUIRED = 2_000
CHARS_PER_VALUE = 100  # a longer text counts as several values
RECORDS = (2, 4)
FREE = ("id", "name", "status", "note", "date", "value", "unit", "label", *(f"field_{n}" for n in range(1, 30)))
COUNTS = frozenset({"count", "total", "totalresults", "found"})
QUIET = frozenset({"error", "errors", "truncated", "more", "warning", "dry", "deleted_at", "expired", "blocked"})


class NoValueError(Exception):
    """No value fits the schema, because it contradicts itself or is no schema."""


def value_for(schema: Mapping[str, Any], rng: random.Random, arguments: Mapping[str, Any] | None = None) -> Any:
    """A value that the schema admits, equal for equal generators. Fields named like an argument repeat it.

    Raises NoValueError.

    >>> schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}}}
    >>> value_for(schema, random.Random(3), {"city": "Oslo", "days": 4})
    {'city': 'Oslo', 'days': 4}
    """
    root = dict(schema)
    try:
        fits = admitted_by(root)
    except ValueError as error:
        raise NoValueError(f"the schema cannot be used: {error}") from None
    for number_of_try in range(TRIES):
        value = _Builder(root, rng, arguments or {}, daring=number_of_try > 0).value(root)
        if fits(value):
            return value
    raise NoValueError("no value was found that fits the schema")


class _Builder:
    """Makes one value. A `daring` builder tries other types than text for a schema without a type."""

    def __init__(self, root: Schema, rng: random.Random, arguments: Mapping[str, Any], *, daring: bool) -> None:
        self._rng = rng
        self._daring = daring
        self._left = MOST_VALUES
        self._lists = 0  # lists around the current value
        self._echo = {plain_name(name): value for name, value in arguments.items() if value is not None}
        self._flattener = Flattener(root, rng)
        self._plausible = Plausible(rng, topic_of(arguments))
        limits = [v for name, v in self._echo.items() if name in LIMITS and isinstance(v, int) and v > 0]
        self._records = (min(RECORDS[0], *limits), min(RECORDS[1], *limits)) if limits else RECORDS
        self._makers: dict[str, Callable[[Schema, str, int], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": self._text,
            "number": lambda schema, name, _: number(schema, name, self._plausible),
            "integer": lambda schema, name, _: number(schema, name, self._plausible, whole=True),
            "boolean": lambda _, name, __: not QUIET & set(_parts(name)) and self._rng.random() < 0.8,
            "null": lambda _, __, ___: None,
        }

    def value(self, schema: object, name: str = "", depth: int = 0) -> Any:
        if depth > ENDLESS:
            raise NoValueError("it requires endless nesting")
        if self._left < -MOST_REQUIRED:
            raise NoValueError(f"it requires more than {MOST_REQUIRED:,} values")
        self._left -= 1
        depth = depth if self._left > 0 else max(depth, DEEP + 1)
        flat = self._flattener.flat(schema, deep=depth > DEEP)
        echo = self._echo.get(plain_name(name)) if name else None
        own_id = self._lists > 0 and plain_name(name).endswith("id")  # the records of a list have ids of their own
        if echo is not None and not own_id and _fits(flat, echo):
            return echo
        if "const" in flat:
            return flat["const"]
        if flat.get("enum"):
            return self._rng.choice(flat["enum"])
        if flat.get("examples") and (depth == 0 or self._rng.random() < 0.5):
            return self._rng.choice(flat["examples"])
        return self._makers[self._kind(flat)](flat, name, depth)

    def _kind(self, flat: Schema) -> str:
        types = flat.get("type")
        kinds = [types] if isinstance(types, str) else [kind for kind in types or () if kind != "null"] or ["null"]
        if types is None:
            shapes = {"properties": "object", "required": "object", "additionalProperties": "object", "items": "array",
                      "prefixItems": "array", "minimum": "number", "maximum": "number"}  # fmt: skip
            kinds = [kind for key, kind in shapes.items() if key in flat]
            kinds = kinds or [self._rng.choice(list(self._makers)) if self._daring else "string"]
        return kinds[0] if kinds[0] in self._makers else "string"

    def _text(self, flat: Schema, name: str, _depth: int) -> str:
        words = text(flat, name, self._plausible)
        self._left -= len(words) // CHARS_PER_VALUE
        return words

    def _object(self, flat: Schema, _name: str, depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = flat.get("properties", {})
        required: list[str] = flat.get("required", [])
        optional = [] if depth > DEEP else [name for name in properties if name not in required]
        fields = {
            name: self.value(properties.get(name, flat.get("additionalProperties", {})), name, depth + 1)
            for name in (*required, *(name for name in optional if self._rng.random() < 0.9))
            if properties.get(name) is not False
        }
        self._fill_up(flat, fields, depth)
        self._count(properties, fields)
        return {name: fields[name] for name in (*properties, *fields) if name in fields}

    def _count(self, properties: Schema, fields: dict[str, Any]) -> None:
        """If there is a single list, fields for counts get its length."""
        lists = [cast("list[Any]", value) for value in fields.values() if isinstance(value, list)]
        for name in [name for name in fields if plain_name(name) in COUNTS] if len(lists) == 1 else ():
            flat = self._flattener.flat(properties.get(name, {}))
            if flat.get("type") == "integer" and _fits(flat, len(lists[0])):
                fields[name] = len(lists[0])

    def _fill_up(self, flat: Schema, fields: dict[str, Any], depth: int) -> None:
        """Add properties with free names, as many as the schema requires, or two if it declares none."""
        extra = flat.get("additionalProperties")
        free = 0 if extra is False or flat.get("properties") or flat.get("patternProperties") or depth > DEEP else 2
        size = min(max(whole(flat, "minProperties", 0), len(fields) + free), whole(flat, "maxProperties", MOST_VALUES))
        names: Schema | bool = flat.get("propertyNames", True)
        regexes: dict[str, Any] = flat.get("patternProperties", {})
        for number_of_try in range(4 * max(0, size - len(fields))):
            if len(fields) >= size:
                return
            regex = self._rng.choice(list(regexes)) if regexes else ""
            rule: Schema = {"pattern": regex} if regex else names if isinstance(names, dict) else {}
            name = str(self.value({"type": "string", **rule})) if rule else FREE[number_of_try % len(FREE)]
            if name in fields and not regex.endswith("$"):
                name += FREE[number_of_try % len(FREE)]
            fields.setdefault(name, self.value(regexes.get(regex, extra if extra is not None else {}), name, depth + 1))

    def _array(self, flat: Schema, name: str, depth: int) -> list[Any]:
        items: Any = flat.get("items", {})
        prefix: list[Any] = flat.get("prefixItems", [])
        if isinstance(items, list):  # older drafts
            prefix, items = cast("list[Any]", items), flat.get("additionalItems", {})
        least, most = whole(flat, "minItems", 0), whole(flat, "maxItems", MOST_VALUES)
        low, high = (0, 0) if depth > DEEP else self._records
        size = min(max(self._rng.randint(low, high), least, len(prefix)), most)
        self._lists += 1
        values = [self.value(schema, name, depth + 1) for schema in prefix][:size]
        if "contains" in flat and len(values) < size:
            values.append(self.value(flat["contains"], name, depth + 1))
        for _ in range(8 * size if items is not False else 0):
            if len(values) >= size:
                break
            item = self.value(items, name, depth + 1)
            if not (flat.get("uniqueItems") and item in values):
                values.append(item)
        self._lists -= 1
        return values


def _fits(flat: Schema, value: Any) -> bool:
    try:
        return admitted_by(flat)(value)
    except ValueError:  # it refers to the whole schema, against which the result is checked
        return False


def _parts(name: str) -> list[str]:
    return name.lower().replace("-", "_").split("_")
