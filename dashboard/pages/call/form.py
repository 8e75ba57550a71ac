"""The form of a tool's arguments: fields, their values, and the JSON beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.domain.catalog import Tool
from core.domain.json_schema import argument_problems
from core.planning.arguments import filled, in_no_argument
from dashboard.pages.call.schema import SAFE_INTEGER, UNSET, Field, Kind, form_fields, is_number, skeleton
from dashboard.ui.text import escaped

COMPACT_CHARS = 60
NOT_AN_OBJECT = "must be one JSON object, such as {}"


class UnfitError(ValueError):
    """A value that a field's widget cannot show."""


def start_state(field: Field) -> Any:
    try:
        return widget_state(field, field.default)
    except UnfitError:
        return widget_state(field, UNSET)


def widget_state(field: Field, value: Any) -> Any:
    """Returns the widget's value for an argument. Raises UnfitError if the widget cannot show it.

    >>> widget_state(Field("n", Kind.INTEGER), 3), widget_state(Field("b", Kind.BOOLEAN), True)
    (3, 'true')
    """
    texts = {Kind.TEXT, Kind.LONG_TEXT, Kind.JSON}
    if value is UNSET:
        return "" if field.kind in texts else None
    if field.kind is Kind.JSON:
        return pretty(value)
    if field.kind in texts and isinstance(value, str):
        return value
    if field.kind is Kind.BOOLEAN and isinstance(value, bool):
        return "true" if value else "false"
    if field.kind is Kind.CHOICE:
        for place, choice in enumerate(field.choices):
            if type(choice) is type(value) and choice == value:
                return place
    elif (
        field.kind in {Kind.INTEGER, Kind.NUMBER}
        and is_number(value)
        and abs(value) <= SAFE_INTEGER
        and (field.kind is Kind.NUMBER or value == int(value))
    ):
        return float(value) if field.kind is Kind.NUMBER else int(value)
    raise UnfitError(field.name)


