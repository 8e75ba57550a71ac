"""The tables of servers and tools: filtered by the search box, and with a row to choose."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

ROW_PX, MOST_ROWS = 32, 15


def choice_table(
    frame: pd.DataFrame | Styler,
    columns: Mapping[str, Any],
    *,
    labels: list[int],
    key: str,
    chosen: int | None,
    about: str,
) -> int | None:
    """Show a frame and return the label of the chosen row. `chosen` is where the choice starts under this key."""
    start: list[int] = [labels.index(chosen)] if chosen in labels else []
    event = st.dataframe(
        frame,
        key=key,
        column_config=dict(columns),
        hide_index=True,
        height=table_height(len(labels)),
        placeholder="–",
        row_height=ROW_PX,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": start}},
        alt=about,
    )
    rows: list[int] = event["selection"]["rows"]
    return labels[rows[0]] if rows and rows[0] < len(labels) else None


def table_height(rows: int) -> int:
    """Height in px: all rows, or fifteen that scroll."""
    return ROW_PX * (min(max(rows, 1), MOST_ROWS) + 1) + 3


def table_key(*parts: str) -> str:
    """A session key for one table over one selection of rows; another selection starts afresh."""
    return f"catalog.table.{zlib.crc32(repr(parts).encode()):08x}"


def filtered(frame: pd.DataFrame, mask: Sequence[bool]) -> pd.DataFrame:
    """The rows that the mask admits, under their old index labels."""
    return frame if all(mask) else frame.loc[list(mask)]
