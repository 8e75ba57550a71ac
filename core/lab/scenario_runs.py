"""Network scenarios over the open catalogs: planned, run with progress, stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sample_catalog
from core.catalogs.background_jobs import Stopped
from core.catalogs.catalogs import CatalogService
from core.domain.errors import CatalogError, ParameterError, StoreError, UnknownNameError
from core.domain.events import OutcomeEvent
from core.domain.execution import Leave, always
from core.domain.lab_runs import LIVE, Conditions, KeptRun, RunSteps, fingerprint, run_id
from core.domain.params import Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.importers.shipped_catalogs import SAMPLE
from core.lab.lab_runs import LabRunService, asked_tasks
from core.lab.scenarios.measures import SETTINGS, ScenarioRun, Setting, measured, parameters_under
from core.lab.scenarios.simulation import LEAD_IN, STEPS, Call, Step, World, walk
from core.learning.feedback import FeedbackService
from core.learning.requests import RequestService
from core.network.profiles import NetworkProfiles
from core.planning.base import Planner
from core.routers import ROUTERS
from core.routers.context import RoutingContext
from core.routers.parameters import VIEW_WEIGHTS
from core.routers.presets import DEFAULT_PRESET, applied
from core.routers.sonar import TwoStageParameters
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import SecretVault
from core.store import ScenarioRuns
from sample_catalog import testbeds

TESTBED = "search-15"
TASKS = {
    TESTBED: testbeds.SEARCH_TASKS,
    "attention-120": testbeds.ATTENTION_TASKS,
    SAMPLE: sample_catalog.TASKS_DIR / "subtasks.jsonl",
}
REPORTED_EVERY = 64
RUN_FIELDS = ("mode", "router", "setting", "ssr", "ee", "al_ms", "sl_ms", "fr", "cost_usd", "utility")

Progress = Callable[[int, int], None]  # steps done, steps to do


@dataclass(frozen=True, slots=True)
class Entry:
    router: str
    setting: Setting
    parameters: Parameters


@actions("call", _calls="run a network live")
@actions("tune", keep="keep network runs")
@dataclass(eq=False)
class ScenarioService:
    """Runs scenarios. Simulated scenarios make no calls and record no events. Calls of live scenarios go to `record`; their secrets come
    from `vault`, and `leave` says whether a call may be made. `keep` stores runs.
    """

    catalogs: CatalogService
    planners: Mapping[str, Planner]
    store: ScenarioRuns
    _: KW_ONLY
    networks: NetworkProfiles
    virtual_folder: Path
    lab_runs: LabRunService
    feedback: FeedbackService
    requests: RequestService
    vault: SecretVault | None = None
    record: Callable[[OutcomeEvent], None] = lambda _: None
    leave: Leave = always
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def world(
        self,
        profile: str,
        *,
        catalog: str = TESTBED,
        tasks: Sequence[Task] | None = None,
        source: str = "",
        steps: int = STEPS,
        seed: int = 0,
        lead_in: int = LEAD_IN,
        predicted: str = "",
        raw_questions: bool = False,
    ) -> World:
        """The world of a scenario: a profile by name or file, over a catalog and its labelled tasks.

        `source` names the origin of `tasks`. `predicted` replaces tool prediction for every query; without it the planner is asked.
        Raises WayfareError.
        """
        network = self.networks.load(profile)
        labelled_tasks = [task for task in (tasks if tasks is not None else self._tasks(catalog)) if task.relevant]
        if not labelled_tasks:
            raise CatalogError(f"No task says what is right for it in catalog {catalog!r}; give tasks with `relevant`.")
        context = self.catalogs.context(self.catalogs.open(catalog).name)
        context.matcher.embed("warm up")  # the first text opens the encoder, which would count as selection time
        world = World.of(
            context,
            network.traces(context.catalog.servers, lead_in + steps, seed=seed),
            labelled_tasks,
            self.planners,
            seed=seed,
            lead_in=lead_in,
            predicted=predicted,
            raw_questions=raw_questions,
        )
        conditions = Conditions(
            profile=network.name,
            profile_fingerprint=fingerprint(network.to_json()),
            catalog=context.catalog.name,
            catalog_fingerprint=_of_catalog(context),
            tasks=source if tasks is not None else catalog,
            tasks_fingerprint=fingerprint(
                [[task.subtask, task.question, task.server_hint, sorted(task.relevant)] for task in labelled_tasks]
            ),
            seed=seed,
            steps=len(world.order),
            lead_in=lead_in,
            predicted=predicted,
            raw_questions=raw_questions,
        )
        return replace(world, conditions=conditions)

    def run(
        self,
        world: World,
        plan: Sequence[Entry],
        *,
        live: bool = False,
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
        watch: Callable[[int, Step], None] | None = None,
    ) -> tuple[ScenarioRun, ...]:
        """One run for each entry of a plan; `live` runs make real calls, see `core.lab.scenarios.live`. `watch` gets each step with the
        position of its entry.

        Raises Stopped once `cancel` is set.
        """
        steps, interval = len(world.order), 1 if live else REPORTED_EVERY
        runs: list[ScenarioRun] = []

        def watched(number: int, entry: Entry, call: Call | None) -> Iterator[Step]:
            """The steps of a run. Every `REPORTED_EVERY` steps, or after every real call, it reports the progress of all runs and checks `cancel`."""
            for done, step in enumerate(walk(world, entry.router, entry.parameters, call)):
                if done % interval == 0:
                    if cancel is not None and cancel.is_set():
                        raise Stopped
                    if progress is not None:
                        progress(number * steps + done, len(plan) * steps)
                if watch is not None:
                    watch(number, step)
                yield step
            if progress is not None:
                progress((number + 1) * steps, len(plan) * steps)

        for number, entry in enumerate(plan):
            with self._calls(world, cancel) if live else nullcontext() as call:
                run = measured(
                    world, entry.router, entry.setting, entry.parameters.values(), watched(number, entry, call)
                )
            runs.append(replace(run, mode=LIVE) if live else run)
        return tuple(runs)

    def _calls(self, world: World, cancel: threading.Event | None) -> AbstractContextManager[Call]:
        load_protocol()
        from core.lab.scenarios.live import LiveCalls

        seed = world.conditions.seed if world.conditions is not None else 0
        return LiveCalls(
            world,
            self.virtual_folder,
            seed=seed,
            vault=self.vault,
            record=self.record,
            leave=self.leave,
            cancel=cancel,
        )

    def keep(self, world: World, runs: Sequence[ScenarioRun]) -> tuple[KeptRun, ...]:
        """Store runs of a world that `world` made, in place of runs with equal inputs. Raises StoreError."""
        if world.conditions is None:
            raise StoreError("This world has no name to keep its runs under; make it with `Scenarios.world`.")
        moment, names = self.now(), world.context.server_names
        rows: list[tuple[KeptRun, RunSteps]] = []
        for run in runs:
            parameters = json.dumps(run.parameters, sort_keys=True)
            row = KeptRun(
                **asdict(world.conditions),
                **{name: getattr(run, name) for name in RUN_FIELDS},
                parameters_json=parameters,
                id=run_id(world.conditions, run.mode, run.router, run.setting, parameters),
                at=moment,
                version=version("wayfare"),
            )
            servers, server = _called(run.server, names)
            tools, tool = _called(run.tool, [tool.name for tool in world.context.catalog.tools])
            task, calls = run.task.astype(np.int32), (run.network_s, run.price_usd, run.ok)
            rows.append((row, RunSteps(servers, tools, task, server, tool, *calls)))
        self.store.save(rows)
        return tuple(row for row, _ in rows)

    def inputs(self, catalog: str) -> str:
        """The fingerprint of a catalog and its labelled tasks, which may change; "" for a shipped catalog. Raises CatalogError
        without tasks."""
        if catalog in TASKS:
            return ""
        return fingerprint([self.lab_runs.digest(catalog).fingerprint, tasks_text(self._tasks(catalog))])

    def _tasks(self, catalog: str) -> tuple[Task, ...]:
        """The tasks that came with a catalog, or were drawn with it, or are of its newest run, else its example requests or its labels,
        whichever are more. Raises CatalogError."""
        if catalog in TASKS:
            return read_tasks(TASKS[catalog].read_bytes(), source=TASKS[catalog].name)
        for key, source in self.lab_runs.task_sets(catalog).items():
            return self.lab_runs.stored_tasks(key, source)
        name = self.catalogs.open(catalog).name
        labels = self.feedback.export(name)
        examples = asked_tasks(self.requests, name)
        if len(examples) > labels.count("\n"):
            return tuple(examples)
        if labels:
            return read_tasks(labels.encode(), source=f"labels of {catalog}")
        raise CatalogError(
            f"No labelled tasks are known for catalog {catalog!r}: write tasks for it in the Lab, label tools of it, or give a file with "
            "`wayfare scenario --tasks`."
        )


def planned(
    routers: Sequence[str],
    settings: Sequence[Setting] = SETTINGS,
    values: Mapping[str, object] | None = None,
    *,
    preset: str = DEFAULT_PRESET,
) -> tuple[Entry, ...]:
    """Every router under every setting. `values` go to the routers that have such a parameter, and win over the `preset`.

    Raises UnknownNameError, ParameterError.

    >>> [(entry.router, entry.setting.name) for entry in planned(["sonar", "ehrr"], SETTINGS[:1], {"a": 0.3})]
    [('sonar', 's3t6'), ('ehrr', 's3t6')]
    """
    overrides = dict(values or {})
    for router in routers:
        if router not in ROUTERS:
            raise UnknownNameError(f"There is no router {router!r}; choose one of: {', '.join(ROUTERS)}.")
    knobs = {router: {knob.name for knob in ROUTERS[router].parameters.knobs()} for router in routers}
    for name in overrides.keys() - set[str]().union(*knobs.values()):
        raise ParameterError(
            f"None of these routers has a parameter {name!r}; `wayfare parameters` lists what there is."
        )
    return tuple(
        Entry(
            router,
            setting,
            _parameters(router, setting, {n: v for n, v in overrides.items() if n in knobs[router]}, preset),
        )
        for router in routers
        for setting in settings
    )


def _parameters(router: str, setting: Setting, values: Mapping[str, object], preset: str) -> Parameters:
    parameters = ROUTERS[router].parameters
    names = [knob.name for knob in parameters.knobs()]
    by_words = {"similarity": VIEW_WEIGHTS} if issubclass(parameters, TwoStageParameters) else {}
    return applied(parameters, preset, {**by_words, **parameters_under(setting, names), **values})


def _called(rows: NDArray[np.int64], names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The names that occur, and each step's position among them.

    >>> _called(np.array([2, -1, 0, 2]), ["a", "b", "c"])
    (('a', 'c'), array([ 1, -1,  0,  1], dtype=int32))
    """
    unique_rows = np.unique(rows[rows >= 0])
    used_rows: list[int] = unique_rows.tolist()
    places = np.where(rows >= 0, np.searchsorted(unique_rows, rows), -1).astype(np.int32)
    return tuple(names[row] for row in used_rows), places


def _of_catalog(context: RoutingContext) -> str:
    """The fingerprint of a catalog for scenarios: with current prices, without connections."""
    servers = [repr(replace(server, connection=None)) for server in context.catalog.servers]
    return fingerprint([servers, context.statistics.tools.price_usd.tolist()])
