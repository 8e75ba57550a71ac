"""Which tools of a catalog would be found, estimated from their own example requests.

Each request is a labelled question: it was written for one tool. A quarter of every tool's requests is left out in turn, and
each left-out request is ranked by what the others teach. A tool is found if it, or a tool that does the same, is among
the first three. Left-out requests are found less often than what people ask: two tools may do the same, and nobody says so. Four
labelled catalogs tell how much less, and the estimate is corrected by that (docs/decisions/0023-findable.md).
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
"""As many tools as a search shows at first."""
OFFSETS = (0.85, 0.72)
"""What labelled sets have above left-out requests, in logits, for the first place and the first three (docs/decisions/0023)."""
DRAWS, SEED = 1_000, 0
NEAR = 12
"""Tools whose requests a preview asks beside the tool's own."""
WHOLE, DRAWN = 20_000, 5_000
"""Up to so many requests all are ranked; of more, about so many: each takes as long as a decision, and 5,000 give shares within about 1 %."""
COMPARED = 200_000_000
"""Requests times tools, which bounds both: 2,000 requests among 100,000 tools take a minute, and give shares within about 2 %."""
TWINS = 100
"""As many of a tool's twins count as the same tool, the nearest."""
KEPT = 4
Progress = Callable[[int, int], object]
Floats = NDArray[np.float64]


def quiet(done: int, of: int) -> None:
    """Tells no progress."""


@dataclass(eq=False)
class FindableService:
    """Estimates, one for each state of a catalog and its requests. Thread-safe."""

    catalogs: CatalogService
    learnt: LearntModels
    equal_sets: EqualSetsService
    _kept: LRUCache[str, tuple[object, object, Findable]] = field(default_factory=lambda: LRUCache(KEPT))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, catalog: str) -> Findable | None:
        found, current = self.latest(catalog)
        return found if current else None

    def latest(self, catalog: str) -> tuple[Findable | None, bool]:
        """Returns the newest estimate, and whether catalog, requests and equal sets are still what it was made from."""
        with self._lock:
            kept = self._kept.get(catalog)
        if kept is None:
            return None, False
        now = self._state(catalog)
        return kept[2], kept[0] is now[0] and kept[1] is now[1]

    def can_estimate(self, catalog: str) -> bool:
        return any(len(of) > 1 for of in self.learnt.requests.of(self.catalogs.catalog(catalog)).values())

    def estimate(self, catalog: str, progress: Progress = quiet) -> Findable:
        """Returns the estimate: about a second for 1,000 requests. Raises CatalogError if there is no tool, or none has
        two requests."""
        known = self.known(catalog)
        if known is not None:
            return known
        state, opened = self._state(catalog), self.catalogs.catalog(catalog)
        if not opened.tools:
            raise CatalogError(
                f"Catalog {catalog!r} lists no tool, so nothing can be estimated: `wayfare discover` asks the servers of a "
                "configuration for theirs."
            )
        given = self.learnt.requests.given(opened)
        if given is None or np.bincount(given.owners).max(initial=0) < 2:
            raise CatalogError(
                f"No tool of catalog {catalog!r} has two example requests, so nothing can be estimated: `wayfare requests write "
                f"--catalog {catalog}` has a model write them, and `wayfare requests export --missing --catalog {catalog}` gives the "
                "tools to write them for."
            )
        index = self.catalogs.scorer(catalog).index
        same = same_tools(opened, index, self.equal_sets.sets(catalog), drawn_tools(given, len(opened.tools)))
        made = findable(opened, index, given, same, progress)
        with self._lock:
            self._kept[catalog] = (*state, made)
        return made

    def preview(self, catalog: str, place: str, text: str) -> Preview:
        """Returns what another description of a tool (`server::tool`) would change for its own requests and for those of the
        tools nearest to it. Raises UnknownNameError, CatalogError as `estimate`."""
        opened, given = self.catalogs.catalog(catalog), self.learnt.requests.given(self.catalogs.catalog(catalog))
        row = opened.tool_row[opened.find(*place.split("::", 1))[1].id]
        index = self.catalogs.scorer(catalog).index
        if given is None or not (given.owners == row).any():
            raise CatalogError(f"{place} has no example requests, so nothing can be told. Write some first.")
        near = np.argsort(-(index.own @ index.own[row]), kind="stable")[: NEAR + 1].tolist()
        changed = worded(opened, place, text)
        again = self.catalogs.relevance_of(changed)
        sets, asked = self.equal_sets.sets(catalog), list({row, *near} & {*given.owners.tolist()})
        before, after = (
            {one.tool: one for one in findable(of, by, given, same_tools(of, by, sets, asked)).tools}
            for of, by in ((opened, index), (changed, again))
        )
        others = ((before[tool], after[tool]) for tool in before if tool != place)
        moved = tuple((old, new) for old, new in others if (old.first, old.found) != (new.first, new.found))
        return Preview(before[place], after[place], moved)

    def _state(self, catalog: str) -> tuple[object, object]:
        """The catalog, and its learnt model, which is another object after a change of requests."""
        return self.catalogs.catalog(catalog), self.catalogs.learnt(catalog)


def worded(catalog: Catalog, place: str, text: str) -> Catalog:
    server, _, name = place.partition("::")
    tool = catalog.tools[catalog.tool_row[place]]
    return reworded(catalog, [Wording(server, name, text, words_digest(tool.own_description), "")])


