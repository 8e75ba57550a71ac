"""Maps of catalogs: each is computed once, and stored by the content of its vectors."""

from __future__ import annotations

import hashlib
import threading
from weakref import WeakKeyDictionary

import numpy as np

from core.domain.map import CatalogMap, Neighbour, Placement
from core.embedding.base import Vectors, VectorStore
from core.embedding.cached import CachedEncoder
from core.index.catalog_index import CatalogIndex
from core.index.map_layout import coordinates, kept_share, placed
from core.services.catalogs import CatalogService
from core.shared.errors import UnknownNameError

MAP_METHOD = "map:1"  # the name under which coordinates are stored; a changed method needs a new one


class CatalogMaps:
    """The maps of all catalogs. Thread-safe; one map is computed at a time, since each keeps a core busy."""

    def __init__(self, catalogs: CatalogService, encoder: CachedEncoder, kept: VectorStore) -> None:
        self._catalogs = catalogs
        self._encoder = encoder
        self._kept = kept
        self._maps: WeakKeyDictionary[CatalogIndex, CatalogMap] = WeakKeyDictionary()
        self._drawing = threading.Lock()

    def map(self, catalog: str) -> CatalogMap:
        """All tools in two dimensions; the first time this takes a second for 1,000 tools, eight for 10,000."""
        index = self._catalogs.index(catalog)
        with self._drawing:
            drawn = self._maps.get(index)
            if drawn is None:
                xy = self._coordinates(index.meanings)
                ids = tuple(tool.id for tool in index.catalog.tools)
                drawn = self._maps[index] = CatalogMap(catalog, ids, xy, kept_share(index.meanings, xy))
            return drawn

    def neighbours(self, catalog: str, tool_id: str, count: int = 10) -> tuple[Neighbour, ...]:
        """The tools nearest in meaning, best first, by exact cosines. Raises UnknownNameError."""
        index = self._catalogs.index(catalog)
        if tool_id not in index.catalog.tool_row:
            raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog!r}; check the name.")
        rows, cosines = index.neighbours(index.catalog.tool_row[tool_id], count)
        ids = [index.catalog.tools[int(row)].id for row in rows]
        return tuple(Neighbour(tool, cosine) for tool, cosine in zip(ids, cosines.tolist(), strict=True))

    def place(self, catalog: str, text: str) -> Placement:
        """Where a text lies on the map: among the tools that are most similar to it."""
        index = self._catalogs.index(catalog)
        cosine = np.vecdot(index.meanings, self._encoder.encode_query(text))
        x, y = placed(cosine[None, :], self.map(catalog).xy)[0].tolist()
        return Placement(x, y, cosine)

    def _coordinates(self, vectors: Vectors) -> Vectors:
        content = hashlib.sha256(vectors.tobytes()).hexdigest()[:32]
        found = self._kept.load_vectors(MAP_METHOD, [content]).get(content)
        if found is None or found.size != 2 * len(vectors):
            found = coordinates(vectors).reshape(-1)
            self._kept.save_vectors(MAP_METHOD, {content: found})
        xy = found.reshape(len(vectors), 2)
        xy.flags.writeable = False
        return xy
