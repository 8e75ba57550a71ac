"""SQL over a small fictional grocery shop: read-only, one statement at a time, no way to the disk."""

from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from math import isfinite
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIME_LIMIT_S = 5.0
CELL_CHARS = 500
TABLES = ("customers", "orders", "products")
LOCKS = (
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET memory_limit = '256MB'",
    "SET threads = 1",
    "SET lock_configuration = true",
)

Table = Annotated[Literal["customers", "orders", "products"], Field(description="Table of the shop")]
Sql = Annotated[str, Field(description="One SELECT statement in DuckDB's dialect", min_length=1, max_length=10_000)]
RowLimit = Annotated[int, Field(description="Largest number of rows to return", ge=1, le=500)]

server = MCPServer(
    "larder",
    title="Larder",
    description="Query the customers, products and orders of a fictional grocery shop (Larder, 2024) with SQL.",
    instructions="Tables: customers, products, orders. Only single SELECT statements run; nothing can be changed.",
    version="1.0.0",
    log_level="WARNING",
)


class Rows(BaseModel):
    """A result table."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool = Field(description="True where more rows exist than were returned")


class Column(BaseModel):
    """One column of a table."""

    name: str
    type: str
    example: Any


@cache
def _database() -> "DuckDBPyConnection":
    """The shop in memory, loaded from the shipped files and then locked."""
    import duckdb

    con = duckdb.connect(":memory:")
    data = Path(__file__).parent / "data"
    for table in TABLES:
        con.read_csv(str(data / f"shop_{table}.csv")).create(table)
    for lock in LOCKS:
        con.execute(lock)
    return con


def _plain(value: Any, cell_chars: int) -> Any:
    """A cell as JSON can carry it."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)[:cell_chars]


def _select(
    sql: str, limit: int, values: list[Any] | None = None, *, explain: bool = False, cell_chars: int = CELL_CHARS
) -> Rows:
    """Run one SELECT in a read-only transaction that is rolled back, for a limited time.

    The transaction matters: a SELECT may carry INSERT or DELETE in its WITH clause.
    """
    import duckdb

    cursor = _database().cursor()
    timer = Timer(TIME_LIMIT_S, cursor.interrupt)
    try:
        statements = cursor.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise ToolError("only one SELECT statement is allowed")
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        timer.start()
        result = cursor.execute(f"EXPLAIN {statements[0].query}" if explain else statements[0], values)
        if any("TIME ZONE" in str(column[1]) for column in result.description or ()):
            raise ToolError("cast times that carry a zone to TIMESTAMP")
        columns = [column[0] for column in result.description or ()]
        rows = result.fetchmany(limit + 1)
    except duckdb.InterruptException as error:
        raise ToolError(f"stopped after {TIME_LIMIT_S:g} s: the query is too expensive") from error
    except duckdb.Error as error:
        raise ToolError(str(error)) from error
    finally:
        timer.cancel()
        cursor.close()
    plain = [[_plain(cell, cell_chars) for cell in row] for row in rows[:limit]]
    return Rows(columns=columns, rows=plain, truncated=len(rows) > limit)


@server.tool(title="List tables", annotations=READS)
def list_tables() -> dict[str, int]:
    """List the tables of the shop database with their number of rows."""
    return {table: _select(f"SELECT count(*) FROM {table}", 1).rows[0][0] for table in TABLES}  # noqa: S608


@server.tool(title="Describe a table", annotations=READS)
def describe_table(table: Table) -> list[Column]:
    """Show the columns of one table with their types and an example value."""
    described = _select(f"DESCRIBE {table}", 100).rows
    example = _select(f"SELECT * FROM {table} LIMIT 1", 1).rows[0]  # noqa: S608 - the name is one of TABLES
    return [Column(name=row[0], type=row[1], example=value) for row, value in zip(described, example, strict=True)]


@server.tool(title="Run a query", annotations=READS)
def run_query(sql: Sql, row_limit: RowLimit = 50) -> Rows:
    """Run a read-only SQL query over the shop's customers, orders and products."""
    return _select(sql, row_limit)


@server.tool(title="Explain a query", annotations=READS)
def explain_query(sql: Sql) -> str:
    """Show how the database would carry out a query, without running it."""
    return "\n".join(str(row[-1]) for row in _select(sql, 10, explain=True, cell_chars=20_000).rows)


@server.tool(title="Sample rows", annotations=READS)
def sample_rows(table: Table, count: Annotated[int, Field(description="How many rows", ge=1, le=50)] = 5) -> Rows:
    """Show the first rows of a table."""
    return _select(f"SELECT * FROM {table} ORDER BY 1 LIMIT {count}", count)  # noqa: S608 - checked by the types


@server.tool(title="Best sellers", annotations=READS)
def best_sellers(
    by: Annotated[Literal["revenue", "quantity"], Field(description="What to rank by")] = "revenue",
    category: Annotated[str, Field(description="Only this product category, for example dairy; empty for all")] = "",
    count: Annotated[int, Field(description="How many products", ge=1, le=24)] = 5,
) -> Rows:
    """Rank the shop's products by what was sold in 2024; returned orders do not count."""
    sql = f"""
        SELECT p.name, p.category, sum(o.quantity) AS quantity, round(sum(o.quantity * p.price_eur), 2) AS revenue
        FROM orders o JOIN products p USING (product_id)
        WHERE o.status <> 'returned' AND (? = '' OR p.category = ?)
        GROUP BY ALL ORDER BY {by} DESC, p.name"""  # noqa: S608 - `by` is one of two words
    found = _select(sql, count, [category, category])
    return found.model_copy(update={"truncated": False})


@server.tool(title="Revenue over time", annotations=READS)
def revenue_by_period(
    period: Annotated[Literal["month", "quarter", "weekday"], Field(description="How to group the days")] = "month",
) -> Rows:
    """Sum the shop's revenue of 2024 per month, quarter or day of the week."""
    key = {"month": "strftime(o.ordered, '%Y-%m')", "quarter": "quarter(o.ordered)", "weekday": "isodow(o.ordered)"}
    return _select(
        f"""SELECT {key[period]} AS {period}, count(*) AS orders, round(sum(o.quantity * p.price_eur), 2) AS revenue
        FROM orders o JOIN products p USING (product_id) WHERE o.status <> 'returned' GROUP BY ALL ORDER BY 1""",  # noqa: S608
        100,
    )


if __name__ == "__main__":
    serve(server)
