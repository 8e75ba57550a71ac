"""Imported catalogs, and the prices and asks that an operator set by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.errors import StoreError, UnknownNameError
from core.domain.events import Override
from core.domain.tool_table import packed
from core.store.catalog_rows import SELECTS, catalog_of_rows, delete_rows, from_json, write_rows
from core.store.connection import Array, Database, Table, pa
from core.store.log import Log
from core.store.tables import TypedTable, insert_arrow

LATEST = """
catalog = ? AND value IS NOT NULL AND sequence IN (
    SELECT max(sequence) FROM overrides WHERE catalog = ? GROUP BY server, tool, field
)
"""


TAKEN = "\x1ftaken "  # before a catalog's name: rows of what its files said. No catalog's name has such a character
FOUND = "SELECT document <> '' AS old FROM catalogs WHERE name = ?"


@dataclasses.dataclass(frozen=True, slots=True)
class CatalogRow:
    """A stored catalog in a list: `servers` and `tools` are counts, `imported_at` is UTC."""

    name: str
    source: str
    servers: int
    tools: int
    imported_at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class _Stored(CatalogRow):
    document: str


class Catalogs:
    """A catalog is saved whole or not at all. Edits are kept beside it and outlive a new import under its name."""

    def __init__(self, database: Database, log: Log, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._rows = TypedTable(database, CatalogRow, "catalogs")
        self._stored = TypedTable(database, _Stored, "catalogs")
        self._log = log
        self._clock = clock

    def save_catalog(self, catalog: Catalog, source: str) -> Catalog:
        """Keep a catalog, in place of the one of its name. `source` says where it came from. Returns it as columns.

        Raises StoreError where a connection holds a value instead of a reference such as `${secret:NAME}`, or where
        something in it is not JSON; the old catalog stays then.
        """
        return self._save(catalog, source, self._clock())

    def _save(self, catalog: Catalog, source: str, at: datetime) -> Catalog:
        with self._writing(catalog) as connection:
            kept = write_rows(connection, catalog, catalog.name)
            row = _Stored(catalog.name, source, len(kept.servers), len(kept.tools), at, "")
            self._stored.write(connection, [row])
        return kept

    @contextmanager
    def _writing(self, catalog: Catalog) -> Generator[duckdb.DuckDBPyConnection]:
        try:
            with self._database.transaction() as connection:
                yield connection
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"The catalog {catalog.name} cannot be stored, it is not valid JSON: {error}.") from error

    def load_catalog(self, name: str) -> Catalog | None:
        """The saved catalog, as columns. Returns None for an unknown name.

        Raises StoreError where what is stored does not fit this version.
        """
        found, *rows = self._database.read_together(FOUND, *SELECTS, parameters=[name])
        if not len(found):
            return None
        try:
            if not found["old"][0].as_py():
                made = catalog_of_rows(name, *rows)
                if (
                    len(made.tools) > MANY
                ):  # the catalog stays in memory as columns; so would every page that was read for it
                    self._database.release_pages()
                return made
            before = self._stored.select("name = ?", [name])[0]
            catalog = from_json(before.document)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The stored catalog {name} cannot be read ({error}); import it again.") from error
        try:
            return self._save(catalog, before.source, before.imported_at)
        except StoreError:  # an earlier version kept what this one refuses
            return packed(catalog)

    def save_taken(self, catalog: Catalog) -> None:
        """Keep what the files said that a catalog follows. Raises StoreError as `save_catalog` does."""
        with self._writing(catalog) as connection:
            write_rows(connection, catalog, TAKEN + catalog.name)

    def load_taken(self, name: str) -> Catalog:
        return catalog_of_rows(name, *self._database.read_together(*SELECTS, parameters=[TAKEN + name]))

    def remove_taken(self, name: str) -> None:
        with self._database.transaction() as connection:
            delete_rows(connection, TAKEN + name)

    def list_catalogs(self) -> tuple[CatalogRow, ...]:
        return self._rows.select("true ORDER BY name")

    def connection_texts(self) -> list[str]:
        """The JSON of every server in which references to values may stand."""
        return self._database.read("SELECT seldom_json FROM servers").column(0).to_pylist()

    def remove_catalog(self, name: str) -> None:
        """Remove a catalog; its events and edits stay. Raises UnknownNameError for an unknown name."""
        with self._database.transaction() as connection:
            if not self._rows.delete(connection, "name = ?", [name]):
                raise UnknownNameError(f"There is no catalog {name!r} in the store; choose one of those it lists.")
            delete_rows(connection, name)

    def set_override(self, override: Override) -> None:
        """Keep an operator's edit; earlier ones of the same price stay in the log. `value` None clears it."""
        self._log.append(override)

    def overrides(self, catalog: str) -> tuple[Override, ...]:
        """The edits in force: the latest of each server, tool and field that was not cleared, in order of commit."""
        return tuple(self._log.read(Override, LATEST, [catalog, catalog]))


