"""The store: one DuckDB file of append-only events, catalogs, and what is costly to compute again."""

from core.store.catalogs import CatalogRow
from core.store.filters import ActivityFilter
from core.store.scenario_runs import ScenarioRuns
from core.store.store import Store

__all__ = ["ActivityFilter", "CatalogRow", "ScenarioRuns", "Store"]
