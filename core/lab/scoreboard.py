"""The scores of a setting of the knobs and of the defaults over labelled tasks, quick enough to follow a dragged knob."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from core.domain.errors import UnknownNameError
from core.domain.params import AS_MEASURED, NetworkMoment, Parameters
from core.domain.tasks import Task
from core.lab.lab import LabService
from core.lab.lab_runs import LabRunService, asked_tasks
from core.lab.points import UNPRICED, Rows, TasksAsked
from core.lab.sweep import INVALID, SECONDS, SOLVED, USD, Floats
from core.learning.feedback import FeedbackService
from core.learning.requests import RequestService

FIRST = "hit@1"
MEASURES = (FIRST, SOLVED, USD, SECONDS, INVALID)
LABELS, REQUESTS = "your labels", "example requests"
MOST_TASKS, BOARDS, SOON_S = 300, 4, 0.1  # tasks are drawn evenly


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A question with another first tool than at the defaults. None is no tool; `right` says whether the tool is right, before and now."""

    query: str
    before: str | None
    now: str | None
    right: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Score:
    """Means over the tasks. Money is NaN, not 0, if a call has no known price and no call costs anything."""

    tasks: int
    before: Mapping[str, float]
    now: Mapping[str, float]
    changed: tuple[ChangedAnswer, ...]


@dataclass(frozen=True, slots=True)
class _Board:
    defaults: Parameters
    asked: TasksAsked
    before: tuple[Rows, Mapping[str, Floats]]


@dataclass(eq=False)
class ScoreboardService:
    """Scores settings. Embeds the tasks of a set once, and computes the outcome of a list of candidates once. Thread-safe."""

    lab: LabService
    lab_runs: LabRunService
    feedback: FeedbackService
    requests: RequestService
    _boards: LRUCache[tuple[object, ...], _Board] = field(default_factory=lambda: LRUCache(BOARDS))
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def task_sets(self, catalog: str) -> Sequence[str]:
        """The names of the task sets of a catalog: shipped, labelled here, generated or of stored runs, and its example requests."""
        stored = self.lab_runs.task_sets(catalog).values()
        labels = [LABELS] if any(query.right for query in self.feedback.queries(catalog)) else []
        examples = [REQUESTS] if self.requests.of_catalog(catalog) else []
        return list(dict.fromkeys([*self.lab.task_sets(catalog), *labels, *stored, *examples]))

    def score(
        self, task_set: str, *, catalog: str, router: str, parameters: Parameters, network: NetworkMoment = AS_MEASURED
    ) -> Score:
        """Scores a setting. Raises WayfareError if the set is unknown or no task names a right tool."""
        with self._guard:
            board = self._board(task_set, catalog, router, network)
            rows, new_values = board.asked.first_and_measures(parameters)
        default_rows, old_values = board.before
        ids = board.asked.context.tool_ids
        answers: list[ChangedAnswer] = []
        for place, task in enumerate(board.asked.possible):
            if default_rows[place] != rows[place]:
                old_tool, new_tool = (ids[int(row)] if row >= 0 else None for row in (default_rows[place], rows[place]))
                right = bool(old_values[FIRST][place]), bool(new_values[FIRST][place])
                answers.append(ChangedAnswer(task.question or task.subtask, old_tool, new_tool, right))
        return Score(len(rows), _means(old_values), _means(new_values), tuple(answers))

    def ready(self, task_set: str, catalog: str, router: str, network: NetworkMoment = AS_MEASURED) -> bool:
        """Whether the tasks are embedded, so a score takes milliseconds with EHRR. False during another set's embedding."""
        if not self._guard.acquire(timeout=SOON_S):
            return False
        try:
            board = self._boards.get(self._key(task_set, catalog, router, network))
        finally:
            self._guard.release()
        return board is not None and board.asked.context is self.lab.context(catalog, network)

    def _board(self, task_set: str, catalog: str, router: str, network: NetworkMoment) -> _Board:
        key, context = self._key(task_set, catalog, router, network), self.lab.context(catalog, network)
        board = self._boards.get(key)
        defaults = self.lab.routing.parameters(router)
        if board is None or board.asked.context is not context or board.defaults != defaults:
            tasks = self._all_tasks(task_set, catalog)
            some = tasks[:: -(-len(tasks) // MOST_TASKS)]
            asked = TasksAsked(self.lab, some, catalog, router, hints=True, network=network)
            board = self._boards[key] = _Board(defaults, asked, asked.first_and_measures(defaults))
        return board

    def _key(self, task_set: str, catalog: str, router: str, network: NetworkMoment) -> tuple[object, ...]:
        return task_set, self._stored(catalog).get(task_set, ""), catalog, router, network

    def _stored(self, catalog: str) -> Mapping[str, str]:
        """The fingerprint of the newest stored tasks of each name."""
        return {source: key for key, source in reversed(list(self.lab_runs.task_sets(catalog).items()))}

    def _all_tasks(self, task_set: str, catalog: str) -> Sequence[Task]:
        if (path := self.lab.task_sets(catalog).get(task_set)) is not None:
            return self.lab.read_tasks(path)
        if task_set == LABELS:
            return self.lab.parse_tasks(self.feedback.export(catalog).encode(), source=LABELS)
        if task_set == REQUESTS:
            return asked_tasks(self.requests, catalog)
        stored = self._stored(catalog)
        if task_set not in stored:
            raise UnknownNameError(
                f"The catalog {catalog} has no tasks {task_set!r}; choose among {', '.join(self.task_sets(catalog))}."
            )
        return self.lab_runs.stored_tasks(stored[task_set], task_set)


def _means(values: Mapping[str, Floats]) -> dict[str, float]:
    means = {name: float(values[name].mean()) for name in MEASURES}
    if not means[USD] and values[UNPRICED].any():
        means[USD] = math.nan
    return means
