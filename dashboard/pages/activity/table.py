"""A page of a long table in which a row can be chosen. The choice follows its record when new rows push it down.

Owns the keys `activity.page`, `activity.pager.*`, `activity.table.<name>`, `activity.row.<name>`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from pandas.io.formats.style import Styler

PAGE_ROWS = 100
TABLE_PX, MOST_ROWS = 388, 11
PAGE, GENERATION = "activity.page", "activity:pager"


def page_number(count: int, linked: str) -> int:
    """The page to show, from 1 on, before `pager` draws the choice."""
    start = int(linked) if linked.isdecimal() and len(linked) < 9 else 1
    st.session_state[PAGE] = min(max(st.session_state.get(PAGE, start), 1), pages(count))
    return st.session_state[PAGE]


def pager(count: int, thing: str) -> None:
    """Which rows are shown of how many, and the way to the others."""
    first = (st.session_state[PAGE] - 1) * PAGE_ROWS
    last = min(first + PAGE_ROWS, count)
    text, choice = st.columns([2, 1], vertical_alignment="center")
    text.caption(f"{first + 1:,} to {last:,} of {count:,} {thing}, newest first. Choose a row to read all of it.")
    if pages(count) > 1:
        key = f"activity.pager.{st.session_state.setdefault(GENERATION, 0)}.{pages(count)}"
        number: int = st.session_state[PAGE]
        choice.pagination(pages(count), default=number, key=key, on_change=_turn, args=(key,), width="stretch")


def pages(count: int) -> int:
    """How many pages some rows fill.

    >>> pages(0), pages(100), pages(101)
    (1, 1, 2)
    """
    return max(1, math.ceil(count / PAGE_ROWS))


def choice_table(
    styler: Styler,
    ids: Sequence[str],
    columns: Mapping[str, Any],
    *,
    name: str,
    linked: str,
    about: str,
    nothing: str = "–",
) -> str:
    """Show rows and return the id of the chosen one, or nothing. `linked` is where the choice starts."""
    key, chosen = f"activity.table.{name}", row_key(name)
    st.session_state.setdefault(chosen, linked)
    wanted = [ids.index(st.session_state[chosen])] if st.session_state[chosen] in ids else []
    if wanted != _rows(key):
        st.session_state[key] = {"selection": {"rows": wanted, "columns": [], "cells": []}}
    st.session_state[_ids_key(name)] = list(ids)
    st.dataframe(
        styler,
        key=key,
        column_config=dict(columns),
        hide_index=True,
        height=TABLE_PX if len(ids) > MOST_ROWS else "content",
        placeholder=nothing,
        on_select=lambda: _choose(key, name),
        selection_mode="single-row",
        alt=about,
    )
    return st.session_state[chosen]


def row_key(name: str) -> str:
    """The session key of the id of a table's chosen row."""
    return f"activity.row.{name}"


def forget_place() -> None:
    """Back to the first page, with no row chosen: the rows are others now."""
    for key in [key for key in st.session_state if str(key).startswith(("activity.row.", "activity.table."))]:
        del st.session_state[key]
    st.session_state[PAGE] = 1
    st.session_state[GENERATION] = st.session_state.get(GENERATION, 0) + 1  # a new pager, which starts at 1


def _turn(key: str) -> None:
    st.session_state[PAGE] = st.session_state[key]


def _choose(key: str, name: str) -> None:
    rows, ids = _rows(key), st.session_state[_ids_key(name)]
    st.session_state[row_key(name)] = ids[rows[0]] if rows and rows[0] < len(ids) else ""


def _rows(key: str) -> list[int]:
    return list(st.session_state[key]["selection"]["rows"]) if key in st.session_state else []


def _ids_key(name: str) -> str:
    return f"activity:ids.{name}"
