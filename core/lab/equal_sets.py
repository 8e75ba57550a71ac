"""Equal function sets of a catalog: pairs proposed, judged, joined, given out and taken in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import numpy as np
from cachetools import LRUCache

from core.catalogs.catalogs import CatalogService
from core.domain import documents
from core.domain.catalog import Tool
from core.domain.documents import Wanted
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.findings import Confused
from core.domain.people import actions
from core.domain.tasks import EqualJudgment, Proposal, Says, Sets, Step, Task, contradictions, joined, ordered
from core.relevance.encoder import Vectors
from core.relevance.learnt import LearntModels
from core.relevance.requests import Given
from core.relevance.scoring import SAME_HIGH
from core.relevance.vectors import Progress, nearest_above
from core.store import Store

NEAREST, LEAST_COSINE = 10, SAME_HIGH
MOST_PROPOSED = 10_000  # pairs: more than anybody judges
MOST_REQUESTS, LEAST_NEAR, CONFUSED = 20_000, 0.5, 0.25


def proposed(
    tools: Sequence[Tool], own: Vectors, most: int = MOST_PROPOSED, *, progress: Progress | None = None
) -> tuple[tuple[Proposal, ...], int]:
    """Each tool with those of its ten nearest (ETOM, section 3) that may do the same by the vectors of decisions, (T, D): each pair
    once, the nearest first, and the number of pairs that were left out."""
    one, other, cosine = nearest_above(own, NEAREST, LEAST_COSINE, progress=progress)
    low, high = np.minimum(one, other), np.maximum(one, other)
    _, first = np.unique(low * len(tools) + high, return_index=True)
    first = first[np.argsort(-cosine[first], kind="stable")]
    pairs = [(*ordered(tools[int(low[at])].id, tools[int(high[at])].id), float(cosine[at])) for at in first[:most]]
    pairs.sort(key=lambda pair: (-pair[2], pair[:2]))
    return tuple(Proposal(*names, cosine=min(1.0, near)) for *names, near in pairs), max(0, len(first) - most)


def confused(tools: Sequence[str], given: Given, known: Container[tuple[str, str]] = ()) -> tuple[Confused, ...]:
    """Pairs of tools that may do the same by their questions (ETOM, 3.2, top-down): of each tool's example requests a quarter, and at
    least two, are nearest to one of the other's. Pairs that are `known` are left out. Most often mistaken first.

    Of more than 20,000 requests those of so many drawn tools are compared.
    """
    sizes = np.bincount(given.owners, minlength=len(tools))
    if len(given.owners) > MOST_REQUESTS:
        order = np.random.default_rng(0).permutation(len(tools))
        drawn = order[np.cumsum(sizes[order]) <= MOST_REQUESTS]
        given = given.some(np.isin(given.owners, drawn))
    asked, nearest, _ = nearest_above(given.vectors, 1, LEAST_NEAR)
    times: Counter[tuple[int, int]] = Counter(
        zip(given.owners[asked].tolist(), given.owners[nearest].tolist(), strict=True)
    )
    often = {pair for pair, count in times.items() if pair[0] != pair[1] and count >= max(2, CONFUSED * sizes[pair[0]])}
    mutual = [
        Confused(tools[a], tools[b], times[a, b], int(sizes[a]), times[b, a], int(sizes[b]))
        for a, b in often
        if (b, a) in often and tools[a] < tools[b]
    ]
    found = [pair for pair in mutual if pair.kind != "opposite" and (pair.one, pair.other) not in known]
    return tuple(sorted(found, key=lambda pair: (-pair.both, pair.one, pair.other)))


def widened(tasks: Sequence[Task], sets: Sets) -> tuple[Task, ...]:
    """The tasks with every tool right that is equal to a right one, in `relevant` and in the steps of plans.

    A task's own tools stay first: level 1 asks for the first of them.

    >>> (task,) = widened([Task("t", "x", relevant=("a::r",), plan=(Step("a::r"),))], ((("a::r", "b::r")),))
    >>> task.relevant, task.plan[0].equal
    (('a::r', 'b::r'), ('b::r',))
    """
    of = {tool: tools for tools in sets for tool in tools}
    return tuple(
        replace(task, relevant=_with_equal(task.relevant, of), plan=tuple(_step(step, of) for step in task.plan))
        for task in tasks
    )


def _step(step: Step, of: Mapping[str, Sequence[str]]) -> Step:
    return replace(step, equal=tuple(tool for tool in _with_equal((step.tool, *step.equal), of) if tool != step.tool))


def _with_equal(tools: Sequence[str], of: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tools, *(equal for tool in tools for equal in of.get(tool, ())))))


KIND = "wayfare equal function sets"
CATALOGS_KEPT = 4
EXPORTED = '{"sets": [["server::tool", "server::tool"]]} or a file that Export wrote'


@dataclass(frozen=True, slots=True)
class EqualSets:
    """The proposals of a catalog with their judgments, the sets, judged pairs beyond the proposals, and pairs that were judged
    different and are in one set. `left_out` counts the pairs that are near enough, too, but further than the proposed ones."""

    proposals: tuple[Proposal, ...]
    sets: Sets
    others: tuple[EqualJudgment, ...]
    contradictions: tuple[tuple[str, str], ...]
    left_out: int = 0

    @property
    def judged(self) -> int:
        return sum(not one.open for one in self.proposals)


@dataclass(frozen=True, slots=True)
class Imported:
    """The number of imported pairs, and of pairs with a tool that the catalog does not have."""

    taken: int
    unknown: int


@actions("tune", judge="judge equal tools", import_file="import equal tools")
@dataclass(eq=False)
class EqualSetsService:
    store: Store
    catalogs: CatalogService
    learnt: LearntModels
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._proposed: LRUCache[str, tuple[Vectors, tuple[tuple[Proposal, ...], int]]] = LRUCache(CATALOGS_KEPT)

    def of_catalog(self, catalog: str) -> EqualSets:
        """The equal sets of a catalog. Builds a missing index."""
        judged = self.store.equal_judgments.of_catalog(catalog)
        says = {one.pair: one.says for one in judged}
        sets = self.sets(catalog)
        proposals, left_out = self.propose(catalog)
        of = {tool: number for number, tools in enumerate(sets) for tool in tools}
        pairs = tuple(
            replace(
                one,
                says=says.get((one.one, one.other), ""),
                follows=(one.one, one.other) not in says and of.get(one.one, -1) == of.get(one.other, -2),
            )
            for one in proposals
        )
        known = {(one.one, one.other) for one in pairs}
        return EqualSets(
            pairs, sets, tuple(one for one in judged if one.pair not in known), contradictions(judged, sets),
            left_out,
        )  # fmt: skip

    def sets(self, catalog: str) -> Sets:
        """The sets that follow from pairs judged equal, over the tools of the catalog."""
        tools = self.catalogs.catalog(catalog).tool_row
        judged = self.store.equal_judgments.of_catalog(catalog)
        return joined(one.pair for one in judged if one.says == "equal" and {*one.pair} <= tools.keys())

    def judge(self, catalog: str, one: str, other: str, says: Says | None) -> None:
        """Keep a judgment of two tools; None takes it back. Raises UnknownNameError for an unknown tool."""
        tools = self.catalogs.catalog(catalog).tool_row
        for tool in (one, other):
            if tool not in tools:
                raise UnknownNameError(f"There is no tool {tool[:80]!r} in catalog {catalog!r}; check the name.")
        pair = ordered(one, other)
        if says is None:
            self.store.equal_judgments.remove(catalog, *pair)
        else:
            self.store.equal_judgments.save([EqualJudgment(catalog, *pair, says, self.now())])
        self.learnt.forget(catalog)  # equal tools share labels

    def export(self, catalog: str) -> str:
        judged = self.store.equal_judgments.of_catalog(catalog)
        pairs = [{"tools": list(one.pair), "says": one.says, "at": one.at.isoformat()} for one in judged]
        document = {
            "kind": KIND,
            "catalog": catalog,
            "sets": [list(tools) for tools in self.sets(catalog)],
            "pairs": pairs,
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str, catalog: str) -> Imported:
        """Keep the pairs of an exported file, or the sets of a file without pairs. They replace judgments of the same pairs. Raises
        CatalogError."""
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise CatalogError(f"{source}: it is not JSON; give {EXPORTED}.") from None
        said = _pairs(documents.read(_File, document, source, advice=f"give {EXPORTED}"), source)
        tools, now = self.catalogs.catalog(catalog).tool_row, self.now()
        taken = [
            EqualJudgment(catalog, *ordered(one, other), says, now)
            for one, other, says in said
            if one in tools and other in tools
        ]
        self.store.equal_judgments.save(taken)
        self.learnt.forget(catalog)
        return Imported(len(taken), len(said) - len(taken))

    def proposed(self, catalog: str) -> bool:
        """Whether the pairs of a prepared catalog were found already, so that `of_catalog` takes a moment."""
        known = self._proposed.get(catalog)
        return known is not None and known[0] is self.catalogs.own(catalog)[1]

    def propose(self, catalog: str, progress: Progress | None = None) -> tuple[tuple[Proposal, ...], int]:
        """Find the pairs of a catalog, once. Builds a missing index. `progress` gets the tools that are compared, and of how many."""
        opened, own = self.catalogs.own(catalog)
        known = self._proposed.get(catalog)
        if known is None or known[0] is not own:
            known = self._proposed[catalog] = (own, proposed(opened.tools, own[:], progress=progress))
        return known[1]


@dataclass(frozen=True, slots=True)
class _Pair:
    tools: Annotated[tuple[str, ...], Wanted("two different tools", lambda tools: len({*tools}) == 2)]
    says: Says


@dataclass(frozen=True, slots=True)
class _File:
    sets: tuple[Annotated[tuple[str, ...], Wanted("a list of tools", bool)], ...] | None = None
    pairs: tuple[_Pair, ...] | None = None


def _pairs(file: _File, source: str) -> list[tuple[str, str, Says]]:
    """The pairs of a file, or those of its sets. Raises CatalogError if it has neither."""
    if file.pairs is not None:
        return [(*dict.fromkeys(pair.tools), pair.says) for pair in file.pairs]  # type: ignore[misc]
    if file.sets is None:
        raise CatalogError(f"{source}: it has neither pairs nor sets; give {EXPORTED}.")
    return [(tools[0], other, "equal") for tools in file.sets for other in dict.fromkeys(tools) if other != tools[0]]
