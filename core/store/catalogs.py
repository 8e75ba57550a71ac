"""Imported catalogs, and the prices and asks that an operator set by hand."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Connection, Json, Server, Tool, ToolHints
from core.domain.events import Override
from core.shared.errors import StoreError, UnknownNameError
from core.shared.leaks import plain_value
from core.store.connection import Array, Database, Table, TypedTable, insert_arrow, pa
from core.store.log import Log, entry

# ----------------------------------------------------------------------------------------------------------------------
# A catalog as one JSON document and back, every field as it was.

REFERENCE = re.compile(r"((bearer|basic|token|apikey) )?\$\{[^{}]+\}", re.IGNORECASE)


def to_json(catalog: Catalog) -> str:
    """The document of a catalog.

    Raises StoreError where a connection holds a value instead of a reference, or where something is not JSON.
    """
    for server in (*catalog.servers, *catalog.off):
        _require_references(server)
    try:
        return json.dumps(catalog, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"The catalog {catalog.name} cannot be stored, it is not valid JSON: {error}.") from error


def from_json(document: str) -> Catalog:
    """The catalog of a document.

    >>> weather = Catalog("demo", (Server("weather", tools=(Tool("weather", "today", price_usd=0.002),)),))
    >>> from_json(to_json(weather)) == weather
    True
    """
    data = json.loads(document)
    servers, off = (tuple(map(_server, data.get(part, ()))) for part in ("servers", "off"))
    return Catalog(data["name"], servers, off)


def is_reference(value: str) -> bool:
    """Whether the value of an environment variable or header holds no secret.

    >>> [is_reference(v) for v in ("${secret:KEY}", "Bearer ${env:TOKEN}", "", "sk-123", "sk-123 ${env:TOKEN}")]
    [True, True, True, False, False]
    """
    return not value or REFERENCE.fullmatch(value) is not None


def _require_references(server: Server) -> None:
    if server.connection is None:
        return
    shown = server.connection.shown
    for part, values in (("variable", server.connection.env), ("header", server.connection.headers)):
        for name, value in values.items():
            plain = part == "variable" and (name in shown or bool(plain_value(name, value)))
            if not plain and not is_reference(value):
                raise StoreError(
                    f"The {part} {name} of server {server.name} may be a secret, which is never stored; replace it with "
                    "a reference such as ${secret:NAME}."
                )


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast(Json, value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _server(data: dict[str, Any]) -> Server:
    connection = data["connection"]
    data["tools"] = tuple(map(_tool, data["tools"]))
    data["connection"] = None if connection is None else _connection(connection)
    return Server(**data)


def _tool(data: dict[str, Any]) -> Tool:
    data["hints"] = ToolHints(**data["hints"])
    data["preconditions"] = tuple(data.get("preconditions", ()))
    return Tool(**data)


def _connection(data: dict[str, Any]) -> Connection:
    data["args"] = tuple(data["args"])
    data["shown"], data["without"] = tuple(data.get("shown", ())), tuple(data.get("without", ()))
    data["env"] = MappingProxyType(data["env"])
    data["headers"] = MappingProxyType(data["headers"])
    return Connection(**data)


LATEST = """
catalog = ? AND value IS NOT NULL AND sequence IN (
    SELECT max(sequence) FROM overrides WHERE catalog = ? GROUP BY server, tool, field
)
"""


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
        self._rows = TypedTable(database, CatalogRow, "catalogs")
        self._stored = TypedTable(database, _Stored, "catalogs")
        self._log = log
        self._clock = clock

    def save_catalog(self, catalog: Catalog, source: str) -> None:
        """Keep a catalog, in place of the one of its name. `source` says where it came from.

        Raises StoreError where a connection holds a value instead of a reference such as `${secret:NAME}`, or where
        something in it is not JSON; the old catalog stays then.
        """
        counts = len(catalog.servers), len(catalog.tools)
        self._stored.put(_Stored(catalog.name, source, *counts, self._clock(), to_json(catalog)))

    def load_catalog(self, name: str) -> Catalog | None:
        """The saved catalog. Returns None for an unknown name.

        Raises StoreError where its document does not fit this version.
        """
        found = self._stored.first("name = ?", [name])
        if found is None:
            return None
        try:
            return from_json(found.document)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The stored catalog {name} cannot be read ({error}); import it again.") from error

    def list_catalogs(self) -> tuple[CatalogRow, ...]:
        """All catalogs by name."""
        return self._rows.select("true ORDER BY name")

    def remove_catalog(self, name: str) -> None:
        """Remove a catalog; its events and edits stay. Raises UnknownNameError for an unknown name."""
        if not self._rows.remove("name = ?", [name]):
            raise UnknownNameError(f"There is no catalog {name!r} in the store; choose one of those it lists.")

    def set_override(self, override: Override) -> None:
        """Keep an operator's edit; earlier ones of the same price stay in the log. `value` None clears it."""
        self._log.write([entry(override)])

    def overrides(self, catalog: str) -> tuple[Override, ...]:
        """The edits in force: the latest of each server, tool and field that was not cleared, in order of commit."""
        return tuple(self._log.read(Override, LATEST, [catalog, catalog]))


# ----------------------------------------------------------------------------------------------------------------------
# Embeddings and token counts by the hash of their text, so that a warm start computes none of them again.

WANTED = "SELECT unnest(?::VARCHAR[])"


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
        found = self._database.read(
            f"SELECT hash, tokens FROM token_counts WHERE hash IN ({WANTED})",  # noqa: S608
            [list(hashes)],
        )
        return dict(zip(found["hash"].to_pylist(), found["tokens"].to_pylist(), strict=True))

    def save_token_counts(self, mapping: Mapping[str, int]) -> None:
        """Keep token counts, in place of those of the same hash."""
        if mapping:
            counts = pa.array(list(mapping.values()), pa.int64())
            self._save("token_counts", pa.table({"hash": _texts(mapping), "tokens": counts}))

    def _save(self, table: str, rows: Table) -> None:
        with self._database.transaction() as connection:
            insert_arrow(connection, f"INSERT OR REPLACE INTO {table} SELECT * FROM incoming", rows)  # noqa: S608


def _texts(mapping: Mapping[str, object]) -> Array:
    return pa.array(list(mapping), pa.string())


def _require_finite(hashes: Collection[str], arrays: list[NDArray[np.float32]]) -> None:
    for hash_, array in zip(hashes, arrays, strict=True):
        if array.ndim != 1 or not np.isfinite(array).all():
            raise StoreError(f"The vector of {hash_} is not a row of finite numbers; compute it again.")
