"""One widget a field, with what is wrong with it below."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.pages.call.schema_form import UNSET, Field, Kind
from dashboard.pages.call.values import widget_state
from dashboard.ui.text import escaped

SHORT = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.CHOICE})  # two of them fit on one line
SECRET_PROBLEM = "does not fit what the tool asks for"  # noqa: S105 - a message, not a secret


def grid(fields: tuple[Field, ...], places: list[int], prefix: str, shown: Mapping[str, str]) -> None:
    """Fields in order; two short ones that follow each other share a line."""
    left = list(places)
    while left:
        pair = left[:2] if all(fields[place].kind in SHORT for place in left[:2]) else left[:1]
        for column, place in zip(st.columns(2) if len(pair) == 2 else [st.container()], pair, strict=True):
            with column, st.container(gap="xxsmall"):
                _field(fields[place], f"{prefix}.{place}", shown.get(fields[place].name, ""))
        del left[: len(pair)]


def _field(field: Field, key: str, problem: str) -> None:
    """One widget and what is wrong with it."""
    common: dict[str, Any] = {
        "label": f"{escaped(field.name, 80) or '(no name)'}{' :red[*]' if field.required else ''}",
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
            st.text_area(**common, height=_json_height(field), placeholder=f"JSON, such as {field.example}")
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
    """A number. Limits stand in the placeholder: a widget with limits would silently keep the number before."""
    hint = field.limits or empty
    if field.kind is Kind.INTEGER:
        st.number_input(**common, value=None, step=max(1, int(field.step or 1)), format="%d", placeholder=hint)
    else:
        fine = isinstance(field.default, float) and not field.default.is_integer()
        step = field.step or (0.1 if fine else 1.0)
        st.number_input(**common, value=None, step=float(step), format="%g", placeholder=hint)


def _json_height(field: Field) -> int:
    lines = 0 if field.default is UNSET else str(widget_state(field, field.default)).count("\n")
    return min(240, 68 + 22 * lines)


def problem_line(text: str) -> None:
    """What is wrong, small and red, as text."""
    st.markdown(f":small[:red[:material/error: {escaped(text, 300)}]]")
