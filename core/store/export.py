"""Tables as files: Parquet for programs, CSV for spreadsheets."""

from __future__ import annotations

from io import BytesIO
from typing import Literal

from core.shared.errors import StoreError
from core.store.arrow import Table, pa, pa_compute, pa_csv, pa_parquet

Format = Literal["csv", "parquet"]
FORMULA = r"^([=+\-@\t\r\n])"


def encode(table: Table, format_: Format) -> bytes:
    r"""A table as the bytes of a CSV (UTF-8, header, missing values as empty fields) or Parquet file.

    Texts come from strangers, and a spreadsheet runs a cell that begins with = + - @, a tab or a line break as a
    formula: in CSV such a text gets a leading apostrophe. Numbers keep their sign. Parquet is exact.

    Raises StoreError for another format.

    >>> encode(pa.table({"text": ["=1+1", "plain", "", None], "value": [-1.5, None, 2.0, 0.0]}), "csv").decode()
    '"text","value"\n"\'=1+1",-1.5\n"plain",\n"",2\n,0\n'
    """
    buffer = BytesIO()
    if format_ == "parquet":
        pa_parquet.write_table(table, buffer)
    elif format_ == "csv":
        pa_csv.write_csv(_disarmed(table), buffer)
    else:
        raise StoreError(f"There is no export format {format_!r}; choose csv or parquet.")
    return buffer.getvalue()


def _disarmed(table: Table) -> Table:
    columns = [
        pa_compute.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
