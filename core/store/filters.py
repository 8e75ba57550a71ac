"""SQL conditions for an `ActivityFilter`. Every value is bound as a parameter; texts are matched without wildcards."""

from __future__ import annotations

from collections.abc import Iterable

from core.domain.activity_filter import ActivityFilter
from core.domain.catalog import tool_id

Condition = tuple[str, object]


def calls_condition(where: ActivityFilter) -> tuple[str, list[object]]:
    """SQL condition and parameters over `outcomes o` joined with their `decisions d`.

    >>> calls_condition(ActivityFilter(server="files", simulated=False))
    ('o.server = ? AND o.simulated = ?', ['files', False])
    >>> calls_condition(ActivityFilter())
    ('true', [])
    """
    searched = "concat_ws(chr(10), o.server, o.tool, o.error, o.client, d.subtask)"
    conditions = [("o.server = ?", where.server), ("o.tool = ?", where.tool)]
    return _joined([*_common(where, "o", searched), *conditions, *_ended(where)])


def decisions_condition(where: ActivityFilter) -> tuple[str, list[object]]:
    """SQL condition and parameters over `decisions d`."""
    searched = "concat_ws(chr(10), d.subtask, d.winner, d.reason, d.client)"
    ended, parameters = _joined(_ended(where))
    condition, values = _joined([*_common(where, "d", searched), *_won(where)])
    if parameters:
        condition += f" AND d.id IN (SELECT o.decision_id FROM outcomes o WHERE {ended})"  # noqa: S608
    return condition, values + parameters


def refused_condition(where: ActivityFilter) -> tuple[str, list[object]]:
    """SQL condition and parameters over `refused_requests r`: what was refused has no outcome, and is not simulated.

    >>> refused_condition(ActivityFilter(server="files", kinds=("ok",)))
    ('r.server = ?', ['files'])
    """
    searched = "concat_ws(chr(10), r.client, r.server, r.tool, r.error, r.why)"
    return _joined([*_common(where, "r", searched), ("r.server = ?", where.server), ("r.tool = ?", where.tool)])


def _common(where: ActivityFilter, table: str, searched: str) -> list[Condition]:
    return [
        (f"{table}.catalog = ?", where.catalog),
        (f"{table}.origin = ?", where.origin),
        (f'{table}."at" >= ?', where.since),
        (f'{table}."at" < ?', where.until),
        (f"contains(lower({searched}), lower(?))", where.text or None),
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


def _joined(conditions: Iterable[Condition]) -> tuple[str, list[object]]:
    """Those whose value is given, joined by AND."""
    given = [(sql, value) for sql, value in conditions if value is not None]
    return " AND ".join(sql for sql, _ in given) or "true", [value for _, value in given]