# Embeddings, token counts and Lint's errors by the hash of their text, so that a warm start computes none of them again.

WANTED = "SELECT unnest(?::VARCHAR[])"
MANY = 1_000


class Vectors:
    """A cache on disk: what it does not have is left out of what it returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load_vectors(self, model: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Hash to vector, for those known of this model; the arrays are read-only."""
        found = self._database.read(
            f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({WANTED})",  # noqa: S608
            [model, list(hashes)],
        )
        if len(found) > MANY:  # they stay in memory as arrays; so would every page that was read for them
            self._database.release_pages()
        blobs = (np.frombuffer(blob, dtype="<f4") for blob in found["vector"].to_pylist())
        return dict(zip(found["hash"].to_pylist(), blobs, strict=True))

    def save_vectors(self, model: str, mapping: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors, in place of those of the same hash.

        Raises StoreError, and stores none, if one is not one-dimensional or has NaN or infinity.
        """
        if mapping:
            arrays = [np.asarray(vector, dtype="<f4") for vector in mapping.values()]
            _require_finite(mapping.keys(), arrays)
            blobs = pa.array([array.tobytes() for array in arrays], pa.binary())
            models = pa.array([model] * len(blobs), pa.string())
            self._save("vectors", pa.table({"model": models, "hash": _texts(mapping), "vector": blobs}))

    def load_token_counts(self, hashes: Iterable[str]) -> dict[str, int]:
        """Hash to tokens, for those known."""
        return self._known("token_counts", "tokens", hashes)

    def save_token_counts(self, mapping: Mapping[str, int]) -> None:
        """Keep token counts, in place of those of the same hash."""
        if mapping:
            counts = pa.array(list(mapping.values()), pa.int64())
            self._save("token_counts", pa.table({"hash": _texts(mapping), "tokens": counts}))

    def load_lint_errors(self, hashes: Iterable[str]) -> dict[str, str]:
        """Hash to the errors found, as JSON, for those that were searched."""
        return self._known("lint_errors", "found_json", hashes)

    def save_lint_errors(self, mapping: Mapping[str, str]) -> None:
        """Keep the errors of what was searched."""
        if mapping:
            self._save("lint_errors", pa.table({"hash": _texts(mapping), "found_json": _texts(mapping.values())}))

    def _known(self, table: str, column: str, hashes: Iterable[str]) -> dict[str, Any]:
        found = self._database.read(f"SELECT hash, {column} FROM {table} WHERE hash IN ({WANTED})", [list(hashes)])  # noqa: S608
        return dict(zip(found["hash"].to_pylist(), found[column].to_pylist(), strict=True))

    def _save(self, table: str, rows: Table) -> None:
        with self._database.transaction() as connection:
            insert_arrow(connection, f"INSERT OR REPLACE INTO {table} SELECT * FROM incoming", rows)  # noqa: S608


def _texts(values: Iterable[str]) -> Array:
    return pa.array(list(values), pa.string())


def _require_finite(hashes: Collection[str], arrays: list[NDArray[np.float32]]) -> None:
    for hash_, array in zip(hashes, arrays, strict=True):
        if array.ndim != 1 or not np.isfinite(array).all():
            raise StoreError(f"The vector of {hash_} is not a row of finite numbers; compute it again.")
