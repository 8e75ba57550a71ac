"""The store: one DuckDB file with append-only events, imported catalogs, and a cache of costly results.

Others use only the object `Store` (store.py). Its parts share a connection (connection.py), and one part writes at a time.
The room imports `core.domain`. A change of the schema is a new file in `migrations/`. A new kind of event is a frozen
dataclass in `core.domain.events`, a table with its columns, and an entry of `log.TABLES`.
"""

from core.domain.events import ActivityFilter
from core.store.catalogs import CatalogRow
from core.store.results import ScenarioRuns
from core.store.store import Store

__all__ = ["ActivityFilter", "CatalogRow", "ScenarioRuns", "Store"]
