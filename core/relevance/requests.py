"""The example requests of a catalog's tools as two signals: the nearness of the nearest requests, and the words that they share with a query.

    asked_j       = mean of the three greatest cos(q, r_jk)      r_jk: request k of tool j; the tool's own text replaces missing requests
    asked_words_j = BM25(q, the joined requests of j)
    z             = both over the tools that have requests, shrunk towards a prior (`core.relevance.scoring`)
    line_j        = SLOPE z(s_j)                                 s_j: relevance without requests; z over these tools

A tool without requests takes `line`, so it neither gains nor loses. A tool with few requests gains in full from a near request, and loses
by far requests in proportion to their number, because the list is incomplete. Only the 64 tools whose mean request is nearest are
compared request by request; the other tools are estimated from that mean. docs/decisions/0022-example-requests.md has the figures.

A tool must not attract other tools' queries. A request counts if its tool is among the nearest fifth of all tools by definition.
If more than a third of a tool's requests do not count, or they are near questions of every kind, no request of the tool counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sample_catalog
from core.domain.catalog import Catalog
from core.domain.tasks import Request, in_force
from core.domain.text_column import Texts
from core.domain.tool_table import rows_with_seldom
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.relevance.encoder import CachedEncoder, TokenVectors, Vectors, eight_bits, text_hash, unit_rows
from core.relevance.lexical import LexicalIndex, words_and_stems
from core.relevance.packaged_vectors import read_requests
from core.relevance.relevance_index import WORD_LENGTH_SHARE, RelevanceIndex, RelevanceModel, RequestModel
from core.relevance.scoring import Floats, Like, Signal, contributions, moments, sum_of, z_scores
from core.store import Store

ASKED, ASKED_WORDS = "asked", "asked_words"
NEAREST = 3  # requests of a tool whose mean is its signal
COMPARED = 64  # tools that are compared request by request
ENOUGH = 8  # requests from which on a tool loses in full by far requests
MEAN_SLOPE, MEAN_OFFSET = 1.09, 0.056  # the mean of the three nearest, estimated from the mean request
OWN_SHARE, OWN_MARGIN, LEAST_NEARER = 0.2, 0.1, 3
FOREIGN_LIMIT = 1 / 3
# of the mean cosine with questions of all kinds, for twelve requests, and less per halving
GENERAL_LIMIT, GENERAL_STEP = 0.2, 0.036
SEEN = 512  # tools that represent a larger catalog
FOREIGN = "a fifth of all tools is nearer to it by definition"
MOSTLY_FOREIGN = "more than a third of this tool's requests are nearer to other tools"
GENERAL_KIND = "this tool's requests are near questions of every kind"


@dataclass(frozen=True, slots=True)
class Near:
    text: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Given:
    """N requests: `texts` (N,) with their unit `vectors` (N, D), and `owners` (N,), ascending rows of their tools. `honest` (N,) marks
    the shipped requests, which are not checked.
    """

    texts: Sequence[str]
    vectors: Vectors
    owners: NDArray[np.int64]
    honest: NDArray[np.bool_]

    def some(self, chosen: NDArray[np.bool_]) -> Given:
        texts = [self.texts[place] for place in range(len(self.texts)) if chosen[place]]
        return Given(texts, self.vectors[chosen], self.owners[chosen], self.honest[chosen])


class RequestIndex:
    """The requests of T tools that count, as 8-bit rows. Immutable; safe for several threads.

    `tools` (C,) are the rows of tools with requests, and `coverage` is their share. `enough`: every tool has enough requests. `uncounted`
    has the other requests and the reasons, by the row of their tool. `greedy` are the rows of tools without a counting request.
    """

    def __init__(self, given: Given, index: RelevanceIndex) -> None:
        counts, greedy = counting(given, index)
        places, own_rows = np.flatnonzero(counts), index.own
        self.greedy = frozenset(greedy)
        self.uncounted: dict[int, dict[str, str]] = {}
        for place in np.flatnonzero(~counts).tolist():
            row = int(given.owners[place])
            self.uncounted.setdefault(row, {})[given.texts[place]] = greedy.get(row, FOREIGN)
        self.texts = Texts.of(given.texts[place] for place in places.tolist())
        rows, sizes = given.vectors[places], np.bincount(given.owners[places], minlength=len(own_rows))
        self.covered = sizes > 0
        self.tools = np.flatnonzero(self.covered)
        self.coverage = len(self.tools) / max(len(own_rows), 1)
        self._sizes = sizes
        self._starts = np.cumsum(sizes) - sizes
        self._against = np.minimum(sizes[self.tools] / ENOUGH, 1.0).astype(np.float32)
        self.enough = len(self.tools) == len(own_rows) and bool((self._against == 1.0).all())
        self._rows = eight_bits(rows)
        self._lengths = np.linalg.norm(self._rows.astype(np.float32), axis=1)
        self._counts, starts = sizes[self.tools], self._starts[self.tools]
        self._means = _means(rows, starts, self._counts)
        self._own = own_rows
        self._index = index
        width = np.arange(max(int(sizes.max(initial=0)), 1))
        self._places = starts[:, None] + np.minimum(width, self._counts[:, None] - 1)
        spans = zip(starts.tolist(), self._counts.tolist(), strict=True)
        joined = [" ".join(self.texts[place] for place in range(start, start + size)) for start, size in spans]
        self._lexical = LexicalIndex(joined, words_of=words_and_stems, b=WORD_LENGTH_SHARE)

    def signals(
        self, text: str, vector: Vectors, relevance: Callable[[], Floats], model: RequestModel
    ) -> dict[str, Floats]:
        """Both signals of a query, normalised, (T,) each. `relevance` returns the relevance without requests, (T,). It is not called if every
        tool has enough requests.
        """
        words = words_and_stems(text)
        if self.enough:
            return self.of_covered(words, vector, None, model)[0]
        base = relevance()
        signals, (mean, deviation) = self.of_covered(words, vector, base[self.tools], model)
        for name, covered in signals.items():
            signals[name] = model.slope[name] / deviation * (base - mean)
            signals[name][self.tools] = covered
        return signals

    def of_covered(
        self, words: Sequence[str], vector: Vectors, base: Floats | None, model: RequestModel
    ) -> tuple[dict[str, Floats], tuple[float, float]]:
        """Both signals of the C tools that have requests, normalised, (C,) each, and the mean and deviation of their relevance without
        requests, `base` (C,). It is None if every tool has enough requests. `words` are the query's words with their stems.
        """
        raw = {ASKED: self._nearest(vector), ASKED_WORDS: self._lexical.scores_of(words)}
        scores = {name: z_scores(values, model.prior[name]) for name, values in raw.items()}
        if base is None:
            return scores, (0.0, 1.0)
        mean, deviation = moments(base, model.prior["relevance"])
        for name, values in scores.items():
            line = model.slope[name] / deviation * (base - mean)
            change = values - line
            scores[name] = line + np.where(change > 0, change, self._against * change)
        return scores, (mean, deviation)

    @cached_property
    def rows(self) -> Vectors:
        """(C, D) the mixed views of tools with requests, copied once, because picking them costs more than a product."""
        return self._index.rows[self.tools]

    def near(self, row: int, vector: Vectors) -> Near | None:
        if not self.covered[row]:
            return None
        start = int(self._starts[row])
        end = start + int(self._sizes[row])
        cosines = self._rows[start:end].astype(np.float32) @ vector / self._lengths[start:end]
        best = int(cosines.argmax())
        return Near(self.texts[start + best], float(cosines[best]))

    def _nearest(self, vector: Vectors) -> Vectors:
        means = self._means @ vector
        scores = np.float32(MEAN_SLOPE) * means + np.float32(MEAN_OFFSET)
        size = min(COMPARED, len(means))
        best = np.argpartition(-means, size - 1)[:size]
        sizes = self._counts[best][:, None]
        places = self._places[best, : int(sizes.max(initial=0))]
        rows = self._rows.take(places.ravel(), axis=0).astype(np.float32)
        cosines = (rows @ vector).reshape(places.shape) / self._lengths[places]
        cosines[np.arange(places.shape[1]) >= sizes] = -1.0
        if (sizes < NEAREST).any():
            own_cosines = np.repeat((self._own[self.tools[best]] @ vector)[:, None], NEAREST, axis=1)
            own_cosines[np.arange(NEAREST) >= NEAREST - sizes] = -1.0
            cosines = np.concatenate([cosines, own_cosines], axis=1)
        scores[best] = np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
        return scores


def with_requests(
    signals: Mapping[str, Signal], requests: RequestIndex | None, text: str, vector: Vectors, model: RelevanceModel
) -> Mapping[str, Signal]:
    if requests is None:
        return signals
    return {
        **signals,
        **requests.signals(text, vector, lambda: sum_of(contributions(signals, model)), model.requests),
    }


def model_for(requests: RequestIndex | None) -> RelevanceModel:
    shipped = RelevanceModel.shipped()
    return shipped if requests is None else shipped.with_requests(requests.coverage, len(requests.covered))


# The likeness of a question to a tool's requests, the best sign that nothing fits
#     like = (mean over a of max over b of cos(a, b) + mean over b of max over a of cos(a, b)) / 2        a, b: tokens of question and request
#
# ColBERT's sum, both ways. The vector of a text has its topic; its tokens show whether each demand is met.


def likeness(encoder: CachedEncoder, question: str, text: str) -> float:
    """The likeness of two texts, token by token, about 0 to 1. The encoder runs for texts outside its cache."""
    return likeness_of_tokens(*encoder.tokens([question, text]))


def likeness_of_tokens(asked: TokenVectors, known: TokenVectors) -> float:
    """`likeness` of unit rows, a row per token. Returns 0 if a text has no tokens.

    >>> likeness_of_tokens(np.eye(2, dtype=np.float16), np.eye(2, dtype=np.float16)[:1])
    0.75
    """
    if not (len(asked) and len(known)):
        return 0.0
    cosines = asked.astype(np.float32) @ known.astype(np.float32).T
    return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2


def like_requests(requests: RequestIndex | None, encoder: CachedEncoder, text: str, vector: Vectors) -> Like:
    """The likeness of a question, with its vector, to the nearest request of a tool (row). It is None for a tool without requests."""

    def like(row: int) -> float | None:
        near = None if requests is None else requests.near(row, vector)
        return None if near is None else likeness(encoder, text, near.text)

    return like


def counting(given: Given, index: RelevanceIndex) -> tuple[NDArray[np.bool_], dict[int, str]]:
    """(N,) which requests count, and the rows of the tools without a counting request, with the reason."""
    counts = given.honest | ~foreign(given, index.own)
    greedy: dict[int, str] = {}
    general = index.general_questions
    rows = np.unique(given.owners[~given.honest])
    starts, ends = (np.searchsorted(given.owners, rows, side=side) for side in ("left", "right"))
    for row, start, end in zip(rows.tolist(), starts, ends, strict=True):
        places = np.arange(int(start), int(end))
        mostly_foreign = (~counts[places]).mean() > FOREIGN_LIMIT
        if mostly_foreign or _near_everything(given.vectors[places], general):
            greedy[row] = MOSTLY_FOREIGN if mostly_foreign else GENERAL_KIND
            counts[places] = given.honest[places]
    return counts, greedy


def foreign(given: Given, own: Vectors) -> NDArray[np.bool_]:
    """(N,) the requests that are not about their tool, because a fifth of all tools is clearly nearer by definition. `own` (T, D)."""
    mask = np.zeros(len(given.texts), dtype=np.bool_)
    others = own[:: -(-len(own) // SEEN)]
    limit = max(LEAST_NEARER, OWN_SHARE * len(others))
    places = np.flatnonzero(~given.honest)
    for start in range(0, len(places), 4096):
        block = places[start : start + 4096]
        cosines = np.vecdot(given.vectors[block], own[given.owners[block]])
        mask[block] = (given.vectors[block] @ others.T > cosines[:, None] + OWN_MARGIN).sum(axis=1) >= limit
    return mask


def _near_everything(vectors: Vectors, general: Vectors | None) -> bool:
    if general is None or len(vectors) < NEAREST:
        return False
    limit = GENERAL_LIMIT - GENERAL_STEP * max(0.0, np.log2(12 / len(vectors)))  # honest tools stay .01 below it
    return bool(np.partition(vectors @ general.T, -NEAREST, axis=0)[-NEAREST:].mean() > limit)


def _means(rows: Vectors, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Vectors:
    if not len(starts):
        return np.zeros((0, rows.shape[1]), dtype=np.float32)
    return (np.add.reduceat(rows, starts) / sizes[:, None]).astype(np.float32)


SHIPPED, OF_CATALOG = "shipped", "catalog"
Requests = Mapping[str, tuple[Request, ...]]


@dataclass
class _Known:
    catalog: Catalog
    requests: Requests
    index: RequestIndex | None = None
    made: bool = False
    making: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False)
class RequestBook:
    """Requests by catalog. Thread-safe. `folder` has the vectors of the requests that come with Wayfare."""

    store: Store
    encoder: CachedEncoder
    folder: Path = sample_catalog.REQUESTS

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}
        self._lock = threading.RLock()

    def of(self, catalog: Catalog) -> Requests:
        return self._read(catalog).requests

    def index(self, catalog: Catalog, relevance: Callable[[], RelevanceIndex], part: str = "") -> RequestIndex | None:
        """The index of a catalog, or of a `part` of its tools. Returns None if no request counts. May embed texts, which takes long."""
        checked = self.checked(catalog, relevance, part)
        return checked if checked is not None and checked.covered.any() else None

    def checked(self, catalog: Catalog, relevance: Callable[[], RelevanceIndex], part: str = "") -> RequestIndex | None:
        """The index, also if no request counts. Returns None if the catalog has no requests."""
        entry = self._read(catalog, part)
        with entry.making:
            if not entry.made:
                requests = self._given(entry)
                entry.index = None if requests is None else RequestIndex(requests, relevance())
                entry.made = True
            return entry.index

    def forget(self, name: str) -> None:
        with self._lock:
            for key in [key for key in self._known if key[0] == name]:
                del self._known[key]

    def _read(self, catalog: Catalog, part: str = "") -> _Known:
        with self._lock:
            entry = self._known.get((catalog.name, part))
            if entry is None or entry.catalog is not catalog:
                entry = self._known[catalog.name, part] = _Known(catalog, self.in_force(catalog))
            return entry

    def in_force(self, catalog: Catalog) -> Requests:
        """The requests of any state of a catalog, such as with all its servers on. Unlike `of`, it keeps nothing and displaces nothing."""
        source = SHIPPED if catalog.name in SHIPPED_CATALOGS else OF_CATALOG
        history = self.store.requests.history(catalog.name)
        named = (catalog.tool_row.get(change.tool) for change in history)
        rows = sorted({*rows_with_seldom(catalog.tools), *(row for row in named if row is not None)})
        return in_force(history, {catalog.tool_ids[row]: catalog.tools[row] for row in rows}, source=source)

    def given(self, catalog: Catalog) -> Given | None:
        """The requests in force with their vectors. Returns None if the catalog has none. May embed texts, which takes long."""
        return self._given(self._read(catalog))

    def _given(self, entry: _Known) -> Given | None:
        pairs = _in_order(entry)
        shipped = self._shipped([request.text for _, request in pairs if request.source == SHIPPED])
        # another encoder than the shipped encoder would embed 13,000 texts at its first start
        requests = [(row, request) for row, request in pairs if request.source != SHIPPED or request.text in shipped]
        return self._with_vectors(requests, shipped) if requests else None

    def _with_vectors(self, pairs: Sequence[tuple[int, Request]], shipped: Mapping[str, Vectors]) -> Given:
        honest = np.array([item.source == SHIPPED for _, item in pairs], dtype=np.bool_)
        vectors = np.empty((len(pairs), self.encoder.dimension), dtype=np.float32)
        if honest.any():
            vectors[honest] = [shipped[item.text] for _, item in pairs if item.source == SHIPPED]
        if not honest.all():
            vectors[~honest] = self.encoder.encode_documents([item.text for _, item in pairs if item.source != SHIPPED])
        return Given([item.text for _, item in pairs], vectors, np.array([i for i, _ in pairs], dtype=np.int64), honest)

    def _shipped(self, texts: list[str]) -> dict[str, Vectors]:
        stored = read_requests(self.folder, self.encoder.model) if texts else None
        if stored is None:
            return {}
        places, rows = stored
        hits = [(text, places[key]) for text in texts if (key := text_hash(text)) in places]
        unit = unit_rows(rows[[place for _, place in hits]].astype(np.float32))
        return dict(zip((text for text, _ in hits), unit, strict=True))


def _in_order(entry: _Known) -> list[tuple[int, Request]]:
    pairs = [(entry.catalog.tool_row[key], request) for key, requests in entry.requests.items() for request in requests]
    return sorted(pairs, key=lambda pair: pair[0])
