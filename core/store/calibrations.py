"""Calibrations by catalog, and which one is in force."""

from __future__ import annotations

from core.domain.feedback import Calibration, CalibrationSwitch, switched_on
from core.shared.errors import UnknownNameError
from core.store.log import Log, entry


class Calibrations:
    """Append-only: a calibration that was saved stays, and so does every step of switching between them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def save(self, calibration: Calibration, switch: CalibrationSwitch | None = None) -> None:
        """Keep a calibration and, where `switch` is given, switch it on in the same transaction. Raises StoreError."""
        self._log.write([entry(record) for record in (calibration, switch) if record is not None])

    def switch(self, switch: CalibrationSwitch) -> None:
        """Keep a step of the history. Raises StoreError."""
        self._log.write([entry(switch)])

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
        """Every step of switching, in order of commit."""
        return tuple(self._log.read(CalibrationSwitch, "catalog = ?", [catalog]))

    def active(self, catalog: str) -> Calibration | None:
        """The calibration in force, None where it is what Wayfare comes with."""
        id_ = switched_on(self.history(catalog))
        return next(self._log.read(Calibration, "id = ?", [id_]), None) if id_ else None
