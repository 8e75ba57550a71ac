"""Equal function sets of a catalog: pairs proposed, judged, joined, exported and imported."""

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
MOST_PROPOSED = 10_000  # pairs, more than people judge
MOST_REQUESTS, LEAST_NEAR, CONFUSED = 20_000, 0.5, 0.25


def proposed(
    tools: Sequence[Tool], own: Vectors, most: int = MOST_PROPOSED, *, progress: Progress | None = None
) -> tuple[tuple[Proposal, ...], int]:
    """Pairs of tools that may be equal by the vectors of decisions, (T, D), each tool with its ten nearest (ETOM, section 3). The nearest
    pairs come first. Also the number of left-out pairs."""
    left, right, cosine = nearest_above(own, NEAREST, LEAST_COSINE, progress=progress)
    low, high = np.minimum(left, right), np.maximum(left, right)
    _, first = np.unique(low * len(tools) + high, return_index=True)
    first = first[np.argsort(-cosine[first], kind="stable")]
    pairs = [(*ordered(tools[int(low[i])].id, tools[int(high[i])].id), float(cosine[i])) for i in first[:most]]
    pairs.sort(key=lambda pair: (-pair[2], pair[:2]))
    return tuple(Proposal(*names, cosine=min(1.0, near)) for *names, near in pairs), max(0, len(first) - most)


def confused(tools: Sequence[str], given: Given, known: Container[tuple[str, str]] = ()) -> tuple[Confused, ...]:
    """Pairs of tools that may be equal by their questions (ETOM, 3.2, top-down). A quarter of each tool's example requests, and at least
    two, are nearest to a request of the other. `known` pairs are left out. Most often mistaken first.

    Of more than 20,000 requests, the requests of random tools are compared.
    """
    sizes = np.bincount(given.owners, minlength=len(tools))
    if len(given.owners) > MOST_REQUESTS:
        order = np.random.default_rng(0).permutation(len(tools))
        chosen_tools = order[np.cumsum(sizes[order]) <= MOST_REQUESTS]
        given = given.some(np.isin(given.owners, chosen_tools))
    requests, nearest, _ = nearest_above(given.vectors, 1, LEAST_NEAR)
    times: Counter[tuple[int, int]] = Counter(
        zip(given.owners[requests].tolist(), given.owners[nearest].tolist(), strict=True)
    )
    often = {pair for pair, count in times.items() if pair[0] != pair[1] and count >= max(2, CONFUSED * sizes[pair[0]])}
    mutual = [
        Confused(tools[a], tools[b], times[a, b], int(sizes[a]), times[b, a], int(sizes[b]))
        for a, b in often
        if (b, a) in often and tools[a] < tools[b]
    ]
    pairs = [pair for pair in mutual if pair.kind != "opposite" and (pair.one, pair.other) not in known]
    return tuple(sorted(pairs, key=lambda pair: (-pair.both, pair.one, pair.other)))


def widened(tasks: Sequence[Task], sets: Sets) -> tuple[Task, ...]:
    """The tasks with every equal tool of a right tool, in `relevant` and in the steps of plans.

    A task's own tools stay first, because level 1 asks for the first tool.

    >>> (task,) = widened([Task("t", "x", relevant=("a::r",), plan=(Step("a::r"),))], ((("a::r", "b::r")),))
    >>> task.relevant, task.plan[0].equal
    (('a::r', 'b::r'), ('b::r',))
    """
    set_of = {tool: tools for tools in sets for tool in tools}
    return tuple(
        replace(
            task, relevant=_with_equal(task.relevant, set_of), plan=tuple(_step(step, set_of) for step in task.plan)
        )
        for task in tasks
    )


def _step(step: Step, sets: Mapping[str, Sequence[str]]) -> Step:
    return replace(step, equal=tuple(tool for tool in _with_equal((step.tool, *step.equal), sets) if tool != step.tool))


def _with_equal(tools: Sequence[str], set_of: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tools, *(equal for tool in tools for equal in set_of.get(tool, ())))))


KIND = "wayfare equal function sets"
CATALOGS_KEPT = 4
EXPORTED = '{"sets": [["server::tool", "server::tool"]]} or a file that Export wrote'


@dataclass(frozen=True, slots=True)
class EqualSets:
    """The proposals of a catalog with their judgments, the sets, other judged pairs, and pairs of one set that were judged
    different. `left_out` counts the near pairs beyond the proposed ones."""

    proposals: tuple[Proposal, ...]
    sets: Sets
    others: tuple[EqualJudgment, ...]
    contradictions: tuple[tuple[str, str], ...]
    left_out: int = 0

    @property
    def judged(self) -> int:
        return sum(not proposal.open for proposal in self.proposals)


