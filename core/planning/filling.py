"""Arguments of a call from the words of a sub-task, by rules: every required one has to be there, and without a doubt.

A number, date, file, address or quoted text of the sub-task goes to the argument that takes its kind; several of a kind are taken
in their order where there are as many as are wanted. A choice is taken where one of its values is named. What is searched for
is the sub-task itself. Everything else is missing, and optional arguments are left to the server.

>>> schema = {"properties": {"value": {"type": "number"}, "unit": {"enum": ["mile", "km"]}}, "required": ["value", "unit"]}
>>> filled(schema, "what is 300 mile")
({'value': 300, 'unit': 'mile'}, ())
>>> filled(schema, "what is 300, or 400?")
({}, ('value (a number: which of 300, 400?)', 'unit (one of "mile", "km")'))
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from core.domain.catalog import words
from core.planning.arguments import QuestionLiterals, choice_note, kind_note, literal_kind
from core.shared.json_schema import admitted_by

TEXT = "quoted text"
SEARCHED = frozenset({"query", "question", "search", "q"})
QUOTES = "\"'“”«»‘’"
SHOWN = 4


def filled(schema: Mapping[str, Any] | None, subtask: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The required arguments, and those that the sub-task does not give, each with what is wanted; {} where any is missing."""
    literals, found, missing = QuestionLiterals.of(subtask), dict[str, Any](), dict[str, str]()
    by_kind: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    required = _required(schema)
    for name, asked in required.items():
        if "const" in asked or "default" in asked:
            found[name] = asked.get("const", asked.get("default"))
        elif isinstance(asked.get("enum"), list):
            named = literals.chosen(asked["enum"])
            if len(named) == 1:
                found[name] = named[0]
            else:
                missing[name] = choice_note(asked["enum"])
        elif kind := literal_kind(name, asked):
            by_kind[kind].append((name, asked))
        elif asked.get("type") != "string":
            missing[name] = str(asked.get("type", "a value of any kind"))
        elif _last_word(name) in SEARCHED:
            found[name] = subtask
        else:
            by_kind[TEXT].append((name, asked))
    for kind, wanted in by_kind.items():
        given, lacking = _shared_out(kind, wanted, literals)
        found |= given
        missing |= lacking
    if missing:
        return {}, tuple(f"{name} ({missing[name]})" for name in required if name in missing)
    return {name: found[name] for name in required}, ()


def _shared_out(
    kind: str, wanted: Sequence[tuple[str, Mapping[str, Any]]], literals: QuestionLiterals
) -> tuple[dict[str, Any], dict[str, str]]:
    """The literals of a kind among the arguments that take it: in their order, where there are as many."""
    values = [value.strip(QUOTES) if isinstance(value, str) else value for value in literals.of_kind(kind)]
    fitting = [value for value in dict.fromkeys(values) if any(_admits(asked, value) for _, asked in wanted)]
    if len(fitting) == len(wanted) and all(
        _admits(asked, value) for (_, asked), value in zip(wanted, fitting, strict=True)
    ):
        return {name: value for (name, _), value in zip(wanted, fitting, strict=True)}, {}
    which = f": which of {', '.join(map(str, fitting[:SHOWN]))}?" if len(fitting) > len(wanted) else ""
    return {}, {name: f"{kind_note(kind)}{which}" for name, _ in wanted}


def _required(schema: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The required arguments with their schemas, in order."""
    declared, names = (schema or {}).get("properties"), (schema or {}).get("required")
    known = cast("Mapping[str, object]", declared if isinstance(declared, Mapping) else {})
    if not isinstance(names, list):
        return {}
    asked = {str(name): known.get(str(name)) for name in cast("list[object]", names)}
    return {name: cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {} for name, one in asked.items()}


def _admits(schema: Mapping[str, Any], value: object) -> bool:
    try:
        return admitted_by(schema)(value)
    except ValueError:
        return False


def _last_word(name: str) -> str:
    return (words(name).lower().split() or [""])[-1]
