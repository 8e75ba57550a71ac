"""One catalog in memory: its index, its outcomes so far, and the statistics and routing contexts that follow from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.catalog import Catalog, definition_text
from core.domain.errors import CatalogError
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Statistics
from core.domain.tokens import count_many
from core.domain.tool_table import packed
from core.domain.units import time_left
from core.network.traces import OUTAGE_S, CallHistory
from core.relevance.by_words import WordsFit
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import text_hash
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.relevance_index import RelevanceIndex
from core.routers.context import IndexMatcher, RoutingContext
from core.routers.ema import Priors, Rates
from core.routers.parameters import LearningParameters
from core.routers.projection import StatisticsProjection, teaches
from core.store import Store

PROJECTIONS_CACHED = 16  # one for each combination of priors and rates that was used lately

BY_WORDS = "By words alone until the vectors are there"
DEFAULT_LEARNING = LearningParameters()
Learning = tuple[Priors, Rates]


@dataclass(frozen=True, slots=True)
class Down:
    """A server that loses calls without a break since a time: how many, and whether the last one could not even connect."""

    since: datetime
    lost: int
    unreachable: bool

    @property
    def believed(self) -> bool:
        """Whether it is believed to be down: a single call may be lost by chance."""
        return self.unreachable or self.lost > 1


@dataclass(frozen=True, slots=True)
class Embedding:
    """How far the vectors of a catalog are: `done` of `of` texts (0 before they are counted) after `elapsed_s`."""

    done: int = 0
    of: int = 0
    elapsed_s: float = 0.0

    @property
    def share(self) -> float:
        """The finished share, in [0, 1]."""
        return self.done / self.of if self.of else 0.0

    def __str__(self) -> str:
        """
        >>> str(Embedding(1200, 4076, 17.0)), str(Embedding())
        ('By words alone until the vectors are there: 1,200 of 4,076 texts, about 41 s left.', 'By words alone until the vectors are there.')
        """
        count = f": {self.done:,} of {self.of:,} texts" if self.of else ""
        left_s = self.elapsed_s * (self.of - self.done) / self.done if self.done else None
        return f"{BY_WORDS}{count}{time_left(left_s)}."


@dataclass
class LoadedCatalog:
    """A catalog with everything computed from it. Its service holds a lock around every call.

    The catalog is held as columns. The indexes are built when they are first needed; projections and contexts are cached by priors and rates.
    `embedding` says how far the vectors are, None before the first is made. `words` decide until all are there.
    """

    catalog: Catalog
    source: str
    outcomes: list[OutcomeEvent] = field(default_factory=list[OutcomeEvent])
    overrides: tuple[Override, ...] = ()
    preparing: threading.Lock = field(default_factory=threading.Lock)
    reading: threading.RLock = field(default_factory=threading.RLock)
    embedding: Embedding | None = None
    words: WordsFit | None = None
    index: CatalogIndex | None = None
    relevance: RelevanceIndex | None = None
    learnt: Learnt = NOTHING_LEARNT
    tokens: NDArray[np.int64] | None = None
    projections: LRUCache[tuple[Learning, bool], StatisticsProjection] = field(
        default_factory=lambda: LRUCache(PROJECTIONS_CACHED)
    )
    contexts: LRUCache[tuple[Learning, bool, bool], RoutingContext] = field(
        default_factory=lambda: LRUCache(PROJECTIONS_CACHED)
    )
    latest: RoutingContext | None = None
    down: dict[str, Down] = field(default_factory=dict[str, Down])

    def __post_init__(self) -> None:
        self.catalog = packed(self.catalog)
        for outcome in self.outcomes:
            self._notice(outcome)

    def answered(self, server: str, at: datetime) -> None:
        """Clears the failure history of a server that answered a check."""
        self.down.pop(server, None)
        for projection in self.projections.values():
            projection.answered(server, at)

    def _notice(self, outcome: OutcomeEvent) -> None:
        if not teaches(outcome):
            return
        kind = OutcomeKind(outcome.kind)
        if kind.post_accept_failure:
            known = self.down.get(outcome.server)
            since, lost = (outcome.at, 0) if known is None else (known.since, known.lost)
            self.down[outcome.server] = Down(since, lost + 1, kind is OutcomeKind.NOT_CONNECTED)
        else:
            self.down.pop(outcome.server, None)

    def projection(self, learning: LearningParameters | None, *, with_simulated: bool = False) -> StatisticsProjection:
        (priors, rates), _ = key = _key(learning), with_simulated
        if key not in self.projections:
            projection = StatisticsProjection(
                self.catalog, overrides=self.overrides, priors=priors, rates=rates, with_simulated=with_simulated
            )
            for outcome in self.outcomes:
                projection.observe(outcome)
            self.projections[key] = projection
        return self.projections[key]

    def snapshot(
        self, learning: LearningParameters | None, at: datetime | None, *, with_simulated: bool = False
    ) -> Statistics:
        """The statistics at a time; the same object while nothing changes."""
        return self.projection(learning, with_simulated=with_simulated).snapshot(at)

    def observe(self, outcome: OutcomeEvent) -> None:
        self.outcomes.append(without_names(outcome))
        self._notice(outcome)
        for projection in self.projections.values():
            projection.observe(outcome)

    def set_overrides(self, overrides: tuple[Override, ...]) -> None:
        self.overrides = overrides
        self.projections.clear()

    def context(
        self,
        learning: LearningParameters | None,
        at: datetime | None,
        learnt: Learnt,
        matcher: Callable[[], IndexMatcher],
        *,
        by_words: bool = False,
        with_simulated: bool = False,
        cross_encoder: str = "",
    ) -> RoutingContext:
        """The routing context under these priors and rates: the same object while nothing changes. `by_words` is what `matcher` goes by.

        Raises CatalogError where the tokens are not counted.
        """
        if learnt is not self.learnt:
            self.learnt = learnt
            self.contexts.clear()  # decisions from before a label are not made again
        key = _key(learning), by_words, with_simulated
        statistics = self.snapshot(learning, at, with_simulated=with_simulated)
        context = self.contexts.get(key)
        if context is None or context.statistics is not statistics:
            if self.tokens is None:
                raise changed(self.catalog)
            made = matcher() if context is None else context.matcher
            network = measured_network(self.catalog, self.outcomes)
            if self.latest is None:
                self.latest = RoutingContext.of(
                    self.catalog, statistics, made, self.tokens, network, cross_encoder=cross_encoder
                )
            else:  # names and places are the same in all
                self.latest = replace(self.latest, statistics=statistics, matcher=made, network=network)
            self.latest = replace(self.latest, by_words=by_words)
            self.contexts[key] = context = self.latest
        return context

    def relevance_index(self) -> RelevanceIndex:
        """The relevance index. Raises CatalogError before it is built."""
        if self.relevance is None:
            raise changed(self.catalog)
        return self.relevance

    def words_fit(self) -> WordsFit:
        """The fit by words, made once; the words of the tools are those of the index as well."""
        with self.reading:
            if self.words is None:
                self.words = WordsFit(self.catalog, None if self.relevance is None else self.relevance.lexical)
            return self.words


def without_names(outcome: OutcomeEvent) -> OutcomeEvent:
    """The figures of an outcome that statistics are folded from. All outcomes of a catalog stay in memory, without texts."""
    return replace(outcome, id="", decision_id=None, error="", client="")


def measured_network(catalog: Catalog, outcomes: Sequence[OutcomeEvent]) -> CallHistory:
    """The latencies of the real calls so far; one that was never answered counts as an outage."""
    calls = len(outcomes)
    return CallHistory(
        tuple(server.name for server in catalog.servers),
        lambda: ((call.server, _latency_s(call)) for call in outcomes[:calls] if teaches(call)),
    )


def token_counts(catalog: Catalog, store: Store) -> NDArray[np.int64]:
    """(T,) tokens of each tool's definition; each text is counted once and kept in the store."""
    texts = [definition_text(tool) for tool in catalog.tools]
    hashes = [text_hash(text) for text in texts]
    known = store.vectors.load_token_counts(hashes)
    fresh = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
    if fresh:
        counted = dict(zip(fresh, count_many(list(fresh.values())), strict=True))
        store.vectors.save_token_counts(counted)
        known = {**known, **counted}
    return np.array([known[h] for h in hashes], dtype=np.int64)


def _key(learning: LearningParameters | None) -> Learning:
    chosen = learning or DEFAULT_LEARNING
    return chosen.priors(), chosen.rates()


def _latency_s(call: OutcomeEvent) -> float:
    return max(call.latency_s, OUTAGE_S) if OutcomeKind(call.kind).post_accept_failure else call.latency_s


def changed(catalog: Catalog) -> CatalogError:
    return CatalogError(f"Catalog {catalog.name!r} was changed while it was opened; try again.")
