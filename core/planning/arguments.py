"""Takes the values of a tool's required arguments from the words of a question, by rules. A doubtful value counts as missing.

A number, date, file, address or quoted text goes to the argument of its kind; several of a kind are taken in order if there are as
many as arguments. A choice is taken if one of its values is named. Two ends of a conversion or a route go to the arguments whose names
say which end they are ("300 miles to kilometres", "from Bern to Rome"), a capitalised place to the only argument that asks for a place.
A search text is the sub-task itself. Everything else is missing. Of the optional arguments only ends, places and time zones are
filled: the server's default would answer for another place.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from zoneinfo import available_timezones

from core.domain.catalog import words
from core.domain.json_schema import admitted_by
from core.domain.progress import made_once
from core.domain.tools import mapping, properties, required_properties
from core.planning.literals import (
    DAYS,
    MONTHS,
    READ_CHARACTERS,
    QuestionLiterals,
    choice_note,
    kind_note,
    last_word,
    literal_kind,
)

TEXT = "quoted text"
SEARCHED = frozenset({"query", "question", "search", "q"})
QUOTES = "\"'“”„«»‘’"
SHOWN = 4
START, GOAL, PLACE, ZONE = "start", "goal", "place", "time zone"
_ROLES = {
    START: "from source origin departure depart start base", GOAL: "to target destination goal arrival into quote",
    PLACE: "city place location town where region country destination origin near",
    ZONE: "zone timezone tz",
}  # fmt: skip
_ROLE_WORDS = {role: frozenset(names.split()) for role, names in _ROLES.items()}
_UNIT = r"[^\W\d_][\w°/²³]*(?:-[a-z]+)?"
_PROPER = r"[A-Z][\w'’.-]*(?: (?:(?:de|of|the|la|le|el|am|upon) )?[A-Z][\w'’.-]*)*"
_ENDS = (
    re.compile(rf"\d[\d,.]*\s*(?:degrees )?(?P<start>{_UNIT})(?: {_UNIT})? (?:to|into|in|as) (?P<goal>{_UNIT})"),
    re.compile(rf"how many (?P<goal>{_UNIT}) (?:are|is|in)\b(?: in)? \d[\d,.]*\s*(?P<start>{_UNIT})", re.IGNORECASE),
    re.compile(rf"\bfrom (?P<start>{_PROPER}|{_UNIT}) (?:in)?to (?P<goal>{_PROPER}|{_UNIT})"),
)
_PLACES = re.compile(rf"\b(?:in|at|for|near|around|of|to|from) (?:the (?:city|town) of )?(?P<place>{_PROPER})")
_INSIDE = re.compile(rf"(?<=[\w,;] ){_PROPER}")
_WRITTEN = set(
    ["text", "message", "comment", "body", "content", "sql", "claim", "statement", "document", "password", "goal"]
)  # more than a name
_TIMES = {
    "month", "year", "quarter", "week", "weekend", "season", "period", "date", "day", "time", "when", "since", "until", "from", "to",
    "start", "end", "first", "last", "after", "before",
}  # fmt: skip
_NO_TEXT = re.compile(r"-?\d{1,3}|CSV|JSON|XML|YAML|HTML|PDF|EUR|USD|GBP|Celsius|Fahrenheit")  # counts, formats, units
_NO_PLACE = re.compile(rf"(?:{MONTHS}|{DAYS})\b", re.IGNORECASE)


def filled(schema: Mapping[str, Any] | None, query: str, server: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the required arguments that a question gives, and the missing arguments with their kinds.

    A single remaining text takes the single remaining capitalised name, or else the single date, long number, address or quote. The name
    of the `server` does not count. Several remaining texts take as many dates, in order. Only a text named after a time takes a date.

    >>> schema = {"properties": {"value": {"type": "number"}, "unit": {"enum": ["mile", "km"]}}, "required": ["value", "unit"]}
    >>> filled(schema, "what is 300 mile")
    ({'value': 300, 'unit': 'mile'}, ())
    >>> filled(schema, "what is 300, or 400?")
    ({}, ('value (a number: which of 300, 400?)', 'unit (one of "mile", "km")'))
    >>> ends = {name: {"type": "string"} for name in ("source", "target")}
    >>> filled({"properties": ends, "required": list(ends)}, "convert 300 miles to kilometres")
    ({'source': 'miles', 'target': 'kilometres'}, ())
    >>> filled({"properties": {"event": {"type": "string"}}, "required": ["event"]}, "who shows the Super Bowl")
    ({'event': 'Super Bowl'}, ())
    >>> filled({"properties": {"month": {"type": "string"}}, "required": ["month"]}, "what did we spend in 2026-10")
    ({'month': '2026-10'}, ())
    >>> ends = {name: {"type": "string"} for name in ("first", "last")}
    >>> filled({"properties": ends, "required": list(ends)}, "how many days from 2026-11-01 to 2026-11-26")
    ({'first': '2026-11-01', 'last': '2026-11-26'}, ())
    """
    arguments, missing = _found(schema, query)
    required, server_words = required_properties(schema), words(server).lower().split()
    texts = [name for name, spec in required.items() if name in missing and _is_text(name, spec)]
    if len(texts) == len(missing):
        times = QuestionLiterals.of(query).of_kind("date or time")
        dates = [day for day in times if day not in arguments.values()]
        timed = {last_word(name) for name in texts} <= _TIMES
        if timed and len(dates) == len(texts) > 1:
            return {**arguments, **dict(zip(texts, dates, strict=True))}, ()
        unused = [
            literal
            for literal in in_no_argument(query, arguments)
            if literal.lower() not in server_words and not _NO_TEXT.fullmatch(literal)
        ]
        unused = [literal for literal in unused if timed or literal not in times]
        candidates = [name for name in _proper_names(query) if name in unused] or unused
        unambiguous = len(texts) == len(candidates) == 1 and last_word(texts[0]) not in _WRITTEN
        if unambiguous and _admits(required[texts[0]], candidates[0]):
            return {**arguments, texts[0]: candidates[0]}, ()
    return arguments, tuple(f"{name} ({missing[name]})" for name in required if name in missing)


