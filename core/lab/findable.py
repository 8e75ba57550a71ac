"""Which tools of a catalog would be found, estimated from their own example requests.

Each request is a labelled question, written for one tool. A quarter of every tool's requests is left out in turn, and each
left-out request is ranked by a model of the other requests. A tool is found if it, or an equal tool, is among the first three.
Left-out requests are found less often than people's questions, because unlabelled equal tools count as wrong. The estimate is
corrected by the difference on four labelled catalogs (docs/decisions/0023-findable.md).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.catalogs.loaded_catalog import Wording, reworded, words_digest
from core.domain.catalog import Catalog
from core.domain.errors import CatalogError
from core.domain.findings import Findable, Missed, Preview, ToolFound
from core.lab.equal_sets import EqualSetsService
from core.relevance.learnt import LearntModels
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import Given, RequestIndex, model_for, with_requests
from core.relevance.scoring import SAME_HIGH, fit_of
from core.relevance.vectors import nearest_above

FOLDS = 4
SHOWN = 3
"""The number of tools that a search shows at first."""
OFFSETS = (0.85, 0.72)
"""The gain of labelled sets over left-out requests, in logits, for the first place and the first three (docs/decisions/0023)."""
DRAWS, SEED = 1_000, 0
NEAR = 12
"""The number of other tools whose requests a preview asks."""
WHOLE, DRAWN = 20_000, 5_000
"""Up to WHOLE requests are all ranked, else about DRAWN of them. Each takes a decision's time; 5,000 give shares within about 1 %."""
COMPARED = 200_000_000
"""Requests times tools, a bound of both. 2,000 requests among 100,000 tools take a minute and give shares within about 2 %."""
TWINS = 100
"""The number of nearest twins that count as equal to a tool."""
KEPT = 4
Progress = Callable[[int, int], object]
Floats = NDArray[np.float64]


def quiet(done: int, of: int) -> None:
    """Reports no progress."""


@dataclass(eq=False)
class FindableService:
    """Estimates by the state of a catalog and its requests. Thread-safe."""

    catalogs: CatalogService
    learnt: LearntModels
    equal_sets: EqualSetsService
    _kept: LRUCache[str, tuple[object, object, Findable]] = field(default_factory=lambda: LRUCache(KEPT))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, catalog: str) -> Findable | None:
        estimate, current = self.latest(catalog)
        return estimate if current else None

    def latest(self, catalog: str) -> tuple[Findable | None, bool]:
        """Returns the newest estimate, and whether catalog, requests and equal sets are unchanged since."""
        with self._lock:
            entry = self._kept.get(catalog)
        if entry is None:
            return None, False
        state = self._state(catalog)
        return entry[2], entry[0] is state[0] and entry[1] is state[1]

    def can_estimate(self, catalog: str) -> bool:
        return any(len(texts) > 1 for texts in self.learnt.requests.of(self.catalogs.catalog(catalog)).values())

    def estimate(self, catalog: str, progress: Progress = quiet) -> Findable:
        """Returns the estimate, in about a second for 1,000 requests. Raises CatalogError if there is no tool, or no tool has
        two requests."""
        stored = self.known(catalog)
        if stored is not None:
            return stored
        state, opened = self._state(catalog), self.catalogs.catalog(catalog)
        if not opened.tools:
            raise CatalogError(
                f"Catalog {catalog!r} lists no tool, so nothing can be estimated: `wayfare discover` asks the servers of a "
                "configuration for theirs."
            )
        requests = self.learnt.requests.given(opened)
        if requests is None or np.bincount(requests.owners).max(initial=0) < 2:
            raise CatalogError(
                f"No tool of catalog {catalog!r} has two example requests, so nothing can be estimated: `wayfare requests write "
                f"--catalog {catalog}` has a model write them, and `wayfare requests export --missing --catalog {catalog}` gives the "
                "tools to write them for."
            )
        index = self.catalogs.scorer(catalog).index
        equal = same_tools(opened, index, self.equal_sets.sets(catalog), drawn_tools(requests, len(opened.tools)))
        estimate = findable(opened, index, requests, equal, progress)
        with self._lock:
            self._kept[catalog] = (*state, estimate)
        return estimate

    def preview(self, catalog: str, place: str, text: str) -> Preview:
        """Returns the effect of another description of a tool (`server::tool`) on its own requests and on the requests of the
        nearest tools. Raises UnknownNameError, and CatalogError if the tool has no request."""
        opened, requests = self.catalogs.catalog(catalog), self.learnt.requests.given(self.catalogs.catalog(catalog))
        row = opened.tool_row[opened.find(*place.split("::", 1))[1].id]
        index = self.catalogs.scorer(catalog).index
        if requests is None or not (requests.owners == row).any():
            raise CatalogError(f"{place} has no example requests, so nothing can be told. Write some first.")
        near = np.argsort(-(index.own @ index.own[row]), kind="stable")[: NEAR + 1].tolist()
        new_catalog = worded(opened, place, text)
        new_index = self.catalogs.relevance_of(new_catalog)
        sets, rows = self.equal_sets.sets(catalog), list({row, *near} & {*requests.owners.tolist()})
        old_tools, new_tools = (
            {
                tool.tool: tool
                for tool in findable(version, relevance, requests, same_tools(version, relevance, sets, rows)).tools
            }
            for version, relevance in ((opened, index), (new_catalog, new_index))
        )
        others = ((old_tools[tool], new_tools[tool]) for tool in old_tools if tool != place)
        moves = tuple((old, new) for old, new in others if (old.first, old.found) != (new.first, new.found))
        return Preview(old_tools[place], new_tools[place], moves)

    def _state(self, catalog: str) -> tuple[object, object]:
        """The catalog and its learnt model. A change of requests makes a new object."""
        return self.catalogs.catalog(catalog), self.catalogs.learnt(catalog)


