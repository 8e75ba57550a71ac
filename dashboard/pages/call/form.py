"""The form of a tool's arguments: one widget a field, or all of them as one JSON text. Owns the keys `call.form.*`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.domain.catalog import Tool
from core.shared.json_schema import argument_problems
from dashboard.pages.call.field import SECRET_PROBLEM, grid, problem_line
from dashboard.pages.call.schema import skeleton
from dashboard.pages.call.schema_form import Field, form_fields
from dashboard.pages.call.values import (
    gather,
    parsed_object,
    pretty,
    shown_problems,
    spread,
    start_state,
)
from dashboard.ui.text import escaped

FOLD_ABOVE = 7  # fields; beyond it the optional ones are folded away
WHOLE = ""  # the name under which problems of the whole object stand


@dataclass(frozen=True, slots=True)
class Filled:
    """What the form is filled with: the arguments, what is wrong by field, and which values must not be shown again."""

    arguments: dict[str, Any]
    problems: dict[str, str]
    secret: frozenset[str]


def call_form(catalog: str, tool: Tool, *, attempted: bool) -> Filled:
    """Draw the form and return what it is filled with. Required fields are red only after the first attempt to call."""
    fields, prefix = form_fields(tool.input_schema), form_key(catalog, tool)
    raw = _editor_toggle(fields, prefix)
    if raw:
        st.session_state.setdefault(f"{prefix}.text", pretty(skeleton(tool.input_schema)))
        arguments, wrong = parsed_object(st.session_state[f"{prefix}.text"])
        unread = {WHOLE: wrong} if wrong else {}
    else:
        arguments, unread = gather(fields or (), _states(fields or (), prefix))
    problems = unread if WHOLE in unread else {**_schema_problems(tool, arguments), **unread}
    shown = shown_problems(problems, arguments, attempted=attempted)
    secret = frozenset(field.name for field in fields or () if field.secret)
    if raw or fields is None:
        _json_editor(prefix, shown, secret)
    else:
        _fields(fields, prefix, shown)
    return Filled(arguments, problems, secret)


def form_key(catalog: str, tool: Tool) -> str:
    """The prefix of a form's keys: another tool, or another schema of the same tool, is another form."""
    schema = json.dumps(tool.input_schema, default=str, sort_keys=True)
    return f"call.form.{hashlib.sha256(f'{catalog}|{tool.id}|{schema}'.encode(errors='replace')).hexdigest()[:16]}"


def _schema_problems(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    try:
        return argument_problems(tool.input_schema, arguments)
    except Exception:  # noqa: BLE001 - a stranger's schema can break its checker in any way; the server has the last word
        return {}


def _states(fields: tuple[Field, ...], prefix: str) -> dict[str, Any]:
    """The widgets' values; their defaults where they were never drawn."""
    for place, field in enumerate(fields):
        st.session_state.setdefault(f"{prefix}.{place}", start_state(field))
    return {field.name: st.session_state[f"{prefix}.{place}"] for place, field in enumerate(fields)}


def _editor_toggle(fields: tuple[Field, ...] | None, prefix: str) -> bool:
    """Whether the arguments are edited as one JSON text."""
    line = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")
    line.markdown(
        "##### Arguments",
        width="content",
        help="Made from the tool's JSON Schema. A field that is left empty is not sent.",
    )
    if fields is None:
        st.caption("This tool's schema does not give a form, so its arguments are written as JSON.")
        return True
    return line.toggle(
        "Edit as JSON", key=f"{prefix}.raw", persist_state="session", on_change=_switched, args=(fields, prefix),
        help="Edit the whole arguments object as text; the form takes over what it can show.",
    )  # fmt: skip


def _switched(fields: tuple[Field, ...], prefix: str) -> None:
    """Carry the arguments from the form to the text, or back as far as the form can show them."""
    state = st.session_state
    if state[f"{prefix}.raw"]:
        arguments, _ = gather(fields, _states(fields, prefix))
        state[f"{prefix}.text"] = pretty(arguments)
        return
    arguments, wrong = parsed_object(state.get(f"{prefix}.text", ""))
    states, lost = spread(fields, arguments)
    if wrong or lost:
        state[f"{prefix}.raw"] = True
        what = f"The JSON {wrong}" if wrong else f"The form cannot show {', '.join(lost)}"
        st.toast(escaped(f"{what}: it stays JSON."), icon=":material/data_object:")
        return
    for place, field in enumerate(fields):
        state[f"{prefix}.{place}"] = states[field.name]


def _json_editor(prefix: str, shown: Mapping[str, str], secret: frozenset[str]) -> None:
    st.text_area(
        "Arguments as one JSON object", key=f"{prefix}.text", height=180, persist_state="session", placeholder="{}",
        label_visibility="collapsed",
    )  # fmt: skip
    for name, problem in shown.items():
        problem_line(f"{name}: {SECRET_PROBLEM if name in secret else problem}" if name else problem)


def _fields(fields: tuple[Field, ...], prefix: str, shown: Mapping[str, str]) -> None:
    if not fields:
        st.caption("This tool takes no arguments.")
    required = sum(field.required for field in fields)
    folded = [place for place, field in enumerate(fields) if not field.required] if len(fields) > FOLD_ABOVE else []
    grid(fields, [place for place in range(len(fields)) if place not in folded], prefix, shown)
    if folded:
        wrong = any(fields[place].name in shown for place in folded)
        with st.expander(f"{len(folded)} optional arguments", expanded=wrong or not required):
            grid(fields, folded, prefix, shown)
    if required:
        st.caption(":red[\\*] required")
    for name in shown.keys() - {field.name for field in fields}:
        problem_line(f"{name}: {shown[name]}" if name else shown[name])
