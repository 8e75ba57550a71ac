"""One catalog in memory: the operator's own descriptions of its tools, its index, its outcomes so far, and the statistics and contexts of these."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from heapq import merge
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool, definition_text, original_words
from core.domain.documents import digest
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.tool_table import packed
from core.domain.tools import count_many
from core.domain.units import time_left
from core.network.traces import OUTAGE_S, CallHistory
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, text_hash
from core.relevance.fit_matcher import FitMatcher, WordsFit
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
    """A server that loses every call since a time. `lost` counts them. `unreachable`: the last call could not even connect."""

    since: datetime
    lost: int
    unreachable: bool

    @property
    def believed(self) -> bool:
        """Whether the server counts as down. A single call may be lost by chance."""
        return self.unreachable or self.lost > 1


@dataclass(frozen=True, slots=True)
class Embedding:
    """The progress of a catalog's vectors: `done` of `of` texts (0 before they are counted) after `elapsed_s`."""

    done: int = 0
    of: int = 0
    elapsed_s: float = 0.0

    @property
    def share(self) -> float:
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

    The catalog is held as columns. `views` are embedded when they are first read, and `relevance` is built for the first decision by vectors.
    Projections and contexts are cached by priors and rates.
    `embedding` is the progress of the vectors, None before the first. `words` decide until all are there. `answers` are the times at which a
    check found a server up again.
    """

    catalog: Catalog
    source: str
    encoder: CachedEncoder
    outcomes: list[OutcomeEvent] = field(default_factory=list[OutcomeEvent])
    overrides: tuple[Override, ...] = ()
    preparing: threading.Lock = field(default_factory=threading.Lock)
    reading: threading.RLock = field(default_factory=threading.RLock)
    embedding: Embedding | None = None
    words: WordsFit | None = None
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
    answers: list[tuple[datetime, str]] = field(default_factory=list[tuple[datetime, str]])

    def __post_init__(self) -> None:
        self.catalog = packed(self.catalog)
        self.views = CatalogIndex(self.catalog, self.encoder)
        self._fold(self._notice, lambda server, _: self.down.pop(server, None))

    def _fold(self, observe: Callable[[OutcomeEvent], object], answered: Callable[[str, datetime], object]) -> None:
        outcomes = ((_ended_s(outcome), partial(observe, outcome)) for outcome in self.outcomes)
        answers = ((at.timestamp(), partial(answered, server, at)) for at, server in self.answers)
        for _, fold in merge(outcomes, answers, key=operator.itemgetter(0)):
            fold()

    def answered(self, server: str, at: datetime) -> None:
        self.down.pop(server, None)
        self.answers.append((at, server))
        for projection in self.projections.values():
            projection.answered(server, at)

    def _notice(self, outcome: OutcomeEvent) -> None:
        if not teaches(outcome):
            return
        kind = OutcomeKind(outcome.kind)
        if kind.post_accept_failure:
            outage = self.down.get(outcome.server)
            since, lost = (outcome.at, 0) if outage is None else (outage.since, outage.lost)
            self.down[outcome.server] = Down(since, lost + 1, kind is OutcomeKind.NOT_CONNECTED)
        else:
            self.down.pop(outcome.server, None)

    def projection(self, learning: LearningParameters | None, *, with_simulated: bool = False) -> StatisticsProjection:
        (priors, rates), _ = key = _key(learning), with_simulated
        if key not in self.projections:
            projection = StatisticsProjection(
                self.catalog, overrides=self.overrides, priors=priors, rates=rates, with_simulated=with_simulated
            )
            self._fold(projection.observe, projection.answered)
            self.projections[key] = projection
        return self.projections[key]

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
        fit: FitMatcher | WordsFit,
        tokens: NDArray[np.int64],
        *,
        by_words: bool,
        with_simulated: bool,
        cross_encoder: str,
    ) -> RoutingContext:
        """The routing context under these priors and rates, the same object while nothing changes."""
        if learnt is not self.learnt:
            self.learnt = learnt
            self.contexts.clear()  # decisions from before a label are not made again
        key = _key(learning), by_words, with_simulated
        statistics = self.projection(learning, with_simulated=with_simulated).snapshot(at)
        context = self.contexts.get(key)
        if context is None or context.statistics is not statistics:
            matcher = IndexMatcher(self.views, self.encoder, fit) if context is None else context.matcher
            network = measured_network(self.catalog, self.outcomes)
            if self.latest is None:
                self.latest = RoutingContext.of(
                    self.catalog, statistics, matcher, tokens, network, cross_encoder=cross_encoder
                )
            else:  # names and places are the same in all
                self.latest = replace(self.latest, statistics=statistics, matcher=matcher, network=network)
            self.latest = replace(self.latest, by_words=by_words)
            self.contexts[key] = context = self.latest
        return context

    def words_fit(self) -> WordsFit:
        """The fit by words, made once. It shares the words of the index."""
        with self.reading:
            if self.words is None:
                self.words = WordsFit(self.catalog, None if self.relevance is None else self.relevance.lexical)
            return self.words


def without_names(outcome: OutcomeEvent) -> OutcomeEvent:
    """Keeps only the figures that statistics need, because all outcomes of a catalog stay in memory."""
    return replace(outcome, id="", decision_id=None, error="", client="")


FROM_FILE = "file"  # the origin of the outcomes of another store, which are committed long after the calls


def in_order(outcomes: Iterable[OutcomeEvent]) -> list[OutcomeEvent]:
    """Outcomes in order of commit, except that those of another store take their place by time."""
    kept, at = list(map(without_names, outcomes)), operator.attrgetter("at")
    own = [outcome for outcome in kept if outcome.origin != FROM_FILE]
    others = sorted((outcome for outcome in kept if outcome.origin == FROM_FILE), key=at)
    return list(merge(own, others, key=at))


def _ended_s(outcome: OutcomeEvent) -> float:
    took_s = 0.0 if outcome.simulated else (outcome.connect_s or 0.0) + outcome.latency_s  # nothing waits if simulated
    return outcome.at.timestamp() + took_s


def measured_network(catalog: Catalog, outcomes: Sequence[OutcomeEvent]) -> CallHistory:
    """The latencies of the real calls so far. A call without an answer counts as an outage."""
    calls = len(outcomes)

    def latencies() -> Iterator[tuple[str, float]]:
        for call in filter(teaches, outcomes[:calls]):
            lost = OutcomeKind(call.kind).post_accept_failure
            yield call.server, max(call.latency_s, OUTAGE_S) if lost else call.latency_s

    return CallHistory(tuple(server.name for server in catalog.servers), latencies)


def token_counts(catalog: Catalog, store: Store) -> NDArray[np.int64]:
    """(T,) tokens of each tool's definition; each text is counted once and kept in the store."""
    texts = [definition_text(tool) for tool in catalog.tools]
    hashes = [text_hash(text) for text in texts]
    counts = store.vectors.load_token_counts(hashes)
    missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in counts}
    if missing:
        new_counts = dict(zip(missing, count_many(list(missing.values())), strict=True))
        store.vectors.save_token_counts(new_counts)
        counts = {**counts, **new_counts}
    return np.array([counts[h] for h in hashes], dtype=np.int64)


