"""The store: one DuckDB file with append-only events, imported catalogs, and a cache of costly results.

`Store` (store.py) is the one object that others use; its parts share one connection (connection.py), and one of them writes at a
time. The room imports `core.domain`. A change of the schema is a new file in `migrations/`; a new kind of event
is a frozen dataclass in `core.domain.events`, a table of the same columns, and an entry of `log.TABLES`.
"""

from core.domain.events import ActivityFilter
from core.store.catalogs import CatalogRow
from core.store.results import ScenarioRuns
from core.store.store import Store

__all__ = ["ActivityFilter", "CatalogRow", "ScenarioRuns", "Store"]
