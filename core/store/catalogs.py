"""Imported catalogs, and the prices and asks that an operator set by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from core.domain.catalog import Catalog
from core.domain.events import Override
from core.shared.errors import StoreError, UnknownNameError
from core.store.connection import Database
from core.store.documents import from_json, to_json
from core.store.log import Log, entry

LATEST = """
catalog = ? AND value IS NOT NULL AND sequence IN (
    SELECT max(sequence) FROM overrides WHERE catalog = ? GROUP BY server, tool, field
)
"""


class CatalogRow(NamedTuple):
    """A stored catalog in a list: `servers` and `tools` are counts, `imported_at` is UTC."""

    name: str
    source: str
    servers: int
    tools: int
    imported_at: datetime


class Catalogs:
    """A catalog is saved whole or not at all. Edits are kept beside it and outlive a new import under its name."""

    def __init__(self, database: Database, log: Log, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._log = log
        self._clock = clock

    def save_catalog(self, catalog: Catalog, source: str) -> None:
        """Keep a catalog, in place of the one of its name. `source` says where it came from.

        Raises StoreError where a connection holds a value instead of a reference such as `${secret:NAME}`, or where
        something in it is not JSON; the old catalog stays then.
        """
        document = to_json(catalog)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO catalogs VALUES (?, ?, ?, ?, ?, ?)",
                [catalog.name, source, len(catalog.servers), len(catalog.tools), self._clock(), document],
            )

    def load_catalog(self, name: str) -> Catalog | None:
        """The catalog as it was saved, None where there is none of that name.

        Raises StoreError where its document does not fit this version.
        """
        found = self._database.read("SELECT document FROM catalogs WHERE name = ?", [name])
        if not found.num_rows:
            return None
        try:
            return from_json(found[0][0].as_py())
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The stored catalog {name} cannot be read ({error}); import it again.") from error

    def list_catalogs(self) -> tuple[CatalogRow, ...]:
        """All catalogs by name."""
        rows = self._database.read("SELECT name, source, servers, tools, imported_at FROM catalogs ORDER BY name")
        return tuple(CatalogRow(**row) for row in rows.to_pylist())

    def remove_catalog(self, name: str) -> None:
        """Remove a catalog; its events and edits stay. Raises UnknownNameError where there is none of that name."""
        with self._database.transaction() as connection:
            removed = connection.execute("DELETE FROM catalogs WHERE name = ? RETURNING name", [name]).fetchall()
        if not removed:
            raise UnknownNameError(f"There is no catalog {name!r} in the store; choose one of those it lists.")

    def set_override(self, override: Override) -> None:
        """Keep an operator's edit; earlier ones of the same price stay in the log. `value` None clears it."""
        self._log.write([entry(override)])

    def overrides(self, catalog: str) -> tuple[Override, ...]:
        """The edits in force: the latest of each server, tool and field that was not cleared, in order of commit."""
        return tuple(self._log.read(Override, LATEST, [catalog, catalog]))
