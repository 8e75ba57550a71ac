"""The index of a catalog: exact search with FAISS, layers of views, and similarities of a query to every tool and server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.relevance.encoder import CachedEncoder, EmbeddingReport, Progress, Vectors, unit_rows
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import MEANING, MEANING_VIEWS, SERVER_VIEWS, TOOL_VIEWS, full, profile, summary
from core.shared.errors import ParameterError

if TYPE_CHECKING:
    from faiss import SearchParameters

Mask = NDArray[np.bool_]


class FlatIndex:
    """N rows of D float32 numbers with exact search.

    `rows` (N, D) is a view of FAISS' own memory: changes there change the search.

    >>> index = FlatIndex(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
    >>> index.rows[0] = [0.0, 2.0]
    >>> index.search(np.array([[0.0, 1.0]]), 2)[1].tolist()
    [[0, 1]]
    """

    def __init__(self, rows: NDArray[np.floating]) -> None:
        import faiss  # 25 MB of memory, for searches alone

        self._faiss = faiss.IndexFlatIP(rows.shape[1])
        self._faiss.add(np.ascontiguousarray(rows, dtype=np.float32))
        size = self._faiss.ntotal * self._faiss.d
        memory = faiss.rev_swig_ptr(self._faiss.get_xb(), size) if size else np.zeros(0, dtype=np.float32)
        self.rows: NDArray[np.float32] = memory.reshape(rows.shape)

    def search(
        self, queries: NDArray[np.floating], k: int, allowed: Mask | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Products and rows, best first: (Q, k) each, for queries (Q, D). `allowed` (N,) excludes rows.

        Missing rows are -1 if fewer than k are allowed. Runs on the calling thread alone: a search takes less than a millisecond, and
        waiting for a busy second core takes twenty.
        """
        import faiss

        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            found = self._faiss.search(np.ascontiguousarray(queries, dtype=np.float32), k, params=_only(allowed))
        finally:
            faiss.omp_set_num_threads(threads)
        return found


def _only(allowed: Mask | None) -> SearchParameters | None:
    if allowed is None:
        return None
    import faiss

    selector = faiss.IDSelectorBatch(np.flatnonzero(allowed))
    return faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]


# Layers: N tools or servers under several views, scored by a weighted mixture -----------------------------------------
#     sim_n = max(0, sum over dense views v of w_v * <e_v,n , q>) + w_lex * coverage_n           the weights sum to 1
# The dense part is one pass over one matrix: the views are mixed once per set of weights and kept. Rows of the mixture are no unit
# vectors, because the result is the weighted mean of cosines. `np.vecdot` takes a row at a time on one thread, so equal rows get equal
# scores and no query waits for a second core (gemv does neither).
# If the names of a row cannot be trusted (`Trust`), the share of the views with names goes to the view that stands in.

LEXICAL = "lexical"
MIXTURES = 4  # mixed matrices kept: 15 MB each for 10,000 rows of 384


