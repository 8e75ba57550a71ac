"""What a router works out once for each catalog: catalogs are immutable, and a scene is a new one after each outcome."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from core.domain.catalog import Catalog

T = TypeVar("T")
KEPT = 8


class PerCatalog(Generic[T]):
    """A function of a catalog (and of one parameter) with memory for the last few catalogs. Safe for several threads.

    >>> sizes = PerCatalog(lambda catalog, unit: len(catalog.servers) // unit)
    >>> sizes(Catalog("empty"), 1)
    0
    """

    def __init__(self, work: Callable[[Catalog, Hashable], T]) -> None:
        self._work = work
        self._kept: OrderedDict[tuple[int, Hashable], tuple[Catalog, T]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, catalog: Catalog, parameter: Hashable = None) -> T:
        """The result, worked out where it is not kept."""
        key = (id(catalog), parameter)  # an id is taken only as long as its catalog is kept beside it
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        result = self._work(catalog, parameter)
        with self._lock:
            self._kept[key] = (catalog, result)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return result
