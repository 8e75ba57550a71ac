"""Structured results as a table, where they are a list of flat objects. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

MOST_ROWS, MOST_COLUMNS = 5_000, 60
SAFE_INTEGER = 2**53


def flat_table(value: Any) -> pd.DataFrame | None:
    """The first list of flat objects in a result, at the top or one level down, or `columns` with `rows`; else None.

    >>> flat_table({"rows": [{"a": 1}, {"a": 2, "b": "x"}]}).columns.tolist()
    ['a', 'b']
    >>> flat_table({"a": 1}) is None
    True
    """
    for candidate in [_zipped(value), value, *(value.values() if isinstance(value, dict) else ())]:
        if _is_flat(candidate):
            rows = candidate[:MOST_ROWS]
            names = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
            return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})
    return None


def _zipped(value: Any) -> Any:
    """The rows of `{"columns": [...], "rows": [[...]]}`, the usual shape of a query's result, as objects."""
    names, rows = (value.get("columns"), value.get("rows")) if isinstance(value, dict) else (None, None)
    if not isinstance(names, list) or not isinstance(rows, list) or not all(isinstance(name, str) for name in names):
        return None
    fits = len(set(names)) == len(names) and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fits else None


def finite(value: Any) -> Any:
    """The same document with NaN, infinities and integers that a browser would round as text."""
    if isinstance(value, dict):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
        return str(value)
    return value


def _is_flat(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) and row for row in value):
        return False
    return not any(isinstance(cell, dict | list) for row in value for cell in row.values())


def _column(cells: list[Any]) -> list[Any]:
    """Numbers stay numbers where all of them are; anything else becomes text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    numbers = kinds <= {int, float} and all(cell is None or abs(cell) <= SAFE_INTEGER for cell in cells)
    if kinds and (numbers or kinds in ({bool}, {str})):
        return cells
    return [None if cell is None else cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]
