"""The index of a catalog: layers of views, and similarities of a query to every tool and server."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.errors import ParameterError
from core.relevance.encoder import CachedEncoder, Vectors, unit_rows
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import MEANING_VIEWS, SERVER_VIEWS, TOOL_VIEWS, full, profile, summary

Row = TypeVar("Row")


LEXICAL = "lexical"
MIXTURES = 4  # mixed matrices kept: 15 MB each for 10,000 rows of 384


def shares(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Weights divided by their sum, by name. A missing name weighs 0.

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


NAMED, STAND_IN = ("names", "full"), "description"
"""The views that contain names, and the view that gets their share if a row's names cannot be trusted."""


def name_trust(names: Vectors, descriptions: Vectors) -> Vectors:
    """The trust in names by their cosine with the description: 0 up to 0.1, 1 from 0.4; 1 without a description.

    The cosine of a brand with its description is as low as for unrelated texts (0 to 0.2). Nine in ten informative names are above 0.2
    (docs/decisions/0002-similarity.md). Shapes: (N, D) each -> (N,).

    >>> row = np.eye(2, dtype=np.float32)
    >>> name_trust(np.stack([row[0], row[0], row[0]]), np.stack([row[0], row[1], 0 * row[0]])).tolist()
    [1.0, 0.0, 1.0]
    """
    agreement = np.vecdot(names, descriptions)
    undescribed = ~descriptions.any(axis=1)
    return np.where(undescribed, 1.0, np.clip((agreement - 0.1) / 0.3, 0.0, 1.0)).astype(np.float32)


