"""Snapshots of the whole console: named, compared, returned to, given out as a file and taken in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from core.domain.snapshot import ConsoleState, Snapshot
from core.importers.checks import name_fault
from core.network.profiles import read_profile
from core.network.saved import NetworkProfiles
from core.services.calibrations import CalibrationService
from core.services.catalogs import CatalogService
from core.services.lab_runs import LabRunService
from core.shared.errors import CatalogError, WayfareError
from core.store import Store

KIND = "wayfare snapshot"
MOST_NAME_CHARACTERS = 80
CATALOG, PROFILE = "catalog", "profile"  # what pages call a catalog and a network in their links


@dataclass(frozen=True, slots=True)
class Returned:
    """What going back to a snapshot gave: the pages' texts, and a sentence for each part that could not be as it was."""

    pages: Mapping[str, Mapping[str, str]]
    remarks: tuple[str, ...]


class SnapshotService:
    """Takes and restores them. What pages show is given and taken by the page that asks."""

    def __init__(
        self,
        store: Store,
        catalogs: CatalogService,
        runs: LabRunService,
        calibrations: CalibrationService,
        networks: NetworkProfiles,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._runs = runs
        self._calibrations = calibrations
        self._networks = networks
        self._now = now

    def state(self, pages: Mapping[str, Mapping[str, str]], catalog: str) -> ConsoleState:
        """The state now: what pages show, of which those without a catalog show `catalog`."""
        wanted = [catalog, *(texts[CATALOG] for texts in pages.values() if texts.get(CATALOG))]
        known = {info.name for info in self._catalogs.infos()}
        names = [name for name in dict.fromkeys(wanted) if name in known]
        profiles = dict.fromkeys(texts[PROFILE] for texts in pages.values() if texts.get(PROFILE))
        saved = self._networks.saved()
        return ConsoleState(
            {page: dict(texts) for page, texts in pages.items()},
            {name: self._runs.digest(name).fingerprint for name in names},
            {name: self._calibration(name) for name in names},
            {name: self._networks.load(name).text() for name in profiles if name in saved},
        )

    def save(self, name: str, state: ConsoleState) -> Snapshot:
        """Keep a state under a name, in place of the one of that name. Raises CatalogError for a name that cannot be one."""
        fault = name_fault(name)
        if not fault and len(name) > MOST_NAME_CHARACTERS:
            fault = f"has {len(name)} characters; give at most {MOST_NAME_CHARACTERS}"
        if fault:
            raise CatalogError(f"The snapshot's name {fault}.")
        snapshot = Snapshot(name.strip(), self._now(), json.dumps(state.to_json()))
        self._store.snapshots.save(snapshot)
        return snapshot

    def all(self) -> tuple[Snapshot, ...]:
        """Every one, newest first."""
        return self._store.snapshots.all()

    def remove(self, name: str) -> None:
        """Forget one."""
        self._store.snapshots.remove(name)

    def restore(self, name: str) -> Returned:
        """Switch the calibrations on that were in force then, save networks that are gone, and give what the pages showed.

        Catalogs stay as they are: one that has changed since is said. Raises UnknownNameError.
        """
        state = self._store.snapshots.find(name).state
        known, remarks = {info.name for info in self._catalogs.infos()}, list[str]()
        for catalog, fingerprint in state.catalogs.items():
            if catalog not in known:
                remarks.append(f"Catalog {catalog} is not there any more; import it again.")
                continue
            if self._runs.digest(catalog).fingerprint != fingerprint:
                remarks.append(f"Catalog {catalog} has changed since; it stays as it is now.")
            remarks += self._restore_calibration(catalog, state.calibrations.get(catalog, ""))
        for network, text in state.networks.items():
            remarks += self._restore_network(network, text)
        return Returned(state.pages, tuple(remarks))

    def export(self, name: str) -> str:
        """A snapshot as the text of a file. Raises UnknownNameError."""
        found = self._store.snapshots.find(name)
        document = {"kind": KIND, "name": found.name, "at": found.at.isoformat(), "state": found.state.to_json()}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str) -> Snapshot:
        """Keep a snapshot that `export` wrote, under its name. Raises CatalogError that says what is wrong."""
        try:
            read: object = json.loads(data)
            document = cast("dict[str, object]", read) if isinstance(read, dict) else {}
            if document.get("kind") != KIND:
                raise ValueError(f"it is no {KIND}")
            state = ConsoleState.parse(document.get("state"))
            name = str(document.get("name", ""))
        except (ValueError, RecursionError) as error:
            raise CatalogError(f"{source}: {error}; give a file that Export wrote.") from None
        return self.save(name, state)

    def _calibration(self, catalog: str, name: str = "") -> str:
        """The file of a calibration, by default of the one in force, without its date; "" for none."""
        if not name and self._calibrations.active(catalog) is None:
            return ""
        document = json.loads(self._calibrations.export(catalog, name))
        return json.dumps({key: value for key, value in document.items() if key != "at"})

    def _restore_calibration(self, catalog: str, text: str) -> list[str]:
        if text == self._calibration(catalog):
            return []
        try:
            if text:
                known = [one.name for one in self._calibrations.of_catalog(catalog)]
                same = [name for name in known if self._calibration(catalog, name) == text]
                if same:
                    self._calibrations.apply(same[0], catalog=catalog)
                else:
                    self._calibrations.import_file(text, source="the snapshot", catalog=catalog, apply=True)
            else:
                self._calibrations.apply("", catalog=catalog)
        except WayfareError as error:
            return [f"The calibration of {catalog} stays as it is: {error}"]
        return []

    def _restore_network(self, name: str, text: str) -> list[str]:
        if name in self._networks.saved() and self._networks.load(name).text() == text:
            return []
        try:
            self._networks.save(read_profile(text.encode(), "the snapshot"))
        except WayfareError as error:
            return [f"The network {name} stays as it is: {error}"]
        return []