def sent_value(field: Field, state: Any) -> tuple[Any, str]:
    """Returns the argument for a widget's value, or UNSET, and its problem or "".

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
    if field.kind is Kind.INTEGER:
        number = int(state) if state == int(state) else state
        return number, "" if abs(state) <= SAFE_INTEGER else "has too many digits for the form: edit it as JSON"
    return (field.choices[state] if field.kind is Kind.CHOICE else state), ""


def gather(fields: Sequence[Field], states: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
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
    states: dict[str, Any] = {}
    lost = [name for name in arguments if name not in {field.name for field in fields}]
    for field in fields:
        try:
            states[field.name] = widget_state(field, arguments.get(field.name, UNSET))
        except UnfitError:
            lost.append(field.name)
    return states, tuple(lost)


def parsed(text: str) -> tuple[Any, str]:
    """Returns a JSON document and "", or UNSET and the problem.

    >>> parsed('{"a": 1}'), parsed('{"a": }')[1]
    (({'a': 1}, ''), 'is not JSON: expecting value (line 1, column 7)')
    """

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON number")

    try:
        return json.loads(text, parse_constant=refuse), ""
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        return UNSET, f"is not JSON: {reason} (line {error.lineno}, column {error.colno})"
    except (ValueError, RecursionError) as error:
        return UNSET, f"is not JSON: {str(error)[:200]}"


def parsed_object(text: str) -> tuple[dict[str, Any], str]:
    value, problem = parsed(text) if text.strip() else ({}, "")
    if problem:
        return {}, problem
    return (value, "") if isinstance(value, dict) else ({}, NOT_AN_OBJECT)


def pretty(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= COMPACT_CHARS else json.dumps(value, ensure_ascii=False, default=str, indent=2)


def shown_problems(problems: Mapping[str, str], arguments: Mapping[str, Any], *, attempted: bool) -> dict[str, str]:
    """Returns the problems to show. Before the first attempt, they are only the problems of entered values."""
    return {
        name: problem
        for name, problem in problems.items()
        if attempted or name in arguments or problem.startswith(("is not JSON", "has too many digits"))
    }


SHORT = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.CHOICE})  # two of them fit on one line
SECRET_PROBLEM = "does not match the tool's schema"  # noqa: S105 - a message, not a secret


def grid(fields: tuple[Field, ...], places: list[int], prefix: str, shown: Mapping[str, str]) -> None:
    """Draw the fields in order. Two short neighbours share a line."""
    remaining = list(places)
    while remaining:
        pair = remaining[:2] if all(fields[place].kind in SHORT for place in remaining[:2]) else remaining[:1]
        for column, place in zip(st.columns(2) if len(pair) == 2 else [st.container()], pair, strict=True):
            with column, st.container(gap="xxsmall"):
                _field(fields[place], f"{prefix}.{place}", shown.get(fields[place].name, ""))
        del remaining[: len(pair)]


def _field(field: Field, key: str, problem: str) -> None:
    common: dict[str, Any] = {
        "label": f"{escaped(field.name, 80) or '(no name)'}{' (required)' if field.required else ''}",
        "key": key,
        "help": escaped(field.help, 600) or None,
        "persist_state": "session",
    }
    empty = "required" if field.required else "not sent"
    match field.kind:
        case Kind.TEXT:
            kind = "password" if field.secret else "default"
            st.text_input(**common, type=kind, placeholder=field.limits if field.required else empty)
        case Kind.LONG_TEXT:
            st.text_area(**common, height=110, placeholder=empty)
        case Kind.JSON:
            lines = 0 if field.default is UNSET else pretty(field.default).count("\n")
            st.text_area(**common, height=min(240, 68 + 22 * lines), placeholder=f"JSON, such as {field.example}")
        case Kind.BOOLEAN:
            st.segmented_control(**common, options=["true", "false"])
        case Kind.CHOICE:
            names = [choice if isinstance(choice, str) else json.dumps(choice) for choice in field.choices]
            st.selectbox(
                **common, options=range(len(names)), index=None, placeholder=empty, format_func=names.__getitem__
            )
        case _:
            _number(field, common, empty)
    if problem:
        problem_line(SECRET_PROBLEM if field.secret and problem != "is required" else problem)


def _number(field: Field, common: dict[str, Any], empty: str) -> None:
    """Draw a number. Its limits are in the placeholder, because a widget with limits silently keeps the old number."""
    hint = field.limits or empty
    fractional = isinstance(field.default, float) and not field.default.is_integer()
    step = field.step or (0.1 if fractional else 1.0)
    st.number_input(**common, value=None, step=float(step), format="%g", placeholder=hint)


def problem_line(text: str) -> None:
    st.markdown(f":small[:red[:material/error: {escaped(text, 300)}]]")


FOLD_ABOVE = 7  # fields; above it the optional fields are folded away
WHOLE = ""  # the key for problems of the whole object


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments in the form, the problem of each field, and the fields with secret values."""

    arguments: dict[str, Any]
    problems: dict[str, str]
    secret: frozenset[str]


def call_form(catalog: str, tool: Tool, question: str, *, attempted: bool) -> Filled:
    """Draw the form and return its values, at first the values from the question. Required fields are red only after
    the first attempt to call."""
    fields, prefix = form_fields(tool.input_schema), form_key(catalog, tool)
    suggestions = _suggest(fields or (), prefix, tool, question)
    raw = _editor_toggle(fields, prefix)
    if raw:
        st.session_state.setdefault(f"{prefix}.text", pretty(skeleton(tool.input_schema)))
        arguments, problem = parsed_object(st.session_state[f"{prefix}.text"])
        unread = {WHOLE: problem} if problem else {}
    else:
        arguments, unread = gather(fields or (), _states(fields or (), prefix))
    problems = unread if WHOLE in unread else {**_schema_problems(tool, arguments), **unread}
    visible_problems = shown_problems(problems, arguments, attempted=attempted)
    secret = frozenset(field.name for field in fields or () if field.secret)
    if raw or fields is None:
        _json_editor(prefix, visible_problems, secret)
    else:
        _fields(fields, prefix, visible_problems)
        if names := [name for name, value in suggestions.items() if arguments.get(name) == value]:
            st.caption(
                f"From the question: {escaped(', '.join(names), 200)}. Check {'it' if len(names) == 1 else 'them'} before the call."
            )
        empty = any(field.required and field.name not in arguments for field in fields)
        if empty and (leftovers := in_no_argument(question, arguments)):
            st.caption(
                f"Also in the question: {escaped(', '.join(leftovers), 200)}. No rule puts {'it' if len(leftovers) == 1 else 'them'} into a field."
            )
    return Filled(arguments, problems, secret)