class EmbeddedViews(Mapping[str, Vectors]):
    """Matrices (N, D) by view. Thread-safe. Embeds the texts of a view when it is first read, because few routers read all views."""

    def __init__(self, rows: Sequence[Row], views: Mapping[str, Callable[[Row], str]], encoder: CachedEncoder) -> None:
        self._texts: dict[str, Callable[[], Iterable[str]]] = {
            name: partial(map, view, rows) for name, view in views.items()
        }
        self._encoder = encoder
        self._kept: dict[str, Vectors] = {}
        self._lock = RLock()

    def __getitem__(self, view: str) -> Vectors:
        with self._lock:
            if view not in self._kept:
                self._kept[view] = self._encoder.encode_documents([*self._texts[view]()])
            return self._kept[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class ViewLayer:
    """Matrices (N, D) by view and BM25 over a text per row. Immutable; safe for several threads. `lexical` and `trust` are made when
    they are first read.

        sim_n = max(0, sum over dense views v of w_v * <e_v,n , q>) + w_lex * coverage_n           the weights sum to 1

    The views are mixed once per set of weights. Rows of the mixture are no unit vectors, because the result is the weighted mean of
    cosines. `np.vecdot` takes a row at a time on a single thread, so equal rows get equal scores and no query waits for a second core
    (gemv does neither). If the names of a row cannot be trusted, the share of the views with names goes to the description.
    """

    def __init__(
        self,
        views: Mapping[str, Vectors],
        lexical: Callable[[], LexicalIndex],
        trust: Callable[[], Vectors] | None = None,
    ) -> None:
        self.views = views
        self._lexical = lexical
        self._trust = trust
        self._mixture = lru_cache(maxsize=MIXTURES)(self._mix)

    @cached_property
    def lexical(self) -> LexicalIndex:
        return self._lexical()

    @cached_property
    def trust(self) -> Vectors | None:
        return None if self._trust is None else self._trust()

    def similarity(
        self, query: Vectors, texts: Mapping[str, float], mixture: Mapping[str, float], *, doubt_names: bool = False
    ) -> Vectors:
        """(N,) of at least 0, () if all weights of views and texts are 0. `query` (D,); `texts`: lexical queries with shares; `mixture` comes from `shares`.

        `doubt_names` lets views with names count only as far as the names are trusted.
        """
        weights = tuple(mixture[view] for view in self.views)
        scores: Vectors | np.float32 = np.float32(0)
        if any(weights):
            scores = np.maximum(np.vecdot(self._mixture(weights, doubt_names), query), scores)
        if mixture[LEXICAL] > 0:
            for text, share in texts.items():
                scores = scores + np.float32(mixture[LEXICAL] * share) * self.lexical.coverage(text)
        return np.asarray(scores, dtype=np.float32)

    def _mix(self, weights: tuple[float, ...], doubt_names: bool) -> Vectors:
        weighted = [(weight, view) for weight, view in zip(weights, self.views, strict=True) if weight > 0]
        trust = self.trust if doubt_names else None
        doubted = [view for _, view in weighted if trust is not None and view in NAMED]
        if len(weighted) == 1 and weighted[0][0] == 1.0 and not doubted:
            return self.views[weighted[0][1]]
        mixed: Vectors | np.float32 = np.float32(0)
        for weight, view in weighted:
            rows = np.float32(weight) * self.views[view]
            if trust is not None and view in NAMED:
                share = trust[:, None]
                rows = share * rows + np.float32(weight) * (1 - share) * self.views[STAND_IN]
            mixed = mixed + rows
        return np.asarray(mixed, dtype=np.float32)


# The catalog: similarity of a query to every tool and server, in [0, 1]
#     sim_tool   = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage)                       v: names, full, description, parameters
#     sim_server = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage + w_best max sim_tool) v: profile, summary
# Weights are divided by their sum. Weight on a single dense view is EHRR (1).

BEST_TOOL = "best_tool"
OWN_TEXTS = 4  # sets of routers' own texts, 1.5 MB each for 1,000 tools
TOOL_WEIGHTS = (*TOOL_VIEWS, LEXICAL)
SERVER_WEIGHTS = (*SERVER_VIEWS, BEST_TOOL, LEXICAL)


class CatalogIndex:
    """T tools and S servers under their views. Immutable: a changed catalog gets a new index from kept vectors.

    Embeds each view when a router, a rule of lint or the map first reads it.
    """

    def __init__(self, catalog: Catalog, encoder: CachedEncoder) -> None:
        self.catalog = catalog
        views = EmbeddedViews(catalog.tools, TOOL_VIEWS, encoder)
        self.tools = ViewLayer(
            views,
            lambda: LexicalIndex([full(tool) for tool in catalog.tools]),
            lambda: name_trust(views["names"], views["description"]),
        )
        self.servers = ViewLayer(
            EmbeddedViews(catalog.servers, SERVER_VIEWS, encoder),
            lambda: LexicalIndex([f"{profile(server)}\n{summary(server)}" for server in catalog.servers]),
        )
        sizes = np.array([len(server.tools) for server in catalog.servers], dtype=np.int64)
        self._filled = sizes > 0
        self._starts = (np.cumsum(sizes) - sizes)[self._filled]
        self._rows_of = lru_cache(maxsize=OWN_TEXTS)(_rows_of)

    def tool_similarity(
        self, query: Vectors, text: str, weights: Mapping[str, float], *, doubt_names: bool = False
    ) -> Vectors:
        """(T,) in [0, 1]. `query` (D,) is the vector of `text`; weights over names, full, description, parameters, lexical.

        Weight on a single dense view is the paper's form, EHRR (1). With `doubt_names` the views names and full count as far as a tool's
        name agrees with its description, and the description has the rest. Raises ParameterError for bad weights or a query that is not
        finite.
        """
        mixture = shares(weights, TOOL_WEIGHTS)
        scores = self.tools.similarity(_finite(query), {text: 1.0}, mixture, doubt_names=doubt_names)
        return np.minimum(scores, np.float32(1))

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
        vector = _finite(query)
        texts = {text: 1.0}
        if hint is not None and share > 0:
            vector = _finite((1 - share) * vector + share * _finite(hint))
            texts = {text: 1 - share, hint_text: share} if text != hint_text else texts
        scores = self.servers.similarity(vector, texts, mixture)
        if mixture[BEST_TOOL] > 0:
            scores = scores + np.float32(mixture[BEST_TOOL]) * self.best_tool(tool_similarity)
        return np.minimum(scores, np.float32(1))

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
        """(T, D) unit rows: the mean of the views that tell the tool's action, without views of its server."""
        return unit_rows(np.mean([self.tools.views[view] for view in MEANING_VIEWS], axis=0))


def _rows_of(texts: tuple[str, ...], encoder: CachedEncoder) -> Vectors:
    return encoder.encode_documents(texts)


def _finite(query: NDArray[Any]) -> Vectors:
    vector = np.asarray(query, dtype=np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ParameterError("The query's vector holds numbers that are not finite; embed the text again.")
    return vector
