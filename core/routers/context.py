"""The input of a router: the ways to compare a text with a catalog, its routing context, and the query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Fit
from core.domain.statistics import ServerStatistics, Statistics, ToolStatistics
from core.domain.trace import columns
from core.routers.parameters import FIT, SERVER_VIEWS, TOOL_VIEWS, MatchingParameters, SimilarityParameters
from core.routers.utility import Array, calibrated

if TYPE_CHECKING:
    from core.network.traces import NetworkView
    from core.planning.base import Planner
    from core.relevance.catalog_index import CatalogIndex, ViewLayer, ViewSignals
    from core.relevance.encoder import CachedEncoder, Vectors
    from core.relevance.fit_matcher import FitMatcher, WordsFit

Layer = Literal["tools", "servers"]
Rows = NDArray[np.int64]
Record = TypeVar("Record", ServerStatistics, ToolStatistics)


@dataclass(frozen=True, slots=True)
class Match:
    """How well each server (S,) and tool (T,) fits the sub-task, in [0, 1]; `embed_ms` is the time to embed it."""

    servers: NDArray[np.float64]
    tools: NDArray[np.float64]
    embed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexMatcher:
    """Embeds the sub-task and any hint, and scores every server and tool. `fitting` gives probabilities of fit, by words alone while the
    catalog has no vectors."""

    index: CatalogIndex
    encoder: CachedEncoder
    fitting: FitMatcher | WordsFit

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The probability of fit of each tool and server, and the time to embed in ms."""
        return self.fitting.fit(text, hint)

    def likeness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(K, K) cosines between tools, by their own texts."""
        return self.fitting.likeness(rows)

    def match(self, query: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """Similarities under the parameters' weights; shapes (S,) and (T,), in [0, 1]."""
        start_s = time.perf_counter()
        signals = self.index.signals(query, server_hint, doubt_names=parameters.doubt_names)
        embed_ms = (time.perf_counter() - start_s) * 1e3
        return replace(weighted(signals, parameters), embed_ms=embed_ms)

    def embed(self, text: str) -> Vectors:
        return self.encoder.encode_query(text)

    def cosines(self, layer: Layer, view: str, vector: Vectors) -> NDArray[np.float64]:
        """(T,) or (S,) cosines of a vector with one view."""
        return np.vecdot(self._layer(layer).view(view), vector).astype(np.float64)

    def cosines_of(self, texts: tuple[str, ...], vector: Vectors) -> NDArray[np.float64]:
        return np.vecdot(self.index.rows_of(texts), vector).astype(np.float64)

    def bm25(self, layer: Layer, text: str) -> NDArray[np.float64]:
        """(T,) or (S,) raw BM25 scores of a text."""
        return self._layer(layer).lexical.scores(text).astype(np.float64)

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """(tokens, D) unit rows of each text."""
        return self.encoder.tokens(texts)

    def _layer(self, layer: Layer) -> ViewLayer[Any]:
        return self.index.tools if layer == "tools" else self.index.servers


def weighted(
    signals: ViewSignals, p: MatchingParameters, differing: Mapping[str, Array] = MappingProxyType({})
) -> Match:
    """The similarities of a sub-task under the parameters' weights, (S,) and (T,). The values of weights that differ between P points,
    columns (P, 1), give (P, S) and (P, T)."""

    def value(name: str) -> Any:
        return differing.get(name, getattr(p, name))

    tools = signals.tools({view: value(f"w_{view}") for view in TOOL_VIEWS})
    of_servers = {view: value(f"w_server_{view}") for view in SERVER_VIEWS}
    servers = signals.servers(of_servers, tools, value("hint_weight"))
    contrast = {"midpoint": value("sim_midpoint"), "steepness": value("sim_steepness")}
    return Match(calibrated(servers, **contrast), calibrated(tools, **contrast))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RoutingContext:
    """All input of a router: a catalog, a snapshot of its statistics, and its index.

    `tool_tokens` (T,) are the tokens of each tool's definition, `tool_server` (T,) the row of each tool's server, `*_order`
    the alphabetical place of each name, which decides ties. `network` holds recent latencies, or None.
    `cross_encoder` is the model of the reranker of that name, "" for none. `by_words` means that fit comes from words alone, because
    vectors are missing.
    """

    catalog: Catalog
    statistics: Statistics
    matcher: IndexMatcher
    tool_tokens: NDArray[np.int64]
    server_names: Sequence[str]
    tool_ids: Sequence[str]
    tool_server: NDArray[np.int64]
    tool_order: NDArray[np.int64]
    server_order: NDArray[np.int64]
    network: NetworkView | None = None
    cross_encoder: str = ""
    by_words: bool = False

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        statistics: Statistics,
        matcher: IndexMatcher,
        tool_tokens: NDArray[np.int64],
        network: NetworkView | None = None,
        *,
        cross_encoder: str = "",
    ) -> RoutingContext:
        server_names = tuple(server.name for server in catalog.servers)
        tool_ids = catalog.tool_ids
        return cls(
            catalog,
            statistics,
            matcher,
            tool_tokens,
            server_names,
            tool_ids,
            tool_server=np.repeat(np.arange(len(catalog.servers)), [len(s.tools) for s in catalog.servers]),
            tool_order=_order(tool_ids),
            server_order=_order(server_names),
            network=network,
            cross_encoder=cross_encoder,
        )

    def narrowed(self, tools: Rows, servers: Rows) -> RoutingContext:
        """Returns the context restricted to these tools and servers: rows, ascending, the servers of the tools among them."""
        statistics = Statistics(
            _some(self.statistics.servers, servers), _some(self.statistics.tools, tools), self.statistics.version
        )
        return replace(
            self,
            statistics=statistics,
            tool_tokens=self.tool_tokens.take(tools),
            server_names=[self.server_names[row] for row in servers.tolist()],
            tool_ids=[self.tool_ids[row] for row in tools.tolist()],
            tool_server=np.searchsorted(servers, self.tool_server.take(tools)),
            tool_order=_places(self.tool_order.take(tools)),
            server_order=_places(self.server_order.take(servers)),
        )


