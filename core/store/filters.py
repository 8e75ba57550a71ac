"""Which decisions and calls to show. Every value is bound as a parameter; texts are matched without wildcards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from core.domain.catalog import tool_id
from core.errors import StoreError

Condition = tuple[str, object]


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """What the operator picked; the default admits everything.

    `since` is inclusive, `until` exclusive, both with a time zone. `text` is looked for anywhere, without regard to
    case. `simulated` None admits both. `kinds` are values of OutcomeKind. A decision meets `server` and `tool` by its
    winner, and `kinds` and `simulated` where one of its calls does.

    Raises StoreError for a time without a zone.
    """

    catalog: str | None = None
    server: str | None = None
    tool: str | None = None
    text: str = ""
    kinds: tuple[str, ...] = ()
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    simulated: bool | None = None

    def __post_init__(self) -> None:
        for time in (self.since, self.until):
            if time is not None and time.tzinfo is None:
                raise StoreError(f"The time {time} has no zone; give one with a zone, such as UTC.")

    def of_calls(self) -> tuple[str, list[object]]:
        """SQL condition and parameters over `outcomes o` joined with their `decisions d`.

        >>> ActivityFilter(server="files", simulated=False).of_calls()
        ('o.server = ? AND o.simulated = ?', ['files', False])
        >>> ActivityFilter().of_calls()
        ('true', [])
        """
        searched = "concat_ws(chr(10), o.server, o.tool, o.error, d.subtask)"
        return _joined(
            [
                *self._common("o", searched),
                ("o.server = ?", self.server),
                ("o.tool = ?", self.tool),
                *self._ended(),
            ]
        )

    def of_decisions(self) -> tuple[str, list[object]]:
        """SQL condition and parameters over `decisions d`."""
        searched = "concat_ws(chr(10), d.subtask, d.winner, d.reason)"
        ended, parameters = _joined(self._ended())
        condition, values = _joined([*self._common("d", searched), *self._won()])
        if parameters:
            condition += f" AND d.id IN (SELECT o.decision_id FROM outcomes o WHERE {ended})"  # noqa: S608
        return condition, values + parameters

    def _common(self, table: str, searched: str) -> list[Condition]:
        return [
            (f"{table}.catalog = ?", self.catalog),
            (f"{table}.origin = ?", self.origin),
            (f'{table}."at" >= ?', self.since),
            (f'{table}."at" < ?', self.until),
            (f"contains(lower({searched}), lower(?))", self.text or None),
        ]

    def _ended(self) -> list[Condition]:
        return [("list_contains(?, o.kind)", [*self.kinds] or None), ("o.simulated = ?", self.simulated)]

    def _won(self) -> list[Condition]:
        if self.server is not None and self.tool is not None:
            return [("d.winner = ?", tool_id(self.server, self.tool))]
        return [
            ("starts_with(d.winner, ?)", None if self.server is None else tool_id(self.server, "")),
            ("ends_with(d.winner, ?)", None if self.tool is None else tool_id("", self.tool)),
        ]


def _joined(conditions: Iterable[Condition]) -> tuple[str, list[object]]:
    """Those whose value is given, joined by AND."""
    given = [(sql, value) for sql, value in conditions if value is not None]
    return " AND ".join(sql for sql, _ in given) or "true", [value for _, value in given]