def same_tools(
    catalog: Catalog, index: RelevanceIndex, sets: Sequence[Sequence[str]], asked: Sequence[int]
) -> Mapping[int, frozenset[int]]:
    """Returns for each asked tool (row) those that do the same: of its equal set, and twins by definition on other servers."""
    rows, servers = catalog.tool_row, index.server_of
    found: dict[int, set[int]] = {row: {row} for row in asked}
    for tools in sets:
        members = {rows[tool] for tool in tools if tool in rows}
        for row in members & found.keys():
            found[row] |= members
    of, twins, _ = nearest_above(
        index.own[:], TWINS, SAME_HIGH, of=np.sort(np.array(asked, dtype=np.int64)),
        allowed=lambda one, other: servers[one] != servers[other],
    )  # fmt: skip
    for row, twin in zip(of.tolist(), twins.tolist(), strict=True):
        found[row].add(twin)
    return {row: frozenset(tools) for row, tools in found.items()}


def drawn_tools(given: Given, among: int, whole: int = WHOLE, drawn: int = DRAWN) -> list[int]:
    """Returns the tools (rows) whose requests are asked `among` so many: all, or so many drawn by chance that they have about `drawn`
    requests, or fewer in a large catalog."""
    rows, sizes = np.unique(given.owners, return_counts=True)
    whole, drawn = min(whole, COMPARED // among), min(drawn, COMPARED // among)
    if sizes.sum() <= whole:
        return rows.tolist()
    order = np.random.default_rng(SEED).permutation(len(rows))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), drawn, side="right")))]
    return sorted(rows[kept].tolist())


def findable(
    catalog: Catalog,
    index: RelevanceIndex,
    given: Given,
    same: Mapping[int, frozenset[int]],
    progress: Progress = quiet,
) -> Findable:
    """Returns the estimate from the requests of the tools (rows) in `same`, each ranked without the quarter of every tool's requests
    that it belongs to."""
    starts = np.searchsorted(given.owners, given.owners)
    fold_of = (np.arange(len(given.owners)) - starts) % FOLDS
    wanted = np.isin(given.owners, list(same))
    missed: dict[int, list[Missed]] = {}
    first, found = np.zeros(len(catalog.tools)), np.zeros(len(catalog.tools))
    done = 0
    for fold in range(FOLDS):
        left = RequestIndex(given.some(fold_of != fold), index)
        model = model_for(left)
        for place in np.flatnonzero((fold_of == fold) & wanted).tolist():
            text, vector, row = given.texts[place], given.vectors[place], int(given.owners[place])
            signals = with_requests(index.signals(text, vector), left, text, vector, model)
            tools = fit_of(index, signals, model).tools
            rank = first_place(tools, same[row])
            first[row] += rank == 0
            found[row] += rank < SHOWN
            if rank:
                other = catalog.tools[int(np.argmax(tools))].id
                missed.setdefault(row, []).append(Missed(text, other, rank + 1))
            done += 1
            progress(done, int(wanted.sum()))
    of = np.bincount(given.owners[wanted], minlength=len(catalog.tools))
    asked = np.flatnonzero(of).tolist()
    tools = [
        ToolFound(catalog.tools[row].id, int(first[row]), int(found[row]), int(of[row]), tuple(missed.get(row, ())))
        for row in asked
    ]
    tools.sort(key=lambda one: (one.found / one.of, one.first / one.of, one.tool))
    shares = [float(counts[asked].sum() / of[asked].sum()) for counts in (first, found)]
    low_high = [_interval(counts[asked], of[asked]) for counts in (first, found)]
    hits = [corrected(share, offset) for share, offset in zip(shares, OFFSETS, strict=True)]
    spans = [(corrected(low, by), corrected(high, by)) for (low, high), by in zip(low_high, OFFSETS, strict=True)]
    without = len(catalog.tools) - len(np.unique(given.owners))
    return Findable(
        hits[0], hits[1], shares[0], shares[1], spans[0], spans[1], tuple(tools), without, len(given.owners)
    )  # fmt: skip


def first_place(scores: NDArray[np.floating], rows: Collection[int]) -> int:
    """Returns the place of the first of some rows by score, from 0. Among equal scores the lower row is first.

    >>> first_place(np.array([0.5, 0.9, 0.5]), {2}), first_place(np.array([0.5, 0.9, 0.5]), {0, 2})
    (2, 1)
    """
    best = max(rows, key=lambda row: (scores[row], -row))
    return int((scores > scores[best]).sum() + (scores[:best] == scores[best]).sum())


def corrected(share: float, offset: float) -> float:
    """Returns a share of left-out requests as the share that labelled sets lead to expect: its logit and an offset.

    >>> round(corrected(0.74, 0.72), 2), corrected(1.0, 0.72), corrected(0.0, 0.72)
    (0.85, 1.0, 0.0)
    """
    return share if share in {0.0, 1.0} else 1.0 / (1.0 + (1.0 - share) / share * math.exp(-offset))


def _interval(counts: Floats, of: NDArray[np.int64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a share over tools: the requests of one tool are found or missed together."""
    drawn = np.random.default_rng(SEED).integers(0, len(of), (DRAWS, len(of)))
    shares = counts[drawn].sum(axis=1) / of[drawn].sum(axis=1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)