def _places(order: Rows) -> Rows:
    """The rank of each of several distinct numbers."""
    return np.argsort(np.argsort(order))


def _some(record: Record, rows: Rows) -> Record:
    return type(record)(**{name: column.take(rows) for name, column in columns(record).items()})


class Query:
    """A routing query, and every way to look it up in the catalog. It measures the time to embed.

    `hint` names a server, or is empty. `planner` is the planner that the parameters name.
    """

    def __init__(
        self,
        text: str,
        hint: str,
        matcher: IndexMatcher,
        planner: Planner,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.text = text
        self.hint = hint
        self.embed_ms = 0.0
        self._matcher = matcher
        self._planner = planner
        self._clock = clock
        self.used_planner = False
        self._fit: Fit | None = None

    @property
    def planner(self) -> Planner:
        """The planner that understands the query. Reading it marks it as used, and the decision then names it."""
        self.used_planner = True
        return self._planner

    def fit(self) -> Fit:
        """The probability of fit of every tool and server for the sub-task, computed once."""
        if self._fit is None:
            self._fit, embed_ms = self._matcher.fit(self.text, self.hint)
            self.embed_ms += embed_ms
        return self._fit

    @property
    def known_fit(self) -> Fit | None:
        """The fit, or None if the router has not used it."""
        return self._fit

    def match(self, parameters: MatchingParameters, text: str | None = None) -> Match:
        """Similarities of the sub-task, or of another text: its probability of fit, or the views under their weights."""
        if parameters.similarity == FIT:
            if text is None or text == self.text:
                fit = self.fit()
            else:
                fit, embed_ms = self._matcher.fit(text, self.hint if parameters.hint_weight > 0 else "")
                self.embed_ms += embed_ms
            return Match(fit.servers, fit.tools)
        match = self._matcher.match(self.text if text is None else text, self.hint, parameters)
        self.embed_ms += match.embed_ms
        return match

    def tool_similarity(self, parameters: SimilarityParameters) -> NDArray[np.float64]:
        """(T,) the probability of fit of each tool, or the cosine of its full text."""
        return self.fit().tools if parameters.similarity == FIT else self.cosines("tools", "full")

    def cosines(self, layer: Layer, view: str, text: str | None = None) -> NDArray[np.float64]:
        """(T,) or (S,) cosines of the sub-task, or of another text, with one view."""
        return self._matcher.cosines(layer, view, self._embedded(text))

    def cosines_of(self, texts: tuple[str, ...], text: str | None = None) -> NDArray[np.float64]:
        """(N,) cosines of the sub-task, or of another text, with texts of the router's own, such as its summaries."""
        return self._matcher.cosines_of(texts, self._embedded(text))

    def bm25(self, layer: Layer, text: str | None = None) -> NDArray[np.float64]:
        """(T,) or (S,) BM25 scores of the sub-task, or of another text."""
        return self._matcher.bm25(layer, self.text if text is None else text)

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        start_s = self._clock()
        vectors = self._matcher.tokens(texts)
        self.embed_ms += (self._clock() - start_s) * 1e3
        return vectors

    def _embedded(self, text: str | None) -> Vectors:
        start_s = self._clock()
        vector = self._matcher.embed(self.text if text is None else text)
        self.embed_ms += (self._clock() - start_s) * 1e3
        return vector


def _order(names: tuple[str, ...]) -> NDArray[np.int64]:
    return np.argsort(np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64))


# Results cached per catalog, because every outcome makes a new routing context for an unchanged catalog

T = TypeVar("T")
Rest = ParamSpec("Rest")
CATALOGS_KEPT = 8


class Same(Generic[T]):
    """A cache key by identity, because comparing catalogs by value would compare all their tools."""

    __slots__ = ("one",)

    def __init__(self, one: T) -> None:
        self.one: Any = one  # kept alive, so that no other object gets its id

    def __hash__(self) -> int:
        return id(self.one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.one is self.one


def per_catalog(work: Callable[Concatenate[Catalog, Rest], T]) -> Callable[Concatenate[Catalog, Rest], T]:
    """A function of a catalog whose last few results are cached. Safe for several threads.

    >>> @per_catalog
    ... def servers_of(catalog: Catalog, unit: int) -> int:
    ...     return len(catalog.servers) // unit
    >>> servers_of(Catalog("empty"), 1)
    0
    """

    def key(catalog: Catalog, *rest: Any) -> tuple[object, ...]:
        return (Same(catalog), *rest)

    cache: LRUCache[tuple[object, ...], T] = LRUCache(CATALOGS_KEPT)
    return cached(cache, key=key, lock=threading.Lock())(work)
