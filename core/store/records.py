"""Calibrations by catalog, and which one is in force."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.domain.errors import UnknownNameError
from core.domain.events import DecisionEvent, OutcomeEvent, Override
from core.domain.feedback import Calibration, CalibrationSwitch, Judgment, Label, switched_on
from core.domain.requests import RequestChange
from core.domain.tasks import EqualJudgment
from core.store.connection import Database
from core.store.log import Log
from core.store.tables import TypedTable


class Calibrations:
    """Append-only: saved calibrations and the steps of switching between them stay."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def save(self, calibration: Calibration, switch: CalibrationSwitch | None = None) -> None:
        """Keep a calibration and, with `switch`, switch it on in the same transaction. Raises StoreError."""
        self._log.append(*(record for record in (calibration, switch) if record is not None))

    def switch(self, switch: CalibrationSwitch) -> None:
        """Keep a step of the history. Raises StoreError."""
        self._log.append(switch)

    def of_catalog(self, catalog: str) -> tuple[Calibration, ...]:
        """The calibrations of a catalog, newest first; of one name the newest alone."""
        found = tuple(self._log.read(Calibration, "catalog = ?", [catalog]))
        newest = {calibration.name: calibration for calibration in found}
        return tuple(calibration for calibration in reversed(found) if newest[calibration.name] is calibration)

    def find(self, catalog: str, name: str) -> Calibration:
        """The newest calibration of a name. Raises UnknownNameError that names those there are."""
        known = self.of_catalog(catalog)
        for calibration in known:
            if calibration.name == name:
                return calibration
        names = ", ".join(calibration.name for calibration in known[:8]) or "none"
        raise UnknownNameError(f"Catalog {catalog!r} has no calibration {name!r}; it has: {names}.")

    def history(self, catalog: str) -> tuple[CalibrationSwitch, ...]:
        return tuple(self._log.read(CalibrationSwitch, "catalog = ?", [catalog]))

    def active(self, catalog: str) -> Calibration | None:
        """The calibration in force. Returns None for the shipped values."""
        id_ = switched_on(self.history(catalog))
        return next(self._log.read(Calibration, "id = ?", [id_]), None) if id_ else None


# Judgments of pairs of tools as equal or different, by catalog.


class EqualJudgments:
    """One judgment a pair: a later one takes the place of the earlier one."""

    def __init__(self, database: Database) -> None:
        self._table = TypedTable(database, EqualJudgment, "equal_judgments")

    def save(self, judged: Sequence[EqualJudgment]) -> None:
        """Keep judgments, all or none. Raises StoreError."""
        self._table.put(*judged)

    def remove(self, catalog: str, one: str, other: str) -> None:
        self._table.remove("catalog = ? AND one = ? AND other = ?", [catalog, one, other])

    def of_catalog(self, catalog: str) -> tuple[EqualJudgment, ...]:
        """The judgments of a catalog, oldest first."""
        return self._table.select('catalog = ? ORDER BY "at", one, other', [catalog])


# The events of a catalog in order of commit, as a replay reads them.

Happened = DecisionEvent | OutcomeEvent | Override


class History:
    def __init__(self, log: Log) -> None:
        self._log = log

    def of_catalog(self, catalog: str, *, decisions: int) -> Iterator[Happened]:
        """Every outcome, every price set by hand, and the newest `decisions` decisions, a few in memory at a time."""
        newest = "catalog = ? AND sequence >= (SELECT min(sequence) FROM (SELECT sequence FROM decisions WHERE catalog = ? ORDER BY sequence DESC LIMIT ?))"
        happened: list[Iterator[tuple[int, Happened]]] = [
            self._log.numbered(DecisionEvent, newest, [catalog, catalog, decisions]),
            self._log.numbered(OutcomeEvent, "catalog = ?", [catalog]),
            self._log.numbered(Override, "catalog = ?", [catalog]),
        ]
        return (record for _, record in heapq.merge(*happened, key=lambda numbered: numbered[0]))


# Judgments of tools, and labels of sub-tasks, by catalog. Later entries replace or take back earlier ones; all of them stay.

R = TypeVar("R", Judgment, Label, RequestChange)


@dataclass(eq=False)
class Appended(Generic[R]):
    """The records of one kind. Append-only."""

    log: Log
    kind: type[R]

    def append(self, *records: R) -> None:
        """Commit records together. Raises StoreError, and keeps none of them, if one cannot be stored."""
        self.log.append(*records)

    def history(self, catalog: str) -> tuple[R, ...]:
        return tuple(self.log.read(self.kind, "catalog = ?", [catalog]))


class Labels(Appended[Label]):
    """Labels. An entry that names a label takes it back."""

    def find(self, id_: str) -> Label:
        """A label by id. Raises UnknownNameError if it is unknown or was taken back."""
        label = next(self.log.read(Label, "id = ?", [id_]), None)
        if label is None or label.retracts:
            raise UnknownNameError(f"There is no label {id_!r}; choose one of those that the catalog has.")
        if next(self.log.read(Label, "retracts = ?", [id_]), None) is not None:
            raise UnknownNameError(f"The label {id_} was taken back already; there is nothing left to take back.")
        return label
