"""A catalog ready to be searched: similarity of a query to every tool and to every server, in [0, 1].

    sim_tool   = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage)                       v: names, full, description, parameters
    sim_server = min(1, max(0, sum_v w_v cos(q, e_v)) + w_lex coverage + w_best max sim_tool) v: profile, summary

Weights are divided by their sum; weight on one dense view alone is EHRR (1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.embedding.base import Vectors, unit_rows
from core.embedding.cached import CachedEncoder, EmbeddingReport, Progress
from core.index.flat import FlatIndex
from core.index.layer import LEXICAL, Trust, ViewLayer, name_trust, shares
from core.index.lexical import LexicalIndex
from core.index.text_views import MEANING, MEANING_VIEWS, SERVER_VIEWS, TOOL_VIEWS, full, profile, summary
from core.shared.errors import ParameterError

BEST_TOOL = "best_tool"
OWN_TEXTS = 4  # sets of texts of routers' own: 1.5 MB each for 1,000 tools
TOOL_WEIGHTS = (*TOOL_VIEWS, LEXICAL)
SERVER_WEIGHTS = (*SERVER_VIEWS, BEST_TOOL, LEXICAL)


class CatalogIndex:
    """T tools and S servers under their views. Immutable: a changed catalog gets a new one, built from kept vectors."""

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
        """Embed every view of every tool and server (what the encoder's store knows is not embedded again)."""
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

        Weight on one dense view alone is the paper's form, EHRR (1). With `doubt_names` names and full count as far as
        a tool's name agrees with its description, and the description has the rest.
        Raises ParameterError for bad weights or a query with numbers that are none.
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

        `hint` (D,) describes the server that is looked for: with h = `hint_weight` in [0, 1], the cosines of profile
        and summary and the coverage are (1 - h) of the query's plus h of the hint's; best_tool stays the query's.
        Raises ParameterError for bad weights or a query with numbers that are none.
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

    def view_similarities(self, query: Vectors, row: int, text: str = "") -> dict[str, float]:
        """Every view's cosine with the query, and the lexical coverage of the text, for one tool."""
        return self.tools.of_row(_finite(query), text, row)

    def rows_of(self, texts: tuple[str, ...], encoder: CachedEncoder) -> Vectors:
        """(N, D) unit rows of a router's own texts about this catalog, such as summaries. They are embedded when a router
        first asks (what the encoder's store knows is not embedded again), and the last few sets stay in memory."""
        return self._rows_of(texts, encoder)

    @cached_property
    def meanings(self) -> Vectors:
        """(T, D) unit rows: the mean of the views that say what a tool does rather than whose it is."""
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