def in_no_argument(query: str, arguments: Mapping[str, Any]) -> list[str]:
    """Returns the names, dates, numbers, addresses and quotes of a question that are in no argument, in its order.

    >>> in_no_argument("a flight from Berlin to Lisbon in May for 2 adults", {"adults": 2})
    ['Berlin', 'Lisbon', 'May']
    """
    text, used_text = (
        query[:READ_CHARACTERS],
        json.dumps(list(arguments.values()), ensure_ascii=False, default=str).lower(),
    )
    of_kinds = [str(value).strip(QUOTES) for values in QuestionLiterals.of(text).values.values() for value in values]
    names = dict.fromkeys(name for name in (*_proper_names(text), *of_kinds) if name.lower() not in used_text)
    longest = [name for name in names if not any(name != other and name in other for other in names)]
    return sorted(longest, key=text.find)


def _proper_names(text: str) -> list[str]:
    """Returns capitalised names inside the sentences, without months and days.

    >>> _proper_names("Where is the Super Bowl shown in Germany in May?")
    ['Super Bowl', 'Germany']
    """
    names = (re.sub(r"['’]s$", "", match[0].rstrip(".'’-")) for match in _INSIDE.finditer(text[:READ_CHARACTERS]))
    return list(dict.fromkeys(name for name in names if name != "I" and not _NO_PLACE.match(name)))


def _found(schema: Mapping[str, Any] | None, query: str) -> tuple[dict[str, Any], dict[str, str]]:
    literals, values, missing = QuestionLiterals.of(query), dict[str, Any](), dict[str, str]()
    by_kind: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    required = required_properties(schema)
    declared = {name: mapping(spec) for name, spec in properties(schema).items()}
    texts = {name: spec for name, spec in declared.items() if _is_text(name, spec) or _is_choice(spec)}
    by_role = _by_role(texts, query)
    for name, spec in required.items():
        if name in by_role:
            values[name] = by_role[name]
        elif "const" in spec or "default" in spec:
            values[name] = spec.get("const", spec.get("default"))
        elif _is_choice(spec):
            choices = literals.chosen(spec["enum"])
            if len(choices) == 1:
                values[name] = choices[0]
            else:
                missing[name] = choice_note(spec["enum"])
        elif kind := literal_kind(name, spec):
            by_kind[kind].append((name, spec))
        elif spec.get("type") != "string":
            missing[name] = str(spec.get("type", "a value of any kind"))
        elif last_word(name) in SEARCHED:
            values[name] = query
        else:
            by_kind[TEXT].append((name, spec))
    for kind, arguments in by_kind.items():
        matches, gaps = _shared_out(kind, arguments, literals)
        values |= matches
        missing |= gaps
    result = {name: values[name] for name in required if name in values}
    result |= {name: by_role[name] for name in by_role if name not in required}  # a default would answer elsewhere
    return result, missing


