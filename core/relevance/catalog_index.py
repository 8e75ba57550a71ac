"""The index of a catalog: its texts view by view, and the similarity of a sub-task to every tool and server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.errors import ParameterError
from core.relevance.encoder import CachedEncoder, Vectors, unit_rows
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import MEANING_VIEWS, SERVER_VIEWS, TOOL_VIEWS, full, profile, summary

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


Row = TypeVar("Row")


class ViewLayer(Generic[Row]):
    """The rows of tools or of servers: `views`, matrices (N, D) of their texts, and BM25 over a text per row. Thread-safe. Each part is
    made when it is first read, because few routers read all views.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        texts: Mapping[str, Callable[[Row], str]],
        lexical: Callable[[Row], str],
        encoder: CachedEncoder,
    ) -> None:
        self._rows = rows
        self.texts = texts
        self._lexical_text = lexical
        self._encoder = encoder
        self._kept: dict[str, Vectors] = {}
        self._lock = RLock()

    def view(self, name: str) -> Vectors:
        with self._lock:
            if name not in self._kept:
                self._kept[name] = self._encoder.encode_documents([*map(self.texts[name], self._rows)])
            return self._kept[name]

    @cached_property
    def lexical(self) -> LexicalIndex:
        return LexicalIndex([self._lexical_text(row) for row in self._rows])


OWN_TEXTS = 4  # sets of routers' own texts, 1.5 MB each for 1,000 tools
MIXTURES = 4  # mixed matrices kept: 15 MB each for 10,000 rows of 384


class CatalogIndex:
    """T tools and S servers under their views. Immutable: a changed catalog gets a new index from kept vectors.

    Embeds each view when a router, a rule of lint or the map first reads it.
    """

    def __init__(self, catalog: Catalog, encoder: CachedEncoder) -> None:
        self.catalog = catalog
        self.encoder = encoder
        self.tools = ViewLayer(catalog.tools, TOOL_VIEWS, full, encoder)
        self.servers = ViewLayer(
            catalog.servers, SERVER_VIEWS, lambda server: f"{profile(server)}\n{summary(server)}", encoder
        )
        sizes = np.array([len(server.tools) for server in catalog.servers], dtype=np.int64)
        self._filled = sizes > 0
        self._starts = (np.cumsum(sizes) - sizes)[self._filled]
        self.rows_of = lru_cache(maxsize=OWN_TEXTS)(encoder.encode_documents)
        """(N, D) unit rows of a router's own texts (a tuple), such as summaries. The last few sets stay in memory."""
        self.mixture = lru_cache(maxsize=MIXTURES)(self._mixture)
        """(T, D) the views of tools under their shares (a tuple of items), and whether to doubt names. The product of a row with a
        sub-task is the weighted mean of its cosines. The last few stay in memory, so that a decision reads one matrix."""

    def signals(self, text: str, hint: str = "", *, doubt_names: bool = False) -> ViewSignals:
        return ViewSignals(self, text, hint, doubt_names=doubt_names)

    @cached_property
    def trust(self) -> Vectors:
        """(T,) the trust in the names of each tool."""
        return name_trust(self.tools.view("names"), self.tools.view(STAND_IN))

    def best_tool(self, similarity: NDArray[np.floating]) -> NDArray[np.floating]:
        """(..., T) -> (..., S): the largest similarity among each server's tools; 0 for a server without tools."""
        best = np.zeros((*similarity.shape[:-1], len(self.catalog.servers)), dtype=similarity.dtype)
        if self._starts.size:
            best[..., self._filled] = np.maximum.reduceat(similarity, self._starts, axis=-1)
        return best

    def _mixture(self, shares: tuple[tuple[str, float], ...], doubt_names: bool) -> Vectors:
        (first, most), *others = shares
        if not others and most == 1 and not (doubt_names and first in NAMED):
            return self.tools.view(first)
        mixed = np.zeros((len(self.catalog.tools), self.encoder.dimension), dtype=np.float32)
        for view, share in shares:
            rows = np.float32(share) * self.tools.view(view)
            if doubt_names and view in NAMED:
                trust = self.trust[:, None]
                rows = trust * rows + np.float32(share) * (1 - trust) * self.tools.view(STAND_IN)
            mixed += rows
        return mixed

    @cached_property
    def meanings(self) -> Vectors:
        """(T, D) unit rows: the mean of the views that tell the tool's action, without views of its server."""
        return unit_rows(np.mean([self.tools.view(view) for view in MEANING_VIEWS], axis=0))


