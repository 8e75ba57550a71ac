"""Equal function sets of a catalog: pairs proposed, judged, joined, given out and taken in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from cachetools import LRUCache

from core.domain.tasks import ALL_SAYS, EqualJudgment, Proposal, Says, Sets, Task, contradictions, joined, ordered
from core.lab.levels import proposed, widened
from core.relevance.catalog_index import CatalogIndex
from core.services.decide.catalogs import CatalogService
from core.services.learn.learnt_models import LearntModels
from core.shared.errors import CatalogError, UnknownNameError
from core.store import Store

KIND = "wayfare equal function sets"
CATALOGS_KEPT = 4


@dataclass(frozen=True, slots=True)
class EqualSets:
    """What is known of a catalog: its proposals with what was said of them, the sets, pairs judged beside the proposals, and pairs
    that were judged different and are in one set all the same."""

    proposals: tuple[Proposal, ...]
    sets: Sets
    others: tuple[EqualJudgment, ...]
    contradictions: tuple[tuple[str, str], ...]

    @property
    def judged(self) -> int:
        """How many proposals need no more click."""
        return sum(not one.open for one in self.proposals)


@dataclass(frozen=True, slots=True)
class Imported:
    """How many pairs were taken in, and of how many a tool is not in this catalog."""

    taken: int
    unknown: int


class EqualSetsService:
    """Proposes, keeps and joins. Thread-safe."""

    def __init__(
        self, store: Store, catalogs: CatalogService, learnt: LearntModels, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._learnt = learnt
        self._now = now
        self._proposed: LRUCache[str, tuple[CatalogIndex, tuple[Proposal, ...]]] = LRUCache(CATALOGS_KEPT)

    def of_catalog(self, catalog: str) -> EqualSets:
        """All that is known. The catalog is indexed where it is not yet."""
        judged = self._store.equal_judgments.of_catalog(catalog)
        says = {one.pair: one.says for one in judged}
        sets = self.sets(catalog)
        of = {tool: number for number, tools in enumerate(sets) for tool in tools}
        pairs = tuple(
            replace(
                one,
                says=says.get((one.one, one.other), ""),
                follows=(one.one, one.other) not in says and of.get(one.one, -1) == of.get(one.other, -2),
            )
            for one in self._proposals(catalog)
        )
        known = {(one.one, one.other) for one in pairs}
        return EqualSets(
            pairs, sets, tuple(one for one in judged if one.pair not in known), contradictions(judged, sets)
        )

    def sets(self, catalog: str) -> Sets:
        """The sets that the pairs judged equal make; of tools that the catalog has."""
        tools = self._catalogs.catalog(catalog).tool_row
        judged = self._store.equal_judgments.of_catalog(catalog)
        return joined(one.pair for one in judged if one.says == "equal" and {*one.pair} <= tools.keys())

    def judge(self, catalog: str, one: str, other: str, says: Says | None) -> None:
        """Keep what somebody says of two tools; None takes it back. Raises UnknownNameError for a tool that is not there."""
        tools = self._catalogs.catalog(catalog).tool_row
        for tool in (one, other):
            if tool not in tools:
                raise UnknownNameError(f"There is no tool {tool[:80]!r} in catalog {catalog!r}; check the name.")
        pair = ordered(one, other)
        if says is None:
            self._store.equal_judgments.remove(catalog, *pair)
        else:
            self._store.equal_judgments.save([EqualJudgment(catalog, *pair, says, self._now())])
        self._learnt.forget(catalog)  # equal tools share labels

    def widened(self, catalog: str, tasks: Sequence[Task]) -> tuple[Task, ...]:
        """Tasks in which everything is right that is equal to a right tool; see `core.lab.levels`."""
        return widened(tasks, self.sets(catalog))

    def export(self, catalog: str) -> str:
        """Pairs and sets as the text of a JSON file."""
        judged = self._store.equal_judgments.of_catalog(catalog)
        pairs = [{"tools": list(one.pair), "says": one.says, "at": one.at.isoformat()} for one in judged]
        document = {
            "kind": KIND,
            "catalog": catalog,
            "sets": [list(tools) for tools in self.sets(catalog)],
            "pairs": pairs,
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str, catalog: str) -> Imported:
        """Keep the pairs of a file that `export` wrote, or the sets of one that has no pairs, in place of what was said of the same
        pairs. Raises CatalogError that says what is wrong."""
        try:
            said = _pairs(json.loads(data))
        except (ValueError, RecursionError) as error:
            raise CatalogError(
                f'{source}: {error}; give {{"sets": [["server::tool", "server::tool"]]}} or a file that Export wrote.'
            ) from None
        tools, now = self._catalogs.catalog(catalog).tool_row, self._now()
        taken = [
            EqualJudgment(catalog, *ordered(one, other), says, now)
            for one, other, says in said
            if one in tools and other in tools
        ]
        self._store.equal_judgments.save(taken)
        self._learnt.forget(catalog)
        return Imported(len(taken), len(said) - len(taken))

    def _proposals(self, catalog: str) -> tuple[Proposal, ...]:
        index = self._catalogs.index(catalog)
        known = self._proposed.get(catalog)
        if known is None or known[0] is not index:
            known = self._proposed[catalog] = (index, proposed(index))
        return known[1]


def _pairs(document: object) -> list[tuple[str, str, Says]]:
    """The pairs of a file. Raises ValueError."""
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    top = cast("dict[str, Any]", document)
    if isinstance(top.get("pairs"), list):
        return [_pair(one, number) for number, one in enumerate(cast("list[Any]", top["pairs"]), 1)]
    if not isinstance(top.get("sets"), list):
        raise ValueError("it has neither pairs nor sets")
    named = [_names(tools, f"set {number}") for number, tools in enumerate(cast("list[object]", top["sets"]), 1)]
    return [(names[0], other, "equal") for names in named for other in names[1:]]


def _pair(value: object, number: int) -> tuple[str, str, Says]:
    pair = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if pair.get("says") not in ALL_SAYS:
        raise ValueError(f"pair {number} does not say one of {', '.join(ALL_SAYS)}")
    names = _names(pair.get("tools"), f"pair {number}")
    if len(names) != 2:
        raise ValueError(f"pair {number} has not two different tools")
    return names[0], names[1], pair["says"]


def _names(value: object, where: str) -> list[str]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    names = list(dict.fromkeys(one for one in listed if isinstance(one, str)))
    if not names:
        raise ValueError(f"{where} is no list of tools")
    return names
