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
        index, rows, _ = self._meanings(catalog)
        with self._drawing:
            if index not in self._maps:
                ids, vectors = index.catalog.tool_ids, rows[:]
                xy = self._coordinates(vectors)
                self._maps[index] = CatalogMap(catalog, ids, xy, kept_share(vectors, xy), self.landmarks(len(ids)))
            return self._maps[index]

    @staticmethod
    def landmarks(tools: int) -> int | None:
        """The number of tools that a map of `tools` tools arranges. Returns None if it arranges all."""
        return LANDMARKS if tools > ALL_ARRANGED else None

    def neighbours(self, catalog: str, tool_id: str, count: int = 10) -> tuple[Neighbour, ...]:
        """The tools nearest in meaning, best first, by exact cosines. Raises UnknownNameError."""
        index, rows, _ = self._meanings(catalog)
        ids, row = index.catalog.tool_ids, index.catalog.tool_row.get(tool_id)
        if row is None:
            raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog!r}; check the name.")
        cosines = rows @ rows[row]
        nearest: list[int] = np.argsort(-cosines, kind="stable")[: count + 1].tolist()
        return tuple(Neighbour(ids[other], float(cosines[other])) for other in nearest if other != row)[:count]

    def place(self, catalog: str, text: str) -> Placement:
        """The place of a text on the map, among the tools that are most similar to it."""
        _, rows, encoder = self._meanings(catalog)
        cosine = rows @ encoder.encode_query(text)
        x, y = placed(cosine[None, :], self.map(catalog).xy)[0].tolist()
        return Placement(x, y, cosine)

    def _meanings(self, catalog: str) -> tuple[CatalogIndex, Vectors, CachedEncoder]:
        """Returns the index of a catalog, the meanings of its tools as unit rows (T, D), and the encoder that made them.

        For a large catalog, takes the names and descriptions that decisions compare. Three more texts of each of 100,000 tools would be
        embedded for half an hour. They place equal tools as near (docs/decisions/0007-map.md).
        """
        index = self.catalogs.index(catalog)
        if len(index.catalog.tools) <= ALL_ARRANGED:
            return index, index.meanings, self.encoder
        scorer = self.catalogs.scorer(catalog)
        return index, scorer.index.own, scorer.encoder

    def _coordinates(self, vectors: Vectors) -> Vectors:
        content = hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest()[:32]
        stored = self.kept.load_vectors(MAP_METHOD, [content]).get(content)
        if stored is None or stored.size != 2 * len(vectors):
            stored = coordinates(vectors).reshape(-1)
            self.kept.save_vectors(MAP_METHOD, {content: stored})
        xy = stored.reshape(len(vectors), 2)
        xy.flags.writeable = False
        return xy