def worded(catalog: Catalog, place: str, text: str) -> Catalog:
    server, _, name = place.partition("::")
    tool = catalog.tools[catalog.tool_row[place]]
    return reworded(catalog, [Wording(server, name, text, words_digest(tool.own_description), "")])


def same_tools(
    catalog: Catalog, index: RelevanceIndex, sets: Sequence[Sequence[str]], asked: Sequence[int]
) -> Mapping[int, frozenset[int]]:
    """Returns for each asked tool (row) the equal tools: its equal set, and twins by definition on other servers."""
    rows, servers = catalog.tool_row, index.server_of
    equal: dict[int, set[int]] = {row: {row} for row in asked}
    for tools in sets:
        members = {rows[tool] for tool in tools if tool in rows}
        for row in members & equal.keys():
            equal[row] |= members
    sources, twins, _ = nearest_above(
        index.own[:], TWINS, SAME_HIGH, of=np.sort(np.array(asked, dtype=np.int64)),
        allowed=lambda left, right: servers[left] != servers[right],
    )  # fmt: skip
    for row, twin in zip(sources.tolist(), twins.tolist(), strict=True):
        equal[row].add(twin)
    return {row: frozenset(tools) for row, tools in equal.items()}


def drawn_tools(given: Given, among: int, whole: int = WHOLE, drawn: int = DRAWN) -> list[int]:
    """Returns the tools (rows) whose requests are asked, of a catalog of `among` tools: all, or random tools with about `drawn`
    requests, or fewer in a large catalog."""
    rows, sizes = np.unique(given.owners, return_counts=True)
    whole, drawn = min(whole, COMPARED // among), min(drawn, COMPARED // among)
    if sizes.sum() <= whole:
        return rows.tolist()
    order = np.random.default_rng(SEED).permutation(len(rows))
    chosen_rows = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), drawn, side="right")))]
    return sorted(rows[chosen_rows].tolist())


def findable(
    catalog: Catalog,
    index: RelevanceIndex,
    given: Given,
    same: Mapping[int, frozenset[int]],
    progress: Progress = quiet,
) -> Findable:
    """Returns the estimate from the requests of the tools (rows) in `same`, each ranked without its own quarter of every tool's
    requests."""
    starts = np.searchsorted(given.owners, given.owners)
    fold_of = (np.arange(len(given.owners)) - starts) % FOLDS
    asked_requests = np.isin(given.owners, list(same))
    missed: dict[int, list[Missed]] = {}
    hits = np.zeros((2, len(catalog.tools)))  # in the first place, and among the first SHOWN
    done = 0
    for fold in range(FOLDS):
        others = RequestIndex(given.some(fold_of != fold), index)
        model = model_for(others)
        for place in np.flatnonzero((fold_of == fold) & asked_requests).tolist():
            text, vector, row = given.texts[place], given.vectors[place], int(given.owners[place])
            signals = with_requests(index.signals(text, vector), others, text, vector, model)
            tools = fit_of(index, signals, model).tools
            rank = first_place(tools, same[row])
            hits[:, row] += rank == 0, rank < SHOWN
            if rank:
                other = catalog.tools[int(np.argmax(tools))].id
                missed.setdefault(row, []).append(Missed(text, other, rank + 1))
            done += 1
            progress(done, int(asked_requests.sum()))
    totals = np.bincount(given.owners[asked_requests], minlength=len(catalog.tools))
    rows = np.flatnonzero(totals).tolist()
    tools = [
        ToolFound(
            catalog.tools[row].id, int(hits[0, row]), int(hits[1, row]), int(totals[row]), tuple(missed.get(row, ()))
        )
        for row in rows
    ]
    tools.sort(key=lambda tool: (tool.found / tool.of, tool.first / tool.of, tool.tool))
    shares = [float(counts.sum() / totals[rows].sum()) for counts in hits[:, rows]]
    spans = [_interval(counts, totals[rows]) for counts in hits[:, rows]]
    hit = [corrected(share, gain) for share, gain in zip(shares, OFFSETS, strict=True)]
    span = [(corrected(low, gain), corrected(high, gain)) for (low, high), gain in zip(spans, OFFSETS, strict=True)]
    without = len(catalog.tools) - len(np.unique(given.owners))
    return Findable(
        hit[0], hit[1], shares[0], shares[1], span[0], span[1], tuple(tools), without, len(given.owners)
    )  # fmt: skip


def first_place(scores: NDArray[np.floating], rows: Collection[int]) -> int:
    """Returns the place of the first of some rows by score, from 0. Among equal scores the lower row is first.

    >>> first_place(np.array([0.5, 0.9, 0.5]), {2}), first_place(np.array([0.5, 0.9, 0.5]), {0, 2})
    (2, 1)
    """
    best = max(rows, key=lambda row: (scores[row], -row))
    return int((scores > scores[best]).sum() + (scores[:best] == scores[best]).sum())


def corrected(share: float, offset: float) -> float:
    """Returns the expected share for labelled sets from a share of left-out requests, by an offset of its logit.

    >>> round(corrected(0.74, 0.72), 2), corrected(1.0, 0.72), corrected(0.0, 0.72)
    (0.85, 1.0, 0.0)
    """
    return share if share in {0.0, 1.0} else 1.0 / (1.0 + (1.0 - share) / share * math.exp(-offset))


def _interval(counts: Floats, totals: NDArray[np.int64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a share. Draws whole tools, because the requests of a tool depend on each other."""
    sample = np.random.default_rng(SEED).integers(0, len(totals), (DRAWS, len(totals)))
    shares = counts[sample].sum(axis=1) / totals[sample].sum(axis=1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)
