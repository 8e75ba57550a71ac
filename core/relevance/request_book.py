"""The example requests in force of each catalog, and the index over them that decisions read."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import sample_catalog
from core.domain.catalog import Catalog
from core.domain.tasks import Request, in_force
from core.domain.tool_table import rows_with_seldom
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.relevance.encoder import CachedEncoder, Vectors, text_hash, unit_rows
from core.relevance.index_files import IndexFiles, made_of
from core.relevance.packaged_vectors import read_requests
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import Given, RequestIndex
from core.store import Store

FROM = 2_000
"""Requests from which on their index is kept in a file: reading the vectors and the words of 10,000 takes 0.4 s."""
REQUESTS = "\x1frequests"  # after a catalog's name, which has no such character
SHIPPED, OF_CATALOG = "shipped", "catalog"
Requests = Mapping[str, tuple[Request, ...]]


@dataclass
class _Known:
    catalog: Catalog
    requests: Requests
    index: RequestIndex | None = None
    made: bool = False
    making: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False)
class RequestBook:
    """Requests by catalog. Thread-safe. `folder` has the vectors of the requests that come with Wayfare."""

    store: Store
    encoder: CachedEncoder
    folder: Path = sample_catalog.REQUESTS
    index_files: IndexFiles | None = None

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}
        self._lock = threading.RLock()

    def of(self, catalog: Catalog) -> Requests:
        """The requests in force by tool, in the order of the catalog. Tools without any are left out."""
        return self._read(catalog).requests

    def index(self, catalog: Catalog, relevance: Callable[[], RelevanceIndex], part: str = "") -> RequestIndex | None:
        """The index over the requests that count, of a catalog or of a `part` of its tools. Returns None if none does. It may embed texts, which takes long."""
        checked = self.checked(catalog, relevance, part)
        return checked if checked is not None and checked.covered.any() else None

    def checked(self, catalog: Catalog, relevance: Callable[[], RelevanceIndex], part: str = "") -> RequestIndex | None:
        """The index with what it says of greedy tools. Returns None if the catalog has no requests."""
        known = self._read(catalog, part)
        with known.making:
            if not known.made:
                known.index = self._made(known, relevance, part)
                known.made = True
            return known.index

    def forget(self, name: str) -> None:
        """Read the requests of a catalog anew at the next use, after a change."""
        with self._lock:
            for key in [key for key in self._known if key[0] == name]:
                del self._known[key]

    def _read(self, catalog: Catalog, part: str = "") -> _Known:
        with self._lock:
            known = self._known.get((catalog.name, part))
            if known is None or known.catalog is not catalog:
                source = SHIPPED if catalog.name in SHIPPED_CATALOGS else OF_CATALOG
                history = self.store.requests.history(catalog.name)
                named = (catalog.tool_row.get(change.tool) for change in history)
                rows = sorted({*rows_with_seldom(catalog.tools), *(row for row in named if row is not None)})
                found = in_force(history, {catalog.tool_ids[row]: catalog.tools[row] for row in rows}, source=source)
                known = self._known[catalog.name, part] = _Known(catalog, found)
            return known

    def _made(self, known: _Known, relevance: Callable[[], RelevanceIndex], part: str) -> RequestIndex | None:
        every = [(tool, one.text, one.source) for tool, of in known.requests.items() for one in of]
        if part or self.index_files is None or len(every) < FROM or any(source == SHIPPED for _, _, source in every):
            given = self._given(known)
            return None if given is None else RequestIndex(given, relevance())
        digest = hashlib.sha256(json.dumps([made_of(known.catalog, self.encoder.model), every]).encode()).hexdigest()[
            :32
        ]
        return self.index_files.kept(
            f"{known.catalog.name}{REQUESTS}", digest, lambda: RequestIndex(self._with_vectors(_in_order(known), {}), relevance()),
            lambda made: made.arrays, lambda arrays: RequestIndex.from_arrays(arrays, relevance()),
        )  # fmt: skip

    def given(self, catalog: Catalog) -> Given | None:
        """The requests in force with their vectors. Returns None if the catalog has none. It may embed texts, which takes long."""
        return self._given(self._read(catalog))

    def _given(self, known: _Known) -> Given | None:
        every = _in_order(known)
        shipped = self._shipped([one.text for _, one in every if one.source == SHIPPED])
        # another encoder than the shipped one would embed 13,000 texts at its first start
        used = [(row, one) for row, one in every if one.source != SHIPPED or one.text in shipped]
        return self._with_vectors(used, shipped) if used else None

    def _with_vectors(self, used: Sequence[tuple[int, Request]], shipped: Mapping[str, Vectors]) -> Given:
        honest = np.array([one.source == SHIPPED for _, one in used], dtype=np.bool_)
        vectors = np.empty((len(used), self.encoder.dimension), dtype=np.float32)
        if honest.any():
            vectors[honest] = [shipped[one.text] for _, one in used if one.source == SHIPPED]
        if not honest.all():
            vectors[~honest] = self.encoder.encode_documents([one.text for _, one in used if one.source != SHIPPED])
        return Given([one.text for _, one in used], vectors, np.array([row for row, _ in used], dtype=np.int64), honest)

    def _shipped(self, texts: list[str]) -> dict[str, Vectors]:
        """The vectors that come with Wayfare, by text."""
        found = read_requests(self.folder, self.encoder.model) if texts else None
        if found is None:
            return {}
        places, rows = found
        there = [(text, places[key]) for text in texts if (key := text_hash(text)) in places]
        unit = unit_rows(rows[[place for _, place in there]].astype(np.float32))
        return dict(zip((text for text, _ in there), unit, strict=True))


def _in_order(known: _Known) -> list[tuple[int, Request]]:
    """The requests in force with the rows of their tools, ascending."""
    every = [(known.catalog.tool_row[tool], one) for tool, of in known.requests.items() for one in of]
    return sorted(every, key=lambda each: each[0])
