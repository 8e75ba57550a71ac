"""The index of a catalog: its texts view by view, and the similarity of a sub-task to every tool and server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
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
        encode = index.encoder.encode_query
        self._texts = [(phrase, _finite(encode(phrase))) for phrase in ((text, hint) if hint else (text,))]
        self._doubt_names = doubt_names
        self._of_tools, self._of_servers = cache(self._tool_signal), cache(self._server_signal)

    def tools(self, weights: Weights) -> Floats:
        """(..., T) under weights of names, full, description, parameters and lexical. Raises ParameterError if all are 0."""
        return np.minimum(_mixed(_shares(weights), self._of_tools), 1.0)

    def servers(self, weights: Weights, tools: Floats, hint_weight: float | Floats = 0.0) -> Floats:
        """(..., S) under weights of profile, summary, lexical and best_tool. `tools` (..., T) are the similarities of the tools."""
        shares = _shares(weights)
        best = shares.pop(BEST_TOOL, 0.0)

        def signal(view: str) -> Floats:
            own, *of_hint = (self._of_servers(view, number) for number in range(len(self._texts)))
            return (1 - hint_weight) * own + hint_weight * of_hint[0] if of_hint else own

        return np.minimum(_mixed(shares, signal) + best * self._index.best_tool(tools), 1.0)

    def _tool_signal(self, view: str) -> Floats:
        signal = _signal(self._index.tools, view, *self._texts[0])
        if not self._doubt_names or view not in NAMED:
            return signal
        trust = self._index.trust.astype(np.float64)
        return trust * signal + (1 - trust) * self._of_tools(STAND_IN)

    def _server_signal(self, view: str, number: int) -> Floats:
        return _signal(self._index.servers, view, *self._texts[number])


def _signal(layer: ViewLayer[Any], view: str, text: str, vector: Vectors) -> Floats:
    scores = layer.lexical.coverage(text) if view == LEXICAL else np.vecdot(layer.view(view), vector)
    return scores.astype(np.float64)


def _shares(weights: Weights) -> dict[str, Any]:
    total = sum(weights.values())
    if not np.all(total > 0):
        raise ParameterError(f"All weights are 0; give a weight above 0 to one of {', '.join(weights)}.")
    return {name: weight / total for name, weight in weights.items()}


def _mixed(shares: Mapping[str, Any], signal: Callable[[str], Floats]) -> Floats:
    """Views without a share are not read."""
    parts = {name: share * signal(name) for name, share in shares.items() if np.any(share)}
    words = parts.pop(LEXICAL, 0.0)
    return np.maximum(sum(parts.values()), 0.0) + words


def _finite(query: NDArray[Any]) -> Vectors:
    vector = np.asarray(query, dtype=np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ParameterError("The query's vector holds numbers that are not finite; embed the text again.")
    return vector