@dataclass(frozen=True, slots=True)
class Imported:
    """The number of imported pairs, and of pairs with a tool that the catalog lacks."""

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
        judgments = self.store.equal_judgments.of_catalog(catalog)
        others = {judgment.pair: judgment for judgment in judgments}
        sets = self.sets(catalog)
        proposals, left_out = self.propose(catalog)
        set_of = {tool: number for number, tools in enumerate(sets) for tool in tools}
        pairs: list[Proposal] = []
        for proposal in proposals:
            judgment = others.pop((proposal.one, proposal.other), None)
            follows = judgment is None and set_of.get(proposal.one, -1) == set_of.get(proposal.other, -2)
            pairs.append(replace(proposal, says="" if judgment is None else judgment.says, follows=follows))
        return EqualSets(tuple(pairs), sets, tuple(others.values()), contradictions(judgments, sets), left_out)

    def sets(self, catalog: str) -> Sets:
        """The sets of the pairs judged equal, over the tools of the catalog."""
        tools = self.catalogs.catalog(catalog).tool_row
        judgments = self.store.equal_judgments.of_catalog(catalog)
        return joined(entry.pair for entry in judgments if entry.says == "equal" and {*entry.pair} <= tools.keys())

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
        judgments = self.store.equal_judgments.of_catalog(catalog)
        pairs = [{"tools": list(entry.pair), "says": entry.says, "at": entry.at.isoformat()} for entry in judgments]
        document = {
            "kind": KIND,
            "catalog": catalog,
            "sets": [list(tools) for tools in self.sets(catalog)],
            "pairs": pairs,
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str, catalog: str) -> Imported:
        """Keep the pairs of an exported file, or the sets of a file without pairs. They replace earlier judgments of a pair. Raises
        CatalogError."""
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise CatalogError(f"{source}: it is not JSON; give {EXPORTED}.") from None
        tools, now = self.catalogs.catalog(catalog).tool_row, self.now()
        pairs = _pairs(documents.read(_File, document, source, advice=f"give {EXPORTED}"), source, tools)
        judgments = [
            EqualJudgment(catalog, *ordered(tool, other), says, now)
            for tool, other, says in pairs
            if tool in tools and other in tools
        ]
        self.store.equal_judgments.save(judgments)
        self.learnt.forget(catalog)
        return Imported(len(judgments), len(pairs) - len(judgments))

    def proposed(self, catalog: str) -> bool:
        """Whether the pairs of a prepared catalog are known, so `of_catalog` takes a moment."""
        entry = self._proposed.get(catalog)
        return entry is not None and entry[0] is self.catalogs.own(catalog)[1]

    def propose(self, catalog: str, progress: Progress | None = None) -> tuple[tuple[Proposal, ...], int]:
        """Find the pairs of a catalog, once. Builds a missing index. `progress` gets the number of compared tools, and of all."""
        opened, vectors = self.catalogs.own(catalog)
        entry = self._proposed.get(catalog)
        if entry is None or entry[0] is not vectors:
            entry = self._proposed[catalog] = (vectors, proposed(opened.tools, vectors[:], progress=progress))
        return entry[1]


@dataclass(frozen=True, slots=True)
class _Pair:
    tools: Annotated[tuple[str, ...], Wanted("two different tools", lambda tools: len({*tools}) == 2)]
    says: Says


@dataclass(frozen=True, slots=True)
class _File:
    sets: tuple[Annotated[tuple[str, ...], Wanted("a list of tools", bool)], ...] | None = None
    pairs: tuple[_Pair, ...] | None = None


def _pairs(file: _File, source: str, known: Container[str]) -> list[tuple[str, str, Says]]:
    """The pairs of a file, or the first known tool of each of its sets with the others. Raises CatalogError if it has neither."""
    if file.pairs is not None:
        return [(*dict.fromkeys(pair.tools), pair.says) for pair in file.pairs]  # type: ignore[misc]
    if file.sets is None:
        raise CatalogError(f"{source}: it has neither pairs nor sets; give {EXPORTED}.")
    firsts = ((next((tool for tool in tools if tool in known), tools[0]), tools) for tools in file.sets)
    return [(first, other, "equal") for first, tools in firsts for other in dict.fromkeys(tools) if other != first]
