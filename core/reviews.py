"""What the lint rules find in a library's catalogs; a report is kept as long as its catalog, index and prices stay."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.lint import LintReport, Severity
from core.index.catalog_index import CatalogIndex
from core.library import Library
from core.lint import RULES, Context, lint


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    catalog: Catalog
    index: CatalogIndex | None
    priced: NDArray[np.bool_]
    report: LintReport

    def of(self, catalog: Catalog, index: CatalogIndex | None, priced: NDArray[np.bool_]) -> bool:
        return self.catalog is catalog and self.index is index and np.array_equal(self.priced, priced)


class Reviews:
    """Lint reports by catalog. Thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def report(self, name: str, *, vectors: bool = False) -> LintReport:
        """All findings of a catalog. Rules that need vectors wait for the index, unless `vectors` has it built now."""
        ready = vectors or self._library.is_prepared(name)
        index = self._library.index(name) if ready else None
        catalog = index.catalog if index is not None else self._library.catalog(name)
        priced = ~np.isnan(self._library.statistics(name).tools.price_usd)
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or not kept.of(catalog, index, priced):
                seen = Context(catalog, index=index, tokens=lambda: self._library.tokens(name), priced=priced)
                kept = self._kept[name] = _Kept(catalog, index, priced, lint(catalog, seen))
            return kept.report


def count_errors(catalog: Catalog) -> int:
    """How many errors a catalog has by the rules that need neither vectors nor token counts: for a first look."""
    severe = [rule for rule in RULES.values() if rule.severity is Severity.ERROR]
    return len(lint(catalog, rules=severe).findings)
