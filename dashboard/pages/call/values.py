"""Conversion between a widget's value and what is sent to the tool. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.pages.call.schema import is_number
from dashboard.pages.call.schema_form import SAFE_INTEGER, UNSET, Field, Kind

COMPACT_CHARS = 60
NOT_AN_OBJECT = "has to be one JSON object, such as {}"


class UnfitError(ValueError):
    """A value that a field's widget cannot show."""


def start_state(field: Field) -> Any:
    """The first value of a field's widget: its default, or nothing."""
    try:
        return widget_state(field, field.default)
    except UnfitError:
        return widget_state(field, UNSET)


def widget_state(field: Field, value: Any) -> Any:
    """The widget's value with which this value is sent. Raises UnfitError where it cannot.

    >>> widget_state(Field("n", Kind.INTEGER), 3), widget_state(Field("b", Kind.BOOLEAN), True)
    (3, 'true')
    """
    if field.kind in {Kind.TEXT, Kind.LONG_TEXT}:
        return _text_state(value)
    if field.kind is Kind.JSON:
        return "" if value is UNSET else pretty(value)
    if value is UNSET:
        return None
    if field.kind is Kind.BOOLEAN and isinstance(value, bool):
        return "true" if value else "false"
    if field.kind is Kind.CHOICE:
        return _choice_state(field.choices, value)
    if is_number(value) and abs(value) <= SAFE_INTEGER and (field.kind is Kind.NUMBER or value == int(value)):
        return float(value) if field.kind is Kind.NUMBER else int(value)
    raise UnfitError(field.name)


def sent_value(field: Field, state: Any) -> tuple[Any, str]:
    """The value that a widget's state sends, or UNSET, and what is wrong with it ("" where nothing is).

    >>> sent_value(Field("tags", Kind.JSON), '["a"]'), sent_value(Field("q", Kind.TEXT), "")[0] is UNSET
    ((['a'], ''), True)
    """
    if field.kind is Kind.JSON:
        return parsed(state) if isinstance(state, str) and state.strip() else (UNSET, "")
    if state is None:
        return UNSET, ""
    if field.kind in {Kind.TEXT, Kind.LONG_TEXT}:
        return (state if state or isinstance(field.default, str) else UNSET), ""
    if field.kind is Kind.BOOLEAN:
        return state == "true", ""
    return (field.choices[state] if field.kind is Kind.CHOICE else state), ""


def gather(fields: Sequence[Field], states: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments that a form sends, and by field what could not be read."""
    arguments: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in fields:
        value, problem = sent_value(field, states.get(field.name))
        if problem:
            problems[field.name] = problem
        elif value is not UNSET:
            arguments[field.name] = value
    return arguments, problems


def spread(fields: Sequence[Field], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The states that show these arguments in a form, and the names of those that the form cannot show."""
    states: dict[str, Any] = {}
    lost = [name for name in arguments if name not in {field.name for field in fields}]
    for field in fields:
        try:
            states[field.name] = widget_state(field, arguments.get(field.name, UNSET))
        except UnfitError:
            lost.append(field.name)
    return states, tuple(lost)


def parsed(text: str) -> tuple[Any, str]:
    """A JSON document, or UNSET and why it is none.

    >>> parsed('{"a": 1}'), parsed('{"a": }')[1]
    (({'a': 1}, ''), 'is not JSON: expecting value (line 1, column 7)')
    """
    try:
        return json.loads(text, parse_constant=_no_constant), ""
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        return UNSET, f"is not JSON: {reason} (line {error.lineno}, column {error.colno})"
    except (ValueError, RecursionError) as error:
        return UNSET, f"is not JSON: {str(error)[:200]}"


def parsed_object(text: str) -> tuple[dict[str, Any], str]:
    """All arguments from one text: {} where it is empty or wrong, and what is wrong."""
    value, problem = parsed(text) if text.strip() else ({}, "")
    if problem:
        return {}, problem
    return (value, "") if isinstance(value, dict) else ({}, NOT_AN_OBJECT)


def pretty(value: Any) -> str:
    """JSON for people: on one line where it is short."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= COMPACT_CHARS else json.dumps(value, ensure_ascii=False, default=str, indent=2)


def shown_problems(problems: Mapping[str, str], arguments: Mapping[str, Any], *, attempted: bool) -> dict[str, str]:
    """What to say already: all of it after the first attempt, before it only what is wrong with something typed."""
    return {
        name: problem
        for name, problem in problems.items()
        if attempted or name in arguments or problem.startswith("is not JSON")
    }


def _text_state(value: Any) -> str:
    if value is UNSET:
        return ""
    if isinstance(value, str):
        return value
    raise UnfitError


def _choice_state(choices: tuple[Any, ...], value: Any) -> int:
    for place, choice in enumerate(choices):
        if type(choice) is type(value) and choice == value:
            return place
    raise UnfitError


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