def _suggest(fields: tuple[Field, ...], prefix: str, tool: Tool, question: str) -> dict[str, Any]:
    """Put the arguments that a question gives into the fields, once for each question. What the person typed stays. Returns the arguments."""
    arguments = filled(tool.input_schema, question, tool.server)[0] if question else {}
    arguments = {field.name: arguments[field.name] for field in fields if field.name in arguments and not field.secret}
    previous_question, previous = st.session_state.get(f"{prefix}.question", ("", {}))
    if question and previous_question != question:
        given, _ = spread([field for field in fields if field.name in arguments], arguments)
        text = pretty(gather(fields, _states(fields, prefix))[0])
        for place, field in enumerate(fields):
            key = f"{prefix}.{place}"
            if st.session_state[key] in {None, "", start_state(field), previous.get(field.name)}:
                st.session_state[key] = given.get(field.name, start_state(field))
        if st.session_state.get(f"{prefix}.text") == text:
            st.session_state[f"{prefix}.text"] = pretty(gather(fields, _states(fields, prefix))[0])
        st.session_state[f"{prefix}.question"] = question, given
    return arguments


def form_key(catalog: str, tool: Tool) -> str:
    """Returns the prefix of a form's keys. It depends on the tool and its schema."""
    schema = json.dumps(tool.input_schema, default=str, sort_keys=True)
    return f"call.form.{hashlib.sha256(f'{catalog}|{tool.id}|{schema}'.encode(errors='replace')).hexdigest()[:16]}"


def _schema_problems(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    try:
        return argument_problems(tool.input_schema, arguments)
    except Exception:  # noqa: BLE001 - a stranger's schema can break its checker in any way; the server checks, too
        return {}


def _states(fields: tuple[Field, ...], prefix: str) -> dict[str, Any]:
    for place, field in enumerate(fields):
        st.session_state.setdefault(f"{prefix}.{place}", start_state(field))
    return {field.name: st.session_state[f"{prefix}.{place}"] for place, field in enumerate(fields)}


def _editor_toggle(fields: tuple[Field, ...] | None, prefix: str) -> bool:
    """Draw the heading with a switch. Tells whether the arguments are edited as JSON."""
    line = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")
    line.markdown(
        "##### Arguments", width="content", help="Made from the tool's JSON Schema. Empty fields are not sent."
    )
    if fields is None:
        st.caption("This tool's schema has no form. Enter the arguments as JSON.")
        return True
    return line.toggle(
        "Edit as JSON", key=f"{prefix}.raw", persist_state="session", on_change=_switched, args=(fields, prefix),
        help="Edit the whole arguments object as text.",
    )  # fmt: skip


def _switched(fields: tuple[Field, ...], prefix: str) -> None:
    """Copy the arguments from the form to the text, or back if the form can show them."""
    state = st.session_state
    if state[f"{prefix}.raw"]:
        arguments, _ = gather(fields, _states(fields, prefix))
        state[f"{prefix}.text"] = pretty(arguments)
        return
    arguments, problem = parsed_object(state.get(f"{prefix}.text", ""))
    states, lost = spread(fields, arguments)
    if problem or lost:
        state[f"{prefix}.raw"] = True
        reason = f"The JSON {problem}" if problem else f"The form cannot show {', '.join(lost)}"
        st.toast(escaped(f"{reason}: the editor stays on JSON."), icon=":material/data_object:")
        return
    for place, field in enumerate(fields):
        state[f"{prefix}.{place}"] = states[field.name]


def _json_editor(prefix: str, problems: Mapping[str, str], secret: frozenset[str]) -> None:
    st.text_area(
        "Arguments as one JSON object", key=f"{prefix}.text", height=180, persist_state="session", placeholder="{}",
        label_visibility="collapsed",
    )  # fmt: skip
    for name, problem in problems.items():
        problem_line(f"{name}: {SECRET_PROBLEM if name in secret else problem}" if name else problem)


def _fields(fields: tuple[Field, ...], prefix: str, problems: Mapping[str, str]) -> None:
    if not fields:
        st.caption("This tool takes no arguments.")
    required = any(field.required for field in fields)
    folded = [place for place, field in enumerate(fields) if not field.required] if len(fields) > FOLD_ABOVE else []
    grid(fields, [place for place in range(len(fields)) if place not in folded], prefix, problems)
    if folded:
        has_problem = any(fields[place].name in problems for place in folded)
        with st.expander(f"{len(folded)} optional arguments", expanded=has_problem or not required):
            grid(fields, folded, prefix, problems)
    for name in problems.keys() - {field.name for field in fields}:
        problem_line(f"{name}: {problems[name]}" if name else problems[name])
