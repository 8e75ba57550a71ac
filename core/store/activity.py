"""Decisions and calls as tables for the Activity page. Only reads committed rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

from core.domain.catalog import tool_id
from core.domain.errors import StoreError
from core.domain.events import PAUSE_MINUTES, ActivityFilter, DecisionEvent, OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.store.connection import Database, pa
from core.store.log import TABLES, Log
from core.store.tables import Format, write_parts

if TYPE_CHECKING:
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]


# SQL conditions for an `ActivityFilter`. Every value is bound as a parameter. Texts are matched without wildcards.

Condition = tuple[str, object]
Filter = tuple[str, list[object]]


def calls_condition(where: ActivityFilter) -> Filter:
    """SQL condition and parameters over `outcomes o` joined with their `decisions d`."""
    text_sql = "concat_ws(chr(10), o.server, o.tool, o.error, o.client, d.subtask)"
    conditions = [("o.server = ?", where.server), ("o.tool = ?", where.tool)]
    return _joined([*_common(where, "o", text_sql), *conditions, *_ended(where)])


def decisions_condition(where: ActivityFilter) -> Filter:
    text_sql = "concat_ws(chr(10), d.subtask, d.winner, d.reason, d.client)"
    call_condition, parameters = _joined(_ended(where))
    condition, values = _joined([*_common(where, "d", text_sql), *_won(where)])
    if parameters:
        condition += f" AND d.id IN (SELECT o.decision_id FROM outcomes o WHERE {call_condition})"  # noqa: S608
    return condition, values + parameters


def refused_condition(where: ActivityFilter) -> Filter:
    """SQL condition and parameters over `refused_requests r`. Refused requests have no outcome and are not simulated."""
    text_sql = "concat_ws(chr(10), r.client, r.server, r.tool, r.error, r.why)"
    return _joined([*_common(where, "r", text_sql), ("r.server = ?", where.server), ("r.tool = ?", where.tool)])


def _common(where: ActivityFilter, table: str, text_sql: str) -> list[Condition]:
    return [
        (f"{table}.catalog = ?", where.catalog),
        (f"{table}.origin = ?", where.origin),
        (f"{table}.client = ?", where.client),
        (f'{table}."at" >= ?', where.since),
        (f'{table}."at" < ?', where.until),
        (f"contains(lower({text_sql}), lower(?))", where.text or None),
    ]


def _ended(where: ActivityFilter) -> list[Condition]:
    return [("list_contains(?, o.kind)", [*where.kinds] or None), ("o.simulated = ?", where.simulated)]


def _won(where: ActivityFilter) -> list[Condition]:
    if where.server is not None and where.tool is not None:
        return [("d.winner = ?", tool_id(where.server, where.tool))]
    return [
        ("starts_with(d.winner, ?)", None if where.server is None else tool_id(where.server, "")),
        ("ends_with(d.winner, ?)", None if where.tool is None else tool_id("", where.tool)),
    ]


def _joined(conditions: Iterable[Condition]) -> Filter:
    """Joins the conditions with a value by AND."""
    filters = [(sql, value) for sql, value in conditions if value is not None]
    return " AND ".join(sql for sql, _ in filters) or "true", [value for _, value in filters]


ALL = ActivityFilter()
CALLS = "outcomes o LEFT JOIN decisions d ON d.id = o.decision_id"
SPENT = "sum(o.price_usd) AS spent_usd, count(*) AS calls, count(*) FILTER (o.price_usd IS NULL) AS unpriced_calls"
UNCOUNTED = ", ".join(f"'{kind}'" for kind in OutcomeKind if not kind.counts)
COUNTS = f"FILTER (o.kind NOT IN ({UNCOUNTED}) AND o.injected = '')"


@dataclass(eq=False)
class Activity:
    """Listings newest first, and aggregates oldest first. Times are UTC, money USD, durations seconds.

    Simulated calls are never added to real calls. Every aggregate has a `simulated` column and separate rows for both.
    An undeclared price is missing, not zero. Sums leave it out, and `unpriced_calls` counts it.
    """

    database: Database
    log: Log

    def decisions(self, where: ActivityFilter = ALL, *, limit: int = 100, offset: int = 0) -> pd.DataFrame:
        """Decisions newest first, without their long JSON fields (`decision` has them)."""
        columns = "d.* EXCLUDE (parameters_json, candidates_json, trace_json)"
        return self._page(columns, "decisions d", decisions_condition(where), limit, offset)

    def decision_count(self, where: ActivityFilter = ALL) -> int:
        return self._count("decisions d", decisions_condition(where))

    def calls(self, where: ActivityFilter = ALL, *, limit: int = 100, offset: int = 0) -> pd.DataFrame:
        """Calls newest first, with the `router` and `subtask` of their decisions, missing if a call had no decision."""
        return self._page("o.*, d.router, d.subtask", CALLS, calls_condition(where), limit, offset)

    def call_count(self, where: ActivityFilter = ALL) -> int:
        return self._count(CALLS, calls_condition(where))

    def refused(self, where: ActivityFilter = ALL, *, limit: int = 100, offset: int = 0) -> pd.DataFrame:
        """Refused requests, newest first. `kinds` and `simulated` do not apply, because they have no outcome."""
        return self._page("r.*", "refused_requests r", refused_condition(where), limit, offset)

    def refused_count(self, where: ActivityFilter = ALL) -> int:
        return self._count("refused_requests r", refused_condition(where))

    def sessions(self, where: ActivityFilter = ALL, *, limit: int = 50) -> pd.DataFrame:
        """Sessions, newest first: decisions of a client in a catalog without a pause above `PAUSE_MINUTES`. Columns catalog, origin,
        client, since, until, decisions, and the id of the first decision."""
        condition, values = decisions_condition(where)
        partition = 'PARTITION BY catalog, origin, client ORDER BY "at", sequence'
        return self._frame(
            f"""SELECT catalog, origin, client, min("at") AS since, max("at") AS until, count(*) AS decisions, min_by(id, "at") AS id
            FROM (SELECT *, count(*) FILTER (begins) OVER ({partition}) AS number
                FROM (SELECT d.*, "at" - lag("at") OVER ({partition}) > INTERVAL {PAUSE_MINUTES} MINUTE AS begins FROM decisions d WHERE {condition}))
            GROUP BY catalog, origin, client, number ORDER BY until DESC, id LIMIT ?""",  # noqa: S608
            [*values, limit],
        )

    def spending_by_server(self, where: ActivityFilter = ALL) -> pd.DataFrame:
        """Columns server, simulated, spent_usd (missing if no call was priced), calls, unpriced_calls."""
        condition, values = calls_condition(where)
        return self._frame(
            f"""SELECT o.server, o.simulated, {SPENT} FROM {CALLS} WHERE {condition}
            GROUP BY ALL ORDER BY spent_usd DESC NULLS LAST, o.server, o.simulated""",  # noqa: S608
            values,
        )

    def spending_over_time(self, bucket: timedelta, where: ActivityFilter = ALL) -> pd.DataFrame:
        """Columns at (a bucket's start), simulated, spent_usd, calls, unpriced_calls. Empty buckets are left out.

        Raises StoreError if the bucket is not longer than 0 s.
        """
        return self._over_time(bucket, SPENT, where)

    def success_and_latency_over_time(self, bucket: timedelta, where: ActivityFilter = ALL) -> pd.DataFrame:
        """Success and latency of a server or tool, which `where` selects.

        Columns at (a bucket's start), simulated, calls, success_share in [0, 1], latency_p50_s, latency_p95_s. Calls
        that were cancelled or not made, and calls that an injected network troubled, say nothing about a tool and are left out. A
        failed call's latency counts. Empty buckets are left out. Raises StoreError if the bucket is not longer than 0 s.
        """
        columns = f"""count(*) {COUNTS} AS calls, avg((o.kind = 'ok')::DOUBLE) {COUNTS} AS success_share,
            quantile_cont(o.latency_s, 0.5) {COUNTS} AS latency_p50_s,
            quantile_cont(o.latency_s, 0.95) {COUNTS} AS latency_p95_s"""
        return self._over_time(bucket, columns, where)

    def decision_totals(self, bounds_s: Sequence[float]) -> list[dict[str, Any]]:
        """All decisions by catalog, router and origin: count, seconds, and `buckets`, the counts of durations up to each bound
        and above the previous bound."""
        return self._totals("catalog, router, origin", "decisions", "total_ms / 1e3", bounds_s)

    def call_totals(self, bounds_s: Sequence[float]) -> list[dict[str, Any]]:
        """All calls by catalog, server, outcome, simulated and origin, with usd and unpriced."""
        money = ", coalesce(sum(price_usd), 0.0) AS usd, count(*) FILTER (price_usd IS NULL) AS unpriced"
        columns = "catalog, server, kind AS outcome, simulated, origin"
        return self._totals(columns, "outcomes", "latency_s", bounds_s, money)

    def statistics_history(
        self, catalog: str, server: str, tool: str | None = None, *, limit: int = 2000
    ) -> pd.DataFrame:
        """The newest `limit` statistics of a server, after calls of one tool or of all tools, in order of commit."""
        return self._frame(
            """SELECT * FROM (
                SELECT * FROM statistics WHERE catalog = ? AND server = ? AND (?::VARCHAR IS NULL OR tool = ?)
                ORDER BY sequence DESC LIMIT ?
            ) ORDER BY sequence""",
            [catalog, server, tool, tool, limit],
        )

    def decision(self, id_: str) -> DecisionEvent | None:
        return next(self.log.read(DecisionEvent, "id = ?", [id_], traces=True), None)

    def decision_outcomes(self, id_: str) -> tuple[OutcomeEvent, ...]:
        return tuple(self.log.read(OutcomeEvent, "decision_id = ?", [id_]))

    def latest_sequence(self) -> int:
        """Grows with every commit of events and edits. It is cheap, for pages that refresh themselves."""
        return self.log.last

    def export(self, table: str, format_: Format) -> bytes:
        file = BytesIO()
        self.write(table, format_, file)
        return file.getvalue()

    def write(self, table: str, format_: Format, file: BinaryIO) -> None:
        """Writes a table of the log (`core.store.log.TABLES`) in order of commit, see `encode`.

        Raises StoreError for another table or format.
        """
        if table not in TABLES.values():
            raise StoreError(f"There is no table {table!r} to export; choose {', '.join(TABLES.values())}.")
        empty = self.database.read(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608
        batches = self.log.batches(table, "true", [], traces=table == TABLES[DecisionEvent])
        write_parts(chain([empty], (pa.Table.from_batches([batch]) for batch in batches)), format_, file)

    def _over_time(self, bucket: timedelta, columns: str, where: ActivityFilter) -> pd.DataFrame:
        if bucket <= timedelta(0):
            raise StoreError(f"A bucket of {bucket} is not longer than 0 s; give a longer one.")
        condition, values = calls_condition(where)
        return self._frame(
            f"""SELECT time_bucket(?, o."at") AS "at", o.simulated, {columns} FROM {CALLS} WHERE {condition}
            GROUP BY ALL ORDER BY ALL""",  # noqa: S608
            [bucket, *values],
        )

    def _totals(
        self, by: str, table: str, seconds: str, bounds_s: Sequence[float], more: str = ""
    ) -> list[dict[str, Any]]:
        edges = pairwise((float("-inf"), *bounds_s))
        buckets = ", ".join(
            f"count(*) FILTER ({seconds} > {low!r}::DOUBLE AND {seconds} <= {high!r}::DOUBLE)".replace("-inf", "'-inf'")
            for low, high in edges
        )
        return self.database.read(
            f"""SELECT {by}, count(*) AS count, sum({seconds}) AS seconds, [{buckets}] AS buckets{more}
            FROM {table} GROUP BY ALL ORDER BY ALL""",  # noqa: S608
            [],
        ).to_pylist()

    def _page(self, columns: str, rows: str, condition: Filter, limit: int, offset: int) -> pd.DataFrame:
        """Rows newest first, by the first table in `rows`. Its alias is the second word."""
        where, values = condition
        alias = rows.split()[1]
        return self._frame(
            f'SELECT {columns} FROM {rows} WHERE {where} ORDER BY {alias}."at" DESC, {alias}.sequence DESC LIMIT ? OFFSET ?',  # noqa: S608
            [*values, limit, offset],
        )

    def _count(self, rows: str, condition: Filter) -> int:
        where, values = condition
        return self.database.read(f"SELECT count(*) FROM {rows} WHERE {where}", values)[0][0].as_py()  # noqa: S608

    def _frame(self, sql: str, parameters: list[object]) -> pd.DataFrame:
        return self.database.read(sql, parameters).to_pandas()
