"""Tables given as CSV text: filter, sort, join, group, pivot and convert them."""

from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

if TYPE_CHECKING:
    from pandas import DataFrame

Csv = Annotated[str, Field(description="Table as CSV text with a header line", max_length=1_000_000)]
Column = Annotated[str, Field(description="Name of a column")]
Columns = Annotated[list[str], Field(description="Names of columns, in order", min_length=1)]
Aggregate = Literal["sum", "mean", "min", "max", "median", "count"]

server = MCPServer(
    "csv-tables",
    title="CSV tables",
    description="Work with tables in CSV text: describe, filter, sort, group, join, pivot and convert.",
    instructions="Pass the table as CSV text with a header line; most tools give CSV text back, so they chain.",
    version="1.0.0",
    log_level="WARNING",
)


class Condition(BaseModel):
    """One test on a column."""

    column: str = Field(description="Column to test")
    operator: Literal["==", "!=", "<", "<=", ">", ">=", "contains"] = Field(description="How to compare")
    value: str | float = Field(description="What to compare with")


class ColumnSummary(BaseModel):
    """What one column holds."""

    name: str
    type: Literal["number", "text", "boolean"]
    missing: int
    distinct: int
    minimum: Any = None
    maximum: Any = None
    mean: float | None = None


def _read(text: str, *needed: str, separator: str = ",") -> "DataFrame":
    """The table, with the columns that the caller is going to use."""
    import pandas as pd

    try:
        frame = pd.read_csv(StringIO(text), sep=separator, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ToolError(f"this is not a table: {error}") from error
    if missing := [name for name in needed if name not in frame.columns]:
        raise ToolError(f"no column {missing[0]!r}; there are: {', '.join(map(str, frame.columns))}")
    return frame


def _write(frame: "DataFrame", separator: str = ",") -> str:
    return frame.to_csv(index=False, sep=separator, lineterminator="\n")


def _numeric(frame: "DataFrame", column: str) -> None:
    if frame[column].dtype.kind not in "iufb":
        raise ToolError(f"column {column!r} does not hold numbers only")


@server.tool(title="Describe a CSV table", annotations=READS)
def describe_csv(csv: Csv) -> list[ColumnSummary]:
    """Summarise each column of a CSV table: type, missing and distinct values, minimum, maximum and mean."""
    frame = _read(csv)
    summaries = []
    for name in frame.columns:
        kind = {"i": "number", "u": "number", "f": "number", "b": "boolean"}.get(frame[name].dtype.kind, "text")
        values = frame[name].dropna().tolist()
        summary = ColumnSummary(
            name=str(name), type=kind, missing=int(frame[name].isna().sum()), distinct=int(frame[name].nunique())
        )
        if values and kind != "boolean":
            summary.minimum, summary.maximum = min(values), max(values)
            summary.mean = sum(values) / len(values) if kind == "number" else None
        summaries.append(summary)
    return summaries


@server.tool(title="Filter rows", annotations=READS)
def filter_rows(
    csv: Csv,
    conditions: Annotated[list[Condition], Field(description="Tests on columns", min_length=1)],
    match: Annotated[Literal["all", "any"], Field(description="Whether all tests must hold or any")] = "all",
) -> str:
    """Keep the rows of a CSV table that fulfil conditions on their columns."""
    frame = _read(csv, *(condition.column for condition in conditions))
    masks = [_mask(frame, condition) for condition in conditions]
    keep = masks[0]
    for mask in masks[1:]:
        keep = keep & mask if match == "all" else keep | mask
    return _write(frame[keep])


def _mask(frame: "DataFrame", condition: Condition) -> Any:
    column, value = frame[condition.column], condition.value
    if condition.operator == "contains":
        wanted = f"{value:g}" if isinstance(value, float) else value
        return column.astype(str).str.contains(wanted, case=False, regex=False)
    if column.dtype.kind in "iuf":
        try:
            value = float(value)
        except ValueError as error:
            raise ToolError(f"column {condition.column!r} holds numbers, {value!r} is none") from error
    else:
        column, value = column.astype(str), str(value)
    compare: dict[str, Callable[[], Any]] = {
        "==": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
    }
    return compare[condition.operator]()


@server.tool(title="Sort rows", annotations=READS)
def sort_rows(
    csv: Csv,
    columns: Columns,
    descending: Annotated[bool, Field(description="Largest first")] = False,
) -> str:
    """Sort a CSV table by one or more columns."""
    frame = _read(csv, *columns)
    return _write(frame.sort_values(columns, ascending=not descending, kind="stable"))


@server.tool(title="Select columns", annotations=READS)
def select_columns(csv: Csv, columns: Columns) -> str:
    """Columns picker."""
    return _write(_read(csv, *columns)[columns])


@server.tool(title="Group and aggregate", annotations=READS)
def group_and_aggregate(
    csv: Csv,
    group_by: Columns,
    value: Column,
    aggregate: Annotated[Aggregate, Field(description="How to combine the values of a group")] = "sum",
) -> str:
    """Group the rows of a CSV table and compute a sum, mean, minimum, maximum, median or count per group."""
    frame = _read(csv, *group_by, value)
    if value in group_by:
        raise ToolError(f"{value!r} cannot both make the groups and be combined within them")
    if aggregate != "count":
        _numeric(frame, value)
    return _write(frame.groupby(group_by)[value].agg(aggregate).reset_index())


@server.tool(title="Join two tables", annotations=READS)
def join_tables(
    left_csv: Csv,
    right_csv: Csv,
    on: Annotated[str, Field(description="Column that both tables have")],
    how: Annotated[Literal["inner", "left", "outer"], Field(description="Which rows to keep")] = "inner",
) -> str:
    """Join two CSV tables on a common column."""
    left, right = _read(left_csv, on), _read(right_csv, on)
    try:
        joined = left.merge(right, on=on, how=how)
    except ValueError as error:
        raise ToolError(f"column {on!r} has different types in the two tables") from error
    return _write(joined)


@server.tool(title="Pivot", annotations=READS)
def pivot_table(
    csv: Csv,
    rows: Annotated[str, Field(description="Column whose values become the rows")],
    columns: Annotated[str, Field(description="Column whose values become the columns")],
    value: Column,
    aggregate: Annotated[Aggregate, Field(description="How to combine values that meet in one cell")] = "sum",
) -> str:
    """Turn a long CSV table into a cross table of two of its columns."""
    frame = _read(csv, rows, columns, value)
    if aggregate != "count":
        _numeric(frame, value)
    return _write(frame.pivot_table(index=rows, columns=columns, values=value, aggfunc=aggregate).reset_index())


@server.tool(title="Drop duplicate rows", annotations=READS)
def drop_duplicate_rows(
    csv: Csv,
    columns: Annotated[Sequence[str], Field(description="Columns that make a row a duplicate; empty: all")] = (),
) -> str:
    """Remove repeated rows from a CSV table, keeping the first of each."""
    return _write(_read(csv, *columns).drop_duplicates(columns or None))


@server.tool(title="CSV to JSON", annotations=READS)
def csv_to_json(csv: Csv) -> list[dict[str, Any]]:
    """Convert CSV text to a list of JSON objects, one per row; empty cells become null."""
    frame = _read(csv).astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


@server.tool(title="CSV to Markdown", annotations=READS)
def csv_to_markdown(csv: Csv) -> str:
    """Render CSV text as a Markdown table."""
    frame = _read(csv).astype(str)
    cells = [[str(name) for name in frame.columns], ["---"] * len(frame.columns), *frame.values.tolist()]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)


@server.tool(title="Change the delimiter", annotations=READS)
def change_delimiter(
    text: Annotated[str, Field(description="Table as delimited text with a header line", max_length=1_000_000)],
    source: Annotated[Literal[",", ";", "\t", "|"], Field(description="Delimiter that the text has")] = ";",
    target: Annotated[Literal[",", ";", "\t", "|"], Field(description="Delimiter that it should get")] = ",",
) -> str:
    """Rewrite delimited text with another delimiter, for example semicolons as commas."""
    return _write(_read(text, separator=source), target)


if __name__ == "__main__":
    serve(server)
