"""What a router computes once for each catalog: catalogs are immutable, and every outcome makes a new routing context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from cachetools import LRUCache, cached

from core.domain.catalog import Catalog

T = TypeVar("T")
Rest = ParamSpec("Rest")
CATALOGS_KEPT = 8


class _SameCatalog:
    """A cache key that is equal for the same object alone: comparing catalogs by value would compare all their tools."""

    __slots__ = ("catalog",)

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog  # kept alive, so that no other catalog gets its id

    def __hash__(self) -> int:
        return id(self.catalog)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameCatalog) and other.catalog is self.catalog


def per_catalog(work: Callable[Concatenate[Catalog, Rest], T]) -> Callable[Concatenate[Catalog, Rest], T]:
    """A function of a catalog whose last few results are cached. Safe for several threads.

    >>> @per_catalog
    ... def servers_of(catalog: Catalog, unit: int) -> int:
    ...     return len(catalog.servers) // unit
    >>> servers_of(Catalog("empty"), 1)
    0
    """

    def key(catalog: Catalog, *rest: Any) -> tuple[object, ...]:
        return (_SameCatalog(catalog), *rest)

    cache: LRUCache[tuple[object, ...], T] = LRUCache(CATALOGS_KEPT)
    return cached(cache, key=key, lock=threading.Lock())(work)
