"""Lint reports of catalogs; a report is cached as long as its catalog, index and prices stay the same."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.lint import Finding, LintReport, Severity
from core.index.catalog_index import CatalogIndex
from core.lint import RULES, Context, lint
from core.services.catalogs import CatalogService
from core.store.arrow import pa
from core.store.export import encode


@dataclass(frozen=True, slots=True, eq=False)
class _CachedReport:
    catalog: Catalog
    index: CatalogIndex | None
    priced: NDArray[np.bool_]
    report: LintReport

    def fits(self, catalog: Catalog, index: CatalogIndex | None, priced: NDArray[np.bool_]) -> bool:
        return self.catalog is catalog and self.index is index and np.array_equal(self.priced, priced)


class LintReports:
    """Lint reports by catalog. Thread-safe."""

    def __init__(self, catalogs: CatalogService) -> None:
        self._catalogs = catalogs
        self._cache: dict[str, _CachedReport] = {}
        self._lock = threading.Lock()

    def report(self, name: str, *, vectors: bool = False) -> LintReport:
        """All findings of a catalog. Rules that need vectors wait for the index, unless `vectors` has it built now."""
        ready = vectors or self._catalogs.is_prepared(name)
        index = self._catalogs.index(name) if ready else None
        catalog = index.catalog if index is not None else self._catalogs.catalog(name)
        priced = ~np.isnan(self._catalogs.statistics(name).tools.price_usd)
        with self._lock:
            cached = self._cache.get(name)
            if cached is None or not cached.fits(catalog, index, priced):
                seen = Context(catalog, index=index, tokens=lambda: self._catalogs.tokens(name), priced=priced)
                cached = self._cache[name] = _CachedReport(catalog, index, priced, lint(catalog, seen))
            return cached.report


def findings_csv(findings: Sequence[Finding]) -> bytes:
    """Findings as CSV, with what to do; texts that a spreadsheet would run get an apostrophe."""
    names = ("severity", "rule", "server", "tool", "where", "reason", "evidence", "other", "advice")
    columns = {name: [str(getattr(finding, name)) for finding in findings] for name in names}
    return encode(pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}), "csv")


def count_errors(catalog: Catalog) -> int:
    """How many errors a catalog has by the rules that need neither vectors nor token counts: for a first look."""
    severe = [rule for rule in RULES.values() if rule.severity is Severity.ERROR]
    return len(lint(catalog, rules=severe).findings)