def shares(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Weights divided by their sum, one for each name. A missing name weighs 0.

    Raises ParameterError for an unknown name, a weight below 0 or not finite, or weights that are all 0.

    >>> shares({"names": 3, "full": 1}, ["names", "full", "lexical"])
    {'names': 0.75, 'full': 0.25, 'lexical': 0.0}
    """
    for name, weight in weights.items():
        if name not in names:
            raise ParameterError(f"There is no view {name!r}; choose among {', '.join(names)}.")
        if not (math.isfinite(weight) and weight >= 0):
            raise ParameterError(f"The weight of {name} is {weight}; give a number of at least 0.")
    total = math.fsum(weights.values())
    if not total > 0:
        raise ParameterError(f"All weights are 0; give a weight above 0 to one of {', '.join(names)}.")
    return {name: weights.get(name, 0.0) / total for name in names}


@dataclass(frozen=True, slots=True)
class Trust:
    """The trust in each row's names: `share` (N,) in [0, 1]. `views` contain names, `stand_in` does not."""

    share: Vectors
    views: frozenset[str]
    stand_in: str


def name_trust(names: Vectors, descriptions: Vectors) -> Vectors:
    """How much a name says: the cosine of names and own description, 0 up to 0.1, 1 from 0.4; 1 without a description.

    The cosine of a brand with its description is that of unrelated texts (0 to 0.2). Nine in ten informative names are above 0.2
    (docs/decisions/0002-similarity.md). Shapes: (N, D) each -> (N,).

    >>> row = np.eye(2, dtype=np.float32)
    >>> name_trust(np.stack([row[0], row[0], row[0]]), np.stack([row[0], row[1], 0 * row[0]])).tolist()
    [1.0, 0.0, 1.0]
    """
    agreement = np.vecdot(names, descriptions)
    undescribed = ~descriptions.any(axis=1)
    return np.where(undescribed, 1.0, np.clip((agreement - 0.1) / 0.3, 0.0, 1.0)).astype(np.float32)


class ViewLayer:
    """Matrices (N, D) by view and BM25 over one text per row. Immutable; safe for several threads."""

    def __init__(self, views: Mapping[str, Vectors], lexical: LexicalIndex, trust: Trust | None = None) -> None:
        self.views = dict(views)
        self.lexical = lexical
        self.trust = trust
        self._mixture = lru_cache(maxsize=MIXTURES)(self._mix)

    def similarity(
        self, query: Vectors, texts: Mapping[str, float], mixture: Mapping[str, float], *, doubt_names: bool = False
    ) -> Vectors:
        """(N,) of at least 0. `query` (D,); `texts`: lexical queries with shares; `mixture` comes from `shares`.

        `doubt_names` lets views with names count only as far as the names are trusted.
        """
        weights = tuple(mixture[view] for view in self.views)
        found = np.maximum(np.vecdot(self._mixture(weights, doubt_names), query), np.float32(0))
        if mixture[LEXICAL] > 0:
            for text, share in texts.items():
                found += np.float32(mixture[LEXICAL] * share) * self.lexical.coverage(text)
        return found

    def _mix(self, weights: tuple[float, ...], doubt_names: bool) -> Vectors:
        used = [(weight, view) for weight, view in zip(weights, self.views, strict=True) if weight > 0]
        trust = self.trust if doubt_names else None
        doubted = [view for _, view in used if trust is not None and view in trust.views]
        if len(used) == 1 and used[0][0] == 1.0 and not doubted:
            return self.views[used[0][1]]
        mixed = np.zeros_like(next(iter(self.views.values())))
        for weight, view in used:
            rows = np.float32(weight) * self.views[view]
            if trust is not None and view in trust.views:
                share = trust.share[:, None]
                rows = share * rows + np.float32(weight) * (1 - share) * self.views[trust.stand_in]
            mixed += rows
        return mixed


# The catalog: similarity of a query to every tool and server, in [0, 1] -----------------------------------------------
#     sim_tool   = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage)                       v: names, full, description, parameters
#     sim_server = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage + w_best max sim_tool) v: profile, summary
# Weights are divided by their sum. Weight on one dense view alone is EHRR (1).

BEST_TOOL = "best_tool"
OWN_TEXTS = 4  # sets of texts of routers' own: 1.5 MB each for 1,000 tools
TOOL_WEIGHTS = (*TOOL_VIEWS, LEXICAL)
SERVER_WEIGHTS = (*SERVER_VIEWS, BEST_TOOL, LEXICAL)


class CatalogIndex:
    """T tools and S servers under their views. Immutable: a changed catalog gets a new index from kept vectors."""

    def __init__(self, catalog: Catalog, tools: ViewLayer, servers: ViewLayer, report: EmbeddingReport) -> None:
        self.catalog = catalog
        self.tools = tools
        self.servers = servers
        self.report = report
        sizes = np.array([len(server.tools) for server in catalog.servers], dtype=np.int64)
        self._filled = sizes > 0
        self._starts = (np.cumsum(sizes) - sizes)[self._filled]
        self._nearest = lru_cache(maxsize=len(TOOL_VIEWS) + 1)(self._flat_index)
        self._rows_of = lru_cache(maxsize=OWN_TEXTS)(_rows_of)

    @classmethod
    def build(cls, catalog: Catalog, encoder: CachedEncoder, progress: Progress | None = None) -> CatalogIndex:
        """Embed every view of every tool and server. Stored vectors are used again."""
        texts = [view(tool) for view in TOOL_VIEWS.values() for tool in catalog.tools]
        texts += [view(server) for view in SERVER_VIEWS.values() for server in catalog.servers]
        report = encoder.embed(texts, progress)
        of_tools = report.vectors[: len(TOOL_VIEWS) * len(catalog.tools)]
        of_servers = report.vectors[len(of_tools) :]
        tools = of_tools.reshape(len(TOOL_VIEWS), len(catalog.tools), encoder.dimension)
        servers = of_servers.reshape(len(SERVER_VIEWS), len(catalog.servers), encoder.dimension)
        return cls(
            catalog,
            _tool_layer(dict(zip(TOOL_VIEWS, tools, strict=True)), catalog),
            ViewLayer(
                dict(zip(SERVER_VIEWS, servers, strict=True)),
                LexicalIndex([f"{profile(server)}\n{summary(server)}" for server in catalog.servers]),
            ),
            report,
        )

    def tool_similarity(
        self, query: Vectors, text: str, weights: Mapping[str, float], *, doubt_names: bool = False
    ) -> Vectors:
        """(T,) in [0, 1]. `query` (D,) is the vector of `text`; weights over names, full, description, parameters, lexical.

        Weight on one dense view alone is the paper's form, EHRR (1). With `doubt_names` the views names and full count as far as a tool's
        name agrees with its description, and the description has the rest. Raises ParameterError for bad weights or a query that is not
        finite.
        """
        mixture = shares(weights, TOOL_WEIGHTS)
        found = self.tools.similarity(_finite(query), {text: 1.0}, mixture, doubt_names=doubt_names)
        return np.minimum(found, np.float32(1))

    def server_similarity(
        self,
        query: Vectors,
        text: str,
        weights: Mapping[str, float],
        tool_similarity: Vectors,
        *,
        hint: Vectors | None = None,
        hint_text: str = "",
        hint_weight: float = 0.0,
    ) -> Vectors:
        """(S,) in [0, 1]; weights over profile, summary, best_tool, lexical.

        `hint` (D,) describes the wanted server. With h = `hint_weight` in [0, 1] the cosines of profile and summary and the coverage are
        (1 - h) of the query's plus h of the hint's; best_tool stays the query's. Raises ParameterError for bad weights or a query that is
        not finite.
        """
        mixture = shares(weights, SERVER_WEIGHTS)
        if not 0 <= hint_weight <= 1:
            raise ParameterError(f"hint_weight = {hint_weight} is outside 0 to 1; choose a value within that range.")
        share = 0.0 if hint is None else hint_weight
        wanted = _finite(query)
        texts = {text: 1.0}
        if hint is not None and share > 0:
            wanted = _finite((1 - share) * wanted + share * _finite(hint))
            texts = {text: 1 - share, hint_text: share} if text != hint_text else texts
        found = self.servers.similarity(wanted, texts, mixture)
        if mixture[BEST_TOOL] > 0:
            found += np.float32(mixture[BEST_TOOL]) * self.best_tool(tool_similarity)
        return np.minimum(found, np.float32(1))

    def best_tool(self, tool_similarity: Vectors) -> Vectors:
        """(..., T) -> (..., S): the largest similarity among each server's tools; 0 for a server without tools."""
        best = np.zeros((*tool_similarity.shape[:-1], len(self.catalog.servers)), dtype=np.float32)
        if self._starts.size:
            best[..., self._filled] = np.maximum.reduceat(tool_similarity, self._starts, axis=-1)
        return best

    def rows_of(self, texts: tuple[str, ...], encoder: CachedEncoder) -> Vectors:
        """(N, D) unit rows of a router's own texts about this catalog, such as summaries. They are embedded on first use, and the last few
        sets stay in memory.
        """
        return self._rows_of(texts, encoder)

    @cached_property
    def meanings(self) -> Vectors:
        """(T, D) unit rows: the mean of the views that say what a tool does, without those of its server."""
        return unit_rows(np.mean([self.tools.views[view] for view in MEANING_VIEWS], axis=0))

    def neighbours(self, row: int, k: int, view: str = MEANING) -> tuple[NDArray[np.int64], Vectors]:
        """The k tools nearest to a tool, by meaning or under one view, without itself: rows and cosines, best first."""
        cosines, rows = self._nearest(view).search(self._matrix(view)[row : row + 1], k + 1)
        others = (rows[0] != row) & (rows[0] >= 0)
        return rows[0][others][:k], cosines[0][others][:k]

    def _matrix(self, view: str) -> Vectors:
        return self.meanings if view == MEANING else self.tools.views[view]

    def _flat_index(self, view: str) -> FlatIndex:
        return FlatIndex(self._matrix(view))


def _rows_of(texts: tuple[str, ...], encoder: CachedEncoder) -> Vectors:
    return encoder.encode_documents(texts)


def _tool_layer(views: dict[str, Vectors], catalog: Catalog) -> ViewLayer:
    trust = Trust(name_trust(views["names"], views["description"]), frozenset({"names", "full"}), "description")
    return ViewLayer(views, LexicalIndex([full(tool) for tool in catalog.tools]), trust)


def _finite(query: NDArray[Any]) -> Vectors:
    vector = np.asarray(query, dtype=np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ParameterError("The query's vector holds numbers that are not finite; embed the text again.")
    return vector
