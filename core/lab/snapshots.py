"""Snapshots of the whole console: named, compared, restored, exported and imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.catalogs.catalogs import CatalogService
from core.domain import documents
from core.domain.errors import CatalogError, WayfareError
from core.domain.lab_runs import ConsoleState, Snapshot
from core.domain.people import actions
from core.importers.reading import line_fault
from core.lab.calibrations import CalibrationService
from core.lab.lab_runs import LabRunService
from core.network.profiles import NetworkProfiles, read_profile
from core.store import Store

KIND = "wayfare snapshot"
MOST_NAME_CHARACTERS = 80
CATALOG, PROFILE = "catalog", "profile"  # parameters of page links


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of a restored snapshot: the pages' texts, and a sentence for each part that was not restored."""

    pages: Mapping[str, Mapping[str, str]]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SnapshotFile:
    kind: Literal["wayfare snapshot"]
    state: ConsoleState
    name: str = ""


@actions("tune", save="save a snapshot", remove="remove a snapshot", restore="restore a snapshot", import_file="import a snapshot")  # fmt: skip
@dataclass(eq=False)
class SnapshotService:
    """Takes and restores snapshots. The calling page gives and takes the pages' texts."""

    store: Store
    catalogs: CatalogService
    runs: LabRunService
    calibrations: CalibrationService
    networks: NetworkProfiles
    now: Callable[[], datetime]

    def state(self, pages: Mapping[str, Mapping[str, str]], catalog: str) -> ConsoleState:
        """The present state with the texts of `pages`. Pages without a catalog show `catalog`."""
        shown_catalogs = [catalog, *(texts[CATALOG] for texts in pages.values() if texts.get(CATALOG))]
        known_names = {info.name for info in self.catalogs.infos()}
        names = [name for name in dict.fromkeys(shown_catalogs) if name in known_names]
        profiles = dict.fromkeys(texts[PROFILE] for texts in pages.values() if texts.get(PROFILE))
        saved_names = self.networks.saved()
        return ConsoleState(
            {page: dict(texts) for page, texts in pages.items()},
            {name: self.runs.digest(name).fingerprint for name in names},
            {name: self._calibration(name) for name in names},
            {name: self.networks.load(name).text() for name in profiles if name in saved_names},
        )

    def save(self, name: str, state: ConsoleState) -> Snapshot:
        """Keep a state under a name, in place of an older one. Raises CatalogError for an invalid name."""
        if fault := line_fault(name, MOST_NAME_CHARACTERS) if name.strip() else "is empty; give a name":
            raise CatalogError(f"The snapshot's name {fault}.")
        snapshot = Snapshot(name.strip(), self.now(), json.dumps(state.to_json()))
        self.store.snapshots.save(snapshot)
        return snapshot

    def all(self) -> tuple[Snapshot, ...]:
        return self.store.snapshots.all()

    def remove(self, name: str) -> None:
        self.store.snapshots.remove(name)

    def restore(self, name: str) -> Returned:
        """Apply a snapshot's calibrations, save its missing networks, and return its pages' texts.

        Catalogs stay as they are; a remark names each changed catalog. Raises UnknownNameError.
        """
        state = self.store.snapshots.find(name).state
        known_names, remarks = {info.name for info in self.catalogs.infos()}, list[str]()

        def attempt(restore: Callable[[str, str], None], what: str, name: str, text: str) -> None:
            try:
                restore(name, text)
            except WayfareError as error:
                remarks.append(f"The {what} {name} stays as it is: {error}")

        for catalog, fingerprint in state.catalogs.items():
            if catalog not in known_names:
                remarks.append(f"Catalog {catalog} is not there any more; import it again.")
                continue
            if self.runs.digest(catalog).fingerprint != fingerprint:
                remarks.append(f"Catalog {catalog} has changed since; it stays as it is now.")
            attempt(self._restore_calibration, "calibration of", catalog, state.calibrations.get(catalog, ""))
        for network, text in state.networks.items():
            attempt(self._restore_network, "network", network, text)
        return Returned(state.pages, tuple(remarks))

    def export(self, name: str) -> str:
        """A snapshot as the text of a file. Raises UnknownNameError."""
        snapshot = self.store.snapshots.find(name)
        data = {"kind": KIND, "name": snapshot.name, "at": snapshot.at.isoformat(), "state": snapshot.state.to_json()}
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str) -> Snapshot:
        """Keep a snapshot that `export` wrote, under its name. Raises CatalogError if it is wrong."""
        advice = "give a file that Export wrote"
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise CatalogError(f"{source}: it is not JSON; {advice}.") from None
        file = documents.read(_SnapshotFile, document, source, advice=advice)
        return self.save(file.name, file.state)

    def _calibration(self, catalog: str) -> str:
        """The file of the calibration in force without its date, "" without one."""
        if self.calibrations.active(catalog) is None:
            return ""
        document = json.loads(self.calibrations.export(catalog))
        return json.dumps({key: value for key, value in document.items() if key != "at"})

    def _restore_calibration(self, catalog: str, text: str) -> None:
        if text and text != self._calibration(catalog):
            self.calibrations.import_file(text, source="the snapshot", catalog=catalog, apply=True)
        elif not text and self.calibrations.active(catalog) is not None:
            self.calibrations.apply("", catalog=catalog)

    def _restore_network(self, name: str, text: str) -> None:
        if name not in self.networks.saved() or self.networks.load(name).text() != text:
            self.networks.save(read_profile(text.encode(), "the snapshot"))