def _is_choice(spec: Mapping[str, Any]) -> bool:
    return isinstance(spec.get("enum"), list) and "const" not in spec


def _is_text(name: str, spec: Mapping[str, Any]) -> bool:
    plain = spec.get("type") == "string" and not spec.keys() & {"const", "enum"}
    return plain and not literal_kind(name, spec) and last_word(name) not in SEARCHED


def _by_role(texts: Mapping[str, Mapping[str, Any]], query: str) -> dict[str, str]:
    """Returns the values of texts whose names tell their role: both ends of a conversion or route, a place, a time zone."""
    roles: dict[str, list[str]] = defaultdict(list)
    for name in texts:
        name_words = set(words(name).lower().split())
        for role, names in _ROLE_WORDS.items():
            if name_words & names:
                roles[role].append(name)
    values: dict[str, str] = {}
    text = query[:READ_CHARACTERS]
    if len(roles[START]) == len(roles[GOAL]) == 1 and (ends := _ends(text)):
        values |= {roles[START][0]: ends[0], roles[GOAL][0]: ends[1]}
    places = _places(text)
    if len(places) == 1:
        if len(roles[PLACE]) == 1:
            values.setdefault(roles[PLACE][0], places[0])
        if len(roles[ZONE]) == 1 and (zone := time_zone(places[0])):
            values[roles[ZONE][0]] = zone
    choices = {name: _choice(texts[name], value) for name, value in values.items()}
    return {name: value for name, value in choices.items() if _admits(texts[name], value)}


def _choice(spec: Mapping[str, Any], value: str) -> str:
    choices = spec["enum"] if _is_choice(spec) else ()
    return next((str(choice) for choice in choices if str(choice).lower() == value.lower()), value)


def _ends(text: str) -> tuple[str, str] | None:
    """Returns start and goal of the only conversion or route in a text.

    >>> _ends("convert 300 miles to kilometres"), _ends("how many cups are in 3 litres"), _ends("a flight from New York to Rome")
    (('miles', 'kilometres'), ('litres', 'cups'), ('New York', 'Rome'))
    """
    for pattern in _ENDS:
        matches = list(pattern.finditer(text))
        if len(matches) == 1:
            return matches[0]["start"], matches[0]["goal"].rstrip(".")
    return None


def _places(text: str) -> list[str]:
    """Returns capitalised names after a preposition of place, without months and days.

    >>> _places("What time is it in Tokyo?"), _places("is it raining in New York in May")
    (['Tokyo'], ['New York'])
    """
    places = (match["place"].rstrip(".'’-") for match in _PLACES.finditer(text))
    return list(dict.fromkeys(place for place in places if not _NO_PLACE.match(place)))


def time_zone(place: str) -> str:
    """Returns the IANA time zone that is named after a place, or "".

    >>> time_zone("Tokyo"), time_zone("new york"), time_zone("Nowhere")
    ('Asia/Tokyo', 'America/New_York', '')
    """
    return _zones().get(place.replace(" ", "_").lower(), "")


@made_once
def _zones() -> dict[str, str]:
    return {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones()) if "/" in zone}


def _shared_out(
    kind: str, arguments: Sequence[tuple[str, Mapping[str, Any]]], literals: QuestionLiterals
) -> tuple[dict[str, Any], dict[str, str]]:
    """Assigns the literals of a kind to the arguments that take it, in order, if the numbers are equal. Without quotes, a text argument
    takes an address."""
    raw = literals.of_kind(kind) or (literals.of_kind("web page") if kind == TEXT else ())  # a code of an address
    values = [value.strip(QUOTES) if isinstance(value, str) else value for value in raw]
    candidates = [value for value in dict.fromkeys(values) if any(_admits(spec, value) for _, spec in arguments)]
    pairs = list(zip(arguments, candidates, strict=False))
    if len(candidates) == len(arguments) and all(_admits(spec, value) for (_, spec), value in pairs):
        return {name: value for (name, _), value in pairs}, {}
    hint = f": which of {', '.join(map(str, candidates[:SHOWN]))}?" if len(candidates) > len(arguments) else ""
    return {}, {name: f"{kind_note(kind)}{hint}" for name, _ in arguments}


def _admits(schema: Mapping[str, Any], value: object) -> bool:
    with suppress(ValueError):
        return admitted_by(schema)(value)
    return False
