"""Tables: one declaration of a column, and the ways to draw rows with it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from pandas.io.formats.style import Styler
from streamlit import column_config

from dashboard.ui.catalog_frames import matching
from dashboard.ui.text import escaped

ROW_PX, MOST_ROWS = 32, 15
MOST_SENT = 1_000  # rows; more rows make a page slow to open
GIVEN = "the catalog's order"
Rows = pd.DataFrame | Styler | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name or place in the frame, and its look. Without a title, the name is the title.

    `format` is a printf pattern, a pattern of dates, `distance` or `localized`; `unit` follows the number. `link` is the text of
    links in the column. `cell` returns the cell of a row for `frame_of`, by default the row's attribute of this name. A `sparse`
    column is left out if all its cells are empty.
    """

    name: str | int
    title: str | None = None
    width: int | Literal["small", "medium", "large"] | None = None
    help: str | None = None
    format: str = ""
    unit: str = ""
    link: str = ""
    pinned: bool | None = None
    cell: Callable[[Any], object] | None = None
    sparse: bool = False

    @property
    def config(self) -> Any:
        """The column as Streamlit declares it.

        >>> Column("s", "connect", format="%.3g", unit="s").config["type_config"]["format"]
        '%.3g s'
        """
        look: dict[str, Any] = {"width": self.width, "help": self.help, "pinned": self.pinned}
        if self.link:
            return column_config.LinkColumn(self.title, display_text=self.link, **look)
        if "YYYY" in self.format or self.format == "distance":
            return column_config.DatetimeColumn(self.title, format=self.format, **look)
        if self.format:
            unit = f" {self.unit.replace('%', '%%')}" if self.unit else ""
            return column_config.NumberColumn(self.title, format=self.format + unit, **look)
        return column_config.Column(self.title, **look)


def frame_of(rows: Iterable[Any], columns: Sequence[Column]) -> pd.DataFrame:
    """Returns the cells of each row and column.

    >>> frame_of([1 + 2j], [Column("real"), Column("size", cell=abs), Column("imag", cell=lambda _: "", sparse=True)]).to_dict("list")
    {'real': [1.0], 'size': [2.23606797749979]}
    """
    things = list(rows)
    cells = {column.name: [*map(column.cell or attrgetter(str(column.name)), things)] for column in columns}
    left_out = {column.name for column in columns if column.sparse and not any(cells[column.name])}
    return pd.DataFrame({name: values for name, values in cells.items() if name not in left_out})


def table(
    rows: Rows,
    columns: Sequence[Column] = (),
    *,
    key: str | None = None,
    most: int = MOST_ROWS,
    placeholder: str = "–",
    **more: Any,
) -> None:
    """Draw rows; more than `most` scroll. `more` are further arguments of `st.dataframe`."""
    frame = rows if isinstance(rows, pd.DataFrame | Styler) else pd.DataFrame(list(rows))
    st.dataframe(frame, key=key, **{**_look(frame, columns, most, placeholder), **more})


def choice_table(
    frame: pd.DataFrame | Styler,
    columns: Sequence[Column],
    *,
    labels: list[int],
    key: str,
    chosen: int | None = None,
    about: str,
) -> int | None:
    """Draw a frame and return the label of the chosen row. `chosen` is the first choice under this key."""
    start: list[int] = [labels.index(chosen)] if chosen in labels else []
    event: Any = st.dataframe(
        frame, key=key, on_select="rerun", selection_mode="single-row",
        selection_default={"selection": {"rows": start}}, alt=about, **_look(frame, columns),
    )  # fmt: skip
    rows: list[int] = event["selection"]["rows"]
    return labels[rows[0]] if rows and rows[0] < len(labels) else None


def choose_rows(frame: pd.DataFrame, columns: Sequence[Column], *, key: str, about: str) -> list[int]:
    """Draw a frame and return the places of the chosen rows."""
    event: Any = st.dataframe(
        frame, key=key, on_select="rerun", selection_mode="multi-row", alt=about, **_look(frame, columns)
    )
    return [row for row in event["selection"]["rows"] if row < len(frame)]


def listening_table(
    frame: pd.DataFrame | Styler,
    columns: Sequence[Column],
    *,
    key: str,
    chosen: Callable[[], None],
    about: str,
    many: bool = False,
    most: int = 11,
    placeholder: str = "–",
) -> None:
    """Draw a frame and call `chosen` when its selection under `key` changes: of one row, or of `many`."""
    st.dataframe(
        frame, key=key, on_select=chosen, selection_mode="multi-row" if many else "single-row", alt=about,
        **_look(frame, columns, most, placeholder),
    )  # fmt: skip


def selected_rows(key: str) -> list[int]:
    """Returns the places of the rows that are selected in the `listening_table` of this key."""
    return list(st.session_state[key]["selection"]["rows"]) if key in st.session_state else []


def select_rows(key: str, rows: list[int]) -> None:
    """Select these rows of a `listening_table`, before it is drawn."""
    if rows != selected_rows(key):
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}


def configs(columns: Sequence[Column]) -> dict[Any, Any]:
    return {column.name: column.config for column in columns}