def _key(learning: LearningParameters | None) -> Learning:
    parameters = learning or DEFAULT_LEARNING
    return parameters.priors(), parameters.rates()


DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Wording:
    """The description of a tool, or of a server if `tool` is "". `of` is the digest of the words that it replaces."""

    server: str
    tool: str
    text: str
    of: str
    at: str


def reworded(catalog: Catalog, wordings: Iterable[Wording]) -> Catalog:
    """Returns the catalog with these wordings, except stale wordings."""
    by_place = {(wording.server, wording.tool): wording for wording in wordings}
    if not by_place:
        return catalog

    def said(record: Server | Tool, server: str, tool: str) -> dict[str, Any]:
        wording = by_place.get((server, tool))
        if wording is None or wording.of != words_digest(record.own_description):
            return {}
        return {"description": wording.text, "original": record.own_description}

    names = {server for server, _ in by_place}
    servers = (
        replace(
            server,
            tools=tuple(replace(tool, **said(tool, server.name, tool.name)) for tool in server.tools),
            **said(server, server.name, ""),
        )
        if server.name in names
        else server
        for server in catalog.servers
    )
    return replace(catalog, servers=tuple(servers))


def words_digest(text: str) -> str:
    return digest(text)[:DIGEST_CHARACTERS]


def stored_wordings(store: Store, catalog: str) -> tuple[Wording, ...]:
    return tuple(Wording(**row) for row in store.get_setting(setting_of(catalog), []))


def without_wordings(catalog: Catalog) -> Catalog:
    servers, off = (tuple(map(original_words, group)) for group in (catalog.servers, catalog.off))
    unchanged = all(map(operator.is_, (*servers, *off), (*catalog.servers, *catalog.off)))
    return catalog if unchanged else replace(catalog, servers=servers, off=off)


def setting_of(catalog: str) -> str:
    return f"wordings:{catalog}"
