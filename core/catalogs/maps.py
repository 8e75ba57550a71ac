"""Maps of catalogs: each is computed once, and stored by the content of its vectors."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.domain.errors import UnknownNameError
from core.domain.statistics import CatalogMap, Neighbour, Placement
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, Vectors, VectorStore
from core.relevance.map_layout import ALL_ARRANGED, LANDMARKS, coordinates, kept_share, placed

MAP_METHOD = "map:2"  # the name under which coordinates are stored; a changed method needs a new one


@dataclass(frozen=True, slots=True, eq=False)
class _Meanings:
    """What the tools of a catalog do: unit rows (T, D), and the encoder that made them."""

    index: CatalogIndex
    rows: Vectors
    encoder: CachedEncoder


@dataclass(eq=False)
class CatalogMaps:
    """The maps of all catalogs. Thread-safe; one map is computed at a time, since each keeps a core busy."""

    catalogs: CatalogService
    encoder: CachedEncoder
    kept: VectorStore

    def __post_init__(self) -> None:
        self._maps: WeakKeyDictionary[CatalogIndex, CatalogMap] = WeakKeyDictionary()
        self._drawing = threading.Lock()

    def map(self, catalog: str) -> CatalogMap:
        """All tools in two dimensions; the first time this takes a second for 1,000 tools, seven for 4,000, eight for 100,000."""
        meanings = self._meanings(catalog)
        with self._drawing:
            drawn = self._maps.get(meanings.index)
            if drawn is None:
                rows, ids = meanings.rows[:], meanings.index.catalog.tool_ids
                xy = self._coordinates(rows)
                drawn = CatalogMap(catalog, ids, xy, kept_share(rows, xy), self.landmarks(len(ids)))
                self._maps[meanings.index] = drawn
            return drawn

    @staticmethod
    def landmarks(tools: int) -> int | None:
        """The number of tools that the map of so many arranges. Returns None if it arranges all."""
        return LANDMARKS if tools > ALL_ARRANGED else None

    def neighbours(self, catalog: str, tool_id: str, count: int = 10) -> tuple[Neighbour, ...]:
        """The tools nearest in meaning, best first, by exact cosines. Raises UnknownNameError."""
        meanings = self._meanings(catalog)
        ids, row = meanings.index.catalog.tool_ids, meanings.index.catalog.tool_row.get(tool_id)
        if row is None:
            raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog!r}; check the name.")
        cosines = meanings.rows @ meanings.rows[row]
        nearest: list[int] = np.argsort(-cosines, kind="stable")[: count + 1].tolist()
        return tuple(Neighbour(ids[one], float(cosines[one])) for one in nearest if one != row)[:count]

    def place(self, catalog: str, text: str) -> Placement:
        """Where a text lies on the map: among the tools that are most similar to it."""
        meanings = self._meanings(catalog)
        cosine = meanings.rows @ meanings.encoder.encode_query(text)
        x, y = placed(cosine[None, :], self.map(catalog).xy)[0].tolist()
        return Placement(x, y, cosine)

    def _meanings(self, catalog: str) -> _Meanings:
        """Of a large catalog these are the names and descriptions that decisions compare: three more texts of each of 100,000 tools would
        be embedded for half an hour. They place equal tools as near (docs/decisions/0007-map.md)."""
        index = self.catalogs.index(catalog)
        if len(index.catalog.tools) <= ALL_ARRANGED:
            return _Meanings(index, index.meanings, self.encoder)
        scorer = self.catalogs.scorer(catalog)
        return _Meanings(index, scorer.index.own, scorer.encoder)

    def _coordinates(self, vectors: Vectors) -> Vectors:
        content = hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest()[:32]
        found = self.kept.load_vectors(MAP_METHOD, [content]).get(content)
        if found is None or found.size != 2 * len(vectors):
            found = coordinates(vectors).reshape(-1)
            self.kept.save_vectors(MAP_METHOD, {content: found})
        xy = found.reshape(len(vectors), 2)
        xy.flags.writeable = False
        return xy
