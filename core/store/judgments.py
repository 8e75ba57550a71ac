"""Judgments of tools, in sets by catalog."""

from __future__ import annotations

from core.domain.judgment import Judgment
from core.store.log import Log, entry


class Judgments:
    """Append-only: a judgment that was written stays; a later one of the same judge counts instead."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def append(self, *judgments: Judgment) -> None:
        """Commit judgments together. Raises StoreError, and keeps none of them, where one cannot be stored."""
        self._log.write([entry(judgment) for judgment in judgments])

    def history(self, catalog: str) -> tuple[Judgment, ...]:
        """Every entry of a catalog in order of commit."""
        return tuple(self._log.read(Judgment, "catalog = ?", [catalog]))
