"""Runs of the lab are made here: a router over labelled tasks, taken up where it was ended, and made again from the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.domain.lab_run import LabConditions, LabRun, RunPart, differing, lab_id
from core.domain.params import Parameters
from core.domain.task import Task
from core.lab.benchmark import CLOCKED, BenchmarkRun, measured_run, run_entry
from core.lab.catalog_changes import CatalogDigest, Change, changes
from core.lab.execution import ExecutionRun, Playing
from core.lab.routed import Routed
from core.services.lab import LabService
from core.services.lab_runs import LabRunService
from core.services.routing import RoutingService
from core.services.spread import Spread, Work
from core.shared.errors import WayfareError
from core.store import Store

BLOCK = 32  # tasks that are committed together: what a killed process may lose
RANKED, PLAYED = "ranked", "played"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run as it was made: under which conditions, its measures, what was played, and its entry in `wayfare bench --json`."""

    conditions: LabConditions
    run: BenchmarkRun
    played: ExecutionRun | None

    @property
    def entry(self) -> dict[str, Any]:
        """What is stored of it."""
        return run_entry(self.run, self.played, self.conditions.preset)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A run made again: `differing` names the conditions that are others now, `changes` what changed in the catalog, `moved` the
    tasks whose first right tool has another rank, `other` what else of the result is not the same to the last byte; the times of
    decisions, which no clock gives twice, are not compared."""

    made: Measured
    differing: tuple[str, ...]
    changes: tuple[Change, ...]
    moved: tuple[str, ...]
    other: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """What `wayfare runs --repeat --json` says beside the result."""
        return {
            "differing": self.differing,
            "changes": [asdict(one) for one in self.changes],
            "moved": self.moved,
            "other": self.other,
        }


class MeasuringService:
    """Measures and repeats. Thread-safe."""

    def __init__(self, store: Store, lab: LabService, routing: RoutingService, runs: LabRunService) -> None:
        self._store = store
        self._lab = lab
        self._routing = routing
        self._runs = runs

    def measure(
        self,
        tasks: Sequence[Task],
        *,
        source: str,
        catalog: str,
        router: str,
        preset: str,
        parameters: Parameters,
        hints: bool = True,
        seed: int = 0,
        playing: Playing | None = None,
        resumable: bool = True,
        progress: Progress = lambda _done: None,
        spread: Spread | None = None,
    ) -> Measured:
        """Measure a router over tasks; `LabRunService.keep` stores the result. With `playing` the tasks are played out too.

        `progress` is told how many decisions are known; what it raises ends the run. Where the run is `resumable` the tasks that
        were routed until then are kept, and the next call with the same inputs goes on from there. The machines of a `spread` route
        what is left. Raises WayfareError.
        """
        possible = [task for task in tasks if task.relevant]
        if playing is not None and not possible:
            raise WayfareError("No task names a tool that can do it; give tasks with `relevant`.")
        conditions = self._runs.conditions(
            tasks, source=source, catalog=catalog, router=router, preset=preset, parameters=parameters, hints=hints,
            seed=seed, playing=playing,
        )  # fmt: skip
        run = lab_id(conditions) if resumable else ""
        routed = self._routed(run, RANKED, tasks, conditions, parameters, progress, spread)
        found = measured_run(router, parameters.values(), tasks, routed)
        if playing is None:
            return Measured(conditions, found, None)
        deep = parameters.replaced({"n": playing.n})
        tried = self._routed(run, PLAYED, possible, conditions, deep, lambda done: progress(len(tasks) + done), spread)
        played = self._lab.play(possible, tried, catalog=catalog, router=router, playing=playing)
        return Measured(conditions, found, played)

    def known(self, conditions: LabConditions) -> int:
        """How many decisions are kept of a run under these conditions that was ended before it was over."""
        return sum(len(self._store.lab_runs.parts(lab_id(conditions), phase)) for phase in (RANKED, PLAYED))

    def unfinished(self) -> int:
        """How many runs were ended before they were over."""
        return self._store.lab_runs.unfinished()

    def repeat(self, run: LabRun, progress: Progress = lambda _done: None) -> Repeated:
        """The same run again, over the catalog as it is now; nothing is stored.

        Raises WayfareError where the catalog or the tasks are gone, or a parameter does not exist any more.
        """
        tasks, catalog = self._runs.tasks(run), self._runs.open(run.catalog)
        made = self.measure(
            tasks, source=run.tasks, catalog=catalog, router=run.router, preset=run.preset, hints=run.hints, seed=run.seed,
            parameters=self._routing.parameters(run.router, run.parameters),
            playing=None if run.played is None else Playing.parse(run.played), resumable=False, progress=progress,
        )  # fmt: skip
        before = CatalogDigest.parse(json.loads(self._store.lab_runs.input(run.catalog_fingerprint)))
        if before is None:
            raise WayfareError(f"The catalog of run {run.id} is damaged in the store; make the run anew.")
        ranks: Mapping[str, Any] = run.result["tasks"]
        return Repeated(
            made,
            differing(run, made.conditions),
            changes(before, self._runs.digest(catalog)),
            tuple(task.id for task in made.run.tasks if task.id in ranks and ranks[task.id]["rank"] != task.rank),
            _other(run.result, json.loads(json.dumps(made.entry))),
        )

    def _routed(
        self,
        run: str,
        phase: str,
        tasks: Sequence[Task],
        conditions: LabConditions,
        parameters: Parameters,
        progress: Progress,
        spread: Spread | None,
    ) -> list[Routed]:
        """Every task routed; a run with an id keeps each block of them, and takes those that it has from the store."""
        kept = self._store.lab_runs.parts(run, phase) if run else ()
        routed = [Routed.parse(json.loads(part.routed_json)) for part in kept]
        stored = len(routed)
        if spread is None:
            left = self._lab.routed(
                tasks, catalog=conditions.catalog, router=conditions.router, parameters=parameters, known=tuple(routed),
                server_hints=conditions.hints,
            )  # fmt: skip
        else:
            work = Work(self._runs.catalog(conditions.catalog), conditions.router, tasks, conditions.hints)
            left = spread.routed(work, parameters, known=stored)
        try:
            for one in left:
                routed.append(one)
                if run and len(routed) - stored >= BLOCK:
                    self._keep(run, phase, routed, stored)
                    stored = len(routed)
                progress(len(routed))
        finally:
            if run:
                self._keep(run, phase, routed, stored)
        return routed

    def _keep(self, run: str, phase: str, routed: Sequence[Routed], stored: int) -> None:
        parts = [RunPart(run, phase, at, json.dumps(routed[at].to_json())) for at in range(stored, len(routed))]
        self._store.lab_runs.add_parts(parts)


def _other(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a result whose values are not the same."""
    names = dict.fromkeys((*then, *now))
    return tuple(name for name in names if name not in CLOCKED and then.get(name) != now.get(name))