# Similarity of a sub-task to every tool and server, in [0, 1]
#     sim_tool   = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage)                       v: names, full, description, parameters
#     sim_server = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage + w_best max sim_tool) v: profile, summary
# Weights are divided by their sum. Weight on a single dense view is EHRR (1). With a hint, cosines and coverage of a server are (1 - h) of
# the sub-task's plus h of the hint's. If the names of a tool cannot be trusted, its description has the share of the views with names.

LEXICAL, BEST_TOOL = "lexical", "best_tool"
Floats = NDArray[np.float64]
Weights = Mapping[str, float | Floats]
"""Weights by view: numbers, or columns (P, 1) of the numbers at P points."""


class ViewSignals:
    """The cosines and the words in common of a sub-task, and of its hint, with a catalog: all that similarities under any weights need.

    `np.vecdot` takes a row at a time on a single thread, so equal rows get equal scores and no query waits for a second core (gemv does
    neither). Raises ParameterError for a vector that is not finite.
    """

    def __init__(self, index: CatalogIndex, text: str, hint: str, *, doubt_names: bool) -> None:
        self.hinted = bool(hint)
        self._index = index
        self._doubt_names = doubt_names
        phrases = [
            (phrase, _finite(index.encoder.encode_query(phrase))) for phrase in ((text, hint) if hint else (text,))
        ]
        self._vector = phrases[0][1]
        # no method is cached here, because a cycle would keep the arrays of past decisions for a while
        self._of_tools = cache(partial(_tool_signal, index, doubt_names, *phrases[0]))
        self._of_servers = [cache(partial(_signal, index.servers, *phrase)) for phrase in phrases]

    def tools(self, weights: Weights) -> Floats:
        """(..., T) under weights of names, full, description, parameters and lexical. Raises ParameterError if all are 0."""
        shares = _shares(weights)
        words = shares.pop(LEXICAL) * self._of_tools(LEXICAL) if LEXICAL in shares else 0.0
        if not shares or any(map(np.ndim, shares.values())):
            return _joined(_sum(shares, self._of_tools), words)
        mixture = self._index.mixture(tuple(shares.items()), self._doubt_names)
        return _joined(np.vecdot(mixture, self._vector).astype(np.float64), words)

    def servers(self, weights: Weights, tools: Floats, hint_weight: float | Floats = 0.0) -> Floats:
        """(..., S) under weights of profile, summary, lexical and best_tool. `tools` (..., T) are the similarities of the tools."""
        shares = _shares(weights)
        best = shares.pop(BEST_TOOL, 0.0) * self._index.best_tool(tools)

        def signal(view: str) -> Floats:
            own, *of_hint = (of_servers(view) for of_servers in self._of_servers)
            return (1 - hint_weight) * own + hint_weight * of_hint[0] if of_hint else own

        words = shares.pop(LEXICAL) * signal(LEXICAL) if LEXICAL in shares else 0.0
        return _joined(_sum(shares, signal), words + best)


def _tool_signal(index: CatalogIndex, doubt_names: bool, text: str, vector: Vectors, view: str) -> Floats:
    signal = _signal(index.tools, text, vector, view)
    if not doubt_names or view not in NAMED:
        return signal
    trust = index.trust.astype(np.float64)
    return trust * signal + (1 - trust) * _signal(index.tools, text, vector, STAND_IN)


def _signal(layer: ViewLayer[Any], text: str, vector: Vectors, view: str) -> Floats:
    scores = layer.lexical.coverage(text) if view == LEXICAL else np.vecdot(layer.view(view), vector)
    return scores.astype(np.float64)


def _shares(weights: Weights) -> dict[str, Any]:
    """Weights divided by their sum. Views without weight are left out, so that they are not read."""
    total = sum(weights.values())
    if not np.all(total > 0):
        raise ParameterError(f"All weights are 0; give a weight above 0 to one of {', '.join(weights)}.")
    return {name: weight / total for name, weight in weights.items() if np.any(weight)}


def _sum(shares: Mapping[str, Any], signal: Callable[[str], Floats]) -> Floats | float:
    total = 0.0
    for view, share in shares.items():
        total += share * signal(view)  # in place, because the arrays of many points are large
    return total


def _joined(cosines: Floats | float, words: Floats | float) -> Floats:
    return np.minimum(np.maximum(cosines, 0.0) + words, 1.0)


def _finite(query: NDArray[Any]) -> Vectors:
    vector = np.asarray(query, dtype=np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ParameterError("The query's vector holds numbers that are not finite; embed the text again.")
    return vector
