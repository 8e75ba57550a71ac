"""A model as judge: it grades what people graded first, and only when their agreement was looked at do its grades count beside theirs.

Its grades are kept in a set of their own until then, each with the model's reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.domain.judgment import AskedQuery, Judgment
from core.lab.agreement import Agreement, agreement
from core.planning.base import Card, Planner
from core.planning.environment import NO_MODEL
from core.services.catalogs import CatalogService
from core.services.judgments import JudgmentService
from core.shared.errors import PlannerError

Pair = tuple[AskedQuery, str]


@dataclass(frozen=True, slots=True)
class Checked:
    """The model beside people: over the pairs that both graded their agreement, and each pair on which they differ, as one person's
    and the model's judgment."""

    agreement: Agreement
    differ: tuple[tuple[Judgment, Judgment], ...]


class ModelJudgeService:
    """Judges with the model of the environment. Thread-safe."""

    def __init__(self, judgments: JudgmentService, catalogs: CatalogService, planners: Mapping[str, Planner]) -> None:
        self._judgments = judgments
        self._catalogs = catalogs
        self._planner = planners.get("model")

    @property
    def name(self) -> str:
        """What the judge is called; "" where no model is set."""
        return f"model {self._planner.name}" if self._planner is not None else ""

    def own_set(self, set_name: str) -> str:
        """Where its grades are until they count."""
        return f"{set_name} · model"

    def grades(self, catalog: str, set_name: str) -> Mapping[Pair, Judgment]:
        """What it said, whether it counts or not."""
        return self._judgments.graded(catalog=catalog, set_name=self.own_set(set_name), judge=self.name)

    def to_check(self, catalog: str, set_name: str) -> tuple[Pair, ...]:
        """What people graded and it did not."""
        known = self.grades(catalog, set_name)
        tools = self._catalogs.catalog(catalog).tool_row
        pairs = dict.fromkeys((one.query, one.tool) for one in self._people(catalog, set_name))
        return tuple(pair for pair in pairs if pair not in known and pair[1] in tools)

    def judge(
        self, catalog: str, set_name: str, pairs: Sequence[Pair], progress: Callable[[int], None] = lambda _done: None
    ) -> int:
        """Grade pairs one after the other; each is kept when it is known. `progress` is told how many are; what it raises ends it.
        Raises PlannerError where no model is set, or it does not answer."""
        from core.planning.model import ModelPlanner  # its packages take a third of a second of every start

        if not isinstance(self._planner, ModelPlanner):
            raise PlannerError(NO_MODEL)
        known = self._catalogs.catalog(catalog)
        for done, (query, name) in enumerate(pairs, 1):
            tool = known.tools[known.tool_row[name]]
            text = json.dumps({"server": tool.server, **tool.definition()}, ensure_ascii=False)
            grade, why = self._planner.grade(query.subtask, query.server_hint, Card(name, text, 0.0))
            self._judgments.judge(
                query.subtask, name, grade, judge=self.name, set_name=self.own_set(set_name), catalog=catalog,
                server_hint=query.server_hint, note=why, origin="model",
            )  # fmt: skip
            progress(done)
        return len(pairs)

    def checked(self, catalog: str, set_name: str) -> Checked | None:
        """How far it agrees with people; None where there is no pair that both graded."""
        own = self.grades(catalog, set_name)
        people = [one for one in self._people(catalog, set_name) if (one.query, one.tool) in own]
        if not people:
            return None
        shared = {(one.query, one.tool): own[one.query, one.tool] for one in people}
        differ = [
            (one, shared[one.query, one.tool]) for one in people if one.grade != shared[one.query, one.tool].grade
        ]
        return Checked(agreement([*people, *shared.values()]), tuple(differ))

    def counting(self, catalog: str, set_name: str) -> Mapping[Pair, Judgment]:
        """Its grades that count in the set beside those of people."""
        return self._judgments.graded(catalog=catalog, set_name=set_name, judge=self.name)

    def count(self, catalog: str, set_name: str) -> None:
        """Have its grades count in the set: as those of one judge more."""
        for one in tuple(self.grades(catalog, set_name).values()):
            self._judgments.judge(
                one.subtask, one.tool, one.grade or 0, judge=self.name, set_name=set_name, catalog=catalog,
                server_hint=one.server_hint, note=one.note, origin="model",
            )  # fmt: skip

    def discount(self, catalog: str, set_name: str) -> None:
        """Have none of its grades count in the set any more; they stay in its own."""
        for one in tuple(self.counting(catalog, set_name).values()):
            self._judgments.take_back(one)

    def _people(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        if set_name not in self._judgments.sets(catalog):
            return ()
        return tuple(one for one in self._judgments.judgments(catalog, set_name) if one.judge != self.name)