def table_height(rows: int, most: int = MOST_ROWS) -> int:
    """Returns the height in px for all rows, or for `most` of them."""
    return ROW_PX * (min(max(rows, 1), most) + 1) + 3


def table_key(*parts: str) -> str:
    """Returns a session key for one table over one selection of rows. Another selection gets another key."""
    return f"catalog.table.{zlib.crc32(repr(parts).encode()):08x}"


def page_of(
    rows: NDArray[np.int64],
    key: str,
    orders: Mapping[str, Callable[[], Any]] | None = None,
    *,
    chosen: int | None = None,
) -> NDArray[np.int64]:
    """Returns the rows that are sent to the browser: all of them, or a page of at most `MOST_SENT` that is chosen above the table.

    `orders` are further orders than the catalog's order, each with the keys of all rows of the catalog, smallest first. The page with the
    row `chosen` is the first.
    """
    if len(rows) <= MOST_SENT:
        return rows
    pages = -(-len(rows) // MOST_SENT)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        order = GIVEN
        if orders:
            order = st.selectbox("Sort all rows by", [GIVEN, *orders], key=f"{key}.order", width=230)
        if orders and order != GIVEN:
            rows = rows[np.argsort(np.asarray(orders[order]())[rows], kind="stable")]
        places = np.flatnonzero(rows == chosen)
        first = int(places[0]) // MOST_SENT + 1 if len(places) else 1
        page = st.number_input(f"Page of {pages:,}", 1, pages, first, key=f"{key}.page.{pages}", width=140)
        low, high = (page - 1) * MOST_SENT, min(page * MOST_SENT, len(rows))
        st.caption(f"Rows {low + 1:,} to {high:,} of {len(rows):,}. A click on a heading sorts these alone.")
    return rows[low:high]


def part(rows: NDArray[np.int64], shown: NDArray[np.int64]) -> str:
    """Returns the part of a table's key that tells its pages apart, "" for a table with one page."""
    return "" if len(shown) == len(rows) else f"{zlib.crc32(shown.tobytes()):08x}"


def _look(
    frame: pd.DataFrame | Styler, columns: Sequence[Column], most: int = MOST_ROWS, placeholder: str = "–"
) -> dict[str, Any]:
    return {
        "column_config": configs(columns), "hide_index": True, "height": table_height(len(frame.index), most),
        "row_height": ROW_PX, "placeholder": placeholder,
    }  # fmt: skip


PLAIN = 1_000  # so many names are sent as a whole
FOUND = 50  # names that a search sends


def pick(
    label: str,
    names: Collection[str],
    *,
    key: str,
    first: Sequence[str] = (),
    show: Callable[[str], str] = str,
    changed: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
    placeholder: str = "Type a part of a name",
    **look: Any,
) -> str | None:
    """Draw a choice and return the chosen name, or None. `changed` is called after a choice, with `args`.

    Up to `PLAIN` names are one list. Of more, the browser gets `first`, and the first `FOUND` names that have the typed words.
    `names` is a dictionary's keys or a set if it is long.
    """
    if len(names) <= PLAIN:
        options = list(dict.fromkeys([*first, *names]))
        return st.selectbox(
            label, options, index=None, key=key, format_func=show, placeholder=placeholder, on_change=changed, args=args,
            **look,
        )  # fmt: skip
    words = st.session_state.get(f"{key}:words", "")
    chosen: str = st.session_state.get(key) or ""
    hits, more = matches(names, words)
    current: list[str] = [chosen] if chosen in names else []
    options: list[str] = list(dict.fromkeys([*current, *(first if not words else ()), *hits]))
    choice: str | None = st.selectbox(
        label, options, index=None, key=key, format_func=show, placeholder=f"Enter words to search {len(names):,} names",
        accept_new_options=True, on_change=_chosen, args=(key, names, first, changed, args), **look,
    )  # fmt: skip
    if words:
        count_text = f"{len(hits):,}{' or more' if more else ''}" if hits else "None"
        st.caption(
            f"{count_text} of {len(names):,} names have “{escaped(words, 80)}”. Choose one in the list, or enter other words."
        )
    return choice


def matches(names: Collection[str], words: str) -> tuple[list[str], bool]:
    """Returns the first `FOUND` names that have these words, and whether there are more.

    >>> matches(["files::read", "mail::send"], "READ")
    (['files::read'], False)
    """
    hits: list[str] = []
    for name in names:
        if matching([name], words)[0]:
            if len(hits) == FOUND:
                return hits, True
            hits.append(name)
    return hits, False


def _chosen(
    key: str, names: Collection[str], first: Sequence[str], changed: Callable[..., None] | None, args: tuple[Any, ...]
) -> None:
    """Take a name as the choice, and other words as a search. Words that only one name has choose it."""
    value: str | None = st.session_state[key]
    st.session_state[f"{key}:words"] = ""
    if value is not None and value not in names and value not in first:
        hits, more = matches(names, value)
        st.session_state[f"{key}:words"] = value if len(hits) != 1 or more else ""
        value = st.session_state[key] = hits[0] if len(hits) == 1 else None
        if value is None:
            return
    if changed is not None:
        changed(*args)
