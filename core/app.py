"""The composition root: settings in, services out. Nothing else chooses an encoder or builds a connection pool.

The app builds each service when it is first used, and imports it only then, so a command pays for the services that it calls.

>>> with open_app(Settings(db=":memory:")) as app:
...     sorted(info.name for info in app.catalogs.infos())
['attention-120', 'sample', 'search-15']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from core.domain.progress import LatestStep, Report, silent
from core.domain.settings import IN_MEMORY, Settings, own_url

if TYPE_CHECKING:
    from core.domain.catalog import ServerId
    from core.domain.execution import ToolCaller
    from core.governance.exchange import Exchange
    from core.governance.status import Health
    from core.relevance.encoder import CachedEncoder
    from core.store import Store
    from core.store.connection import Sharing

CLOSING_LIMIT_S = 5.0


if TYPE_CHECKING:
    from functools import cached_property as built
else:

    class built:
        """A part of the app, built on first use. Threads that ask at the same time get the same part."""

        def __init__(self, make: Callable[[App], Any]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __get__(self, app: App | None, owner: type) -> Any:
            if app is None:
                return self
            with app.building:
                name = self._make.__name__
                if name not in app.__dict__:
                    app.__dict__[name] = self._make(app)
                return app.__dict__[name]


class App:
    """The services over one store. Thread-safe. Close it, or use it as a context manager.

    Closing the app closes the store. Without settings the environment is read. `startup` has the latest step of a first start. Tests give
    an encoder and a caller.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        encoder: CachedEncoder | None = None,
        caller: Callable[[], ToolCaller] | None = None,
        report: Report = silent,
    ) -> None:
        from core.telemetry import telemetry_of

        self.store = store
        self.settings = Settings.from_environment() if settings is None else settings
        self.startup = LatestStep(report)
        self.building = RLock()
        self._encoder = encoder
        self._caller = caller
        self.telemetry = telemetry_of(self.settings.environment)
        store.on_return = self._read_anew

    # What several services share

    @built
    def packaged(self):
        """The vectors that come with Wayfare."""
        from core.relevance.packaged_vectors import PackagedVectors
        from sample_catalog import VECTORS

        return PackagedVectors(self.store.vectors, VECTORS, self.startup)

    @built
    def encoders(self):
        """The tuned encoder, which decisions at the defaults need, and the frozen encoder of the papers' forms."""
        return self._opened_encoder(tuned=True), self._opened_encoder(tuned=False)

    @built
    def vault(self):
        from core.servers.secrets import vault_of

        return vault_of(self.settings, self._is_per_person)

    def _is_per_person(self, server: str) -> bool:
        return self.governance.policy.is_per_person(server)

    @built
    def values(self):
        from core.catalogs.servers import ServerValues

        return ServerValues(self.catalogs, self.vault)

    @built
    def sign_ins(self):
        from core.catalogs.server_sign_ins import ServerSignIns

        return ServerSignIns(self.catalogs, self.vault, self.pool.states, self.servers.discover)

    @built
    def pool(self):
        from core.servers.lazy_pool import LazyPool

        settings = self.settings
        limits = settings.max_answer_bytes, settings.max_sessions
        return LazyPool(self.vault, *limits, settings.greetings_file, settings.inherit, self._list_changed)

    def _list_changed(self, server: ServerId, kind: str) -> None:
        self.upkeep.list_changed(server, kind)

    @built
    def simulated_networks(self):
        from core.catalogs.contexts import SimulatedNetworks

        return SimulatedNetworks(self.networks)

    @built
    def networks(self):
        from core.network.profiles import NetworkProfiles

        return NetworkProfiles(self.settings.networks_folder)

    @built
    def _planners(self):
        from core.planning.rules import planners

        return planners(self.settings.environment)

    @built
    def _learnt(self):
        from core.relevance.learnt import LearntModels

        return LearntModels(self.store, self.encoders[0])

    @built
    def _index_files(self):
        from core.relevance.index_files import IndexFiles

        settings = self.settings
        return None if settings.indexes_folder is None else IndexFiles(settings.indexes_folder, owner=str(settings.db))

    # Decide

    @built
    def catalogs(self):
        from core.catalogs.catalogs import CatalogService

        tuned, frozen = self.encoders
        return CatalogService(
            self.store,
            frozen,
            tuned=tuned,
            learnt=self._learnt,
            index_files=self._index_files,
            cross_encoder=self.settings.reranker,
            now=self.settings.now,
        )

    @built
    def readiness(self):
        from core.catalogs.upkeep import Readiness

        return Readiness(
            self.catalogs,
            self.encoders[0],
            self.background,
            words_after_s=self.settings.words_after_s,
            load_rest=self._load_rest,
        )

    def _load_rest(self, catalog: str) -> None:
        from core.relevance.scoring import language_of

        language_of("warm up")
        self.lint_reports.errors(catalog)
        if self.catalogs.catalog(catalog).tools:
            self.routing.route("warm up", catalog=catalog, record=False)

    @built
    def catalog_editor(self):
        from core.catalogs.catalog_editor import CatalogEditor

        return CatalogEditor(self.catalogs, self.vault, self.pool.get, self.followed, self.lint_reports)

    @built
    def servers(self):
        from core.catalogs.servers import ServerEditor

        return ServerEditor(self.catalogs, self.vault, self.pool.get, self.settings.registry)

    @built
    def followed(self):
        from core.catalogs.followed import FollowedFiles

        return FollowedFiles(self.store, self.catalogs, self.vault, self.servers)

    @built
    def upkeep(self):
        from core.catalogs.upkeep import Upkeep

        return Upkeep(self.catalogs, self.followed, self.servers, look_s=self.settings.look_hours * 3600)

    @built
    def wordings(self):
        from core.catalogs.catalog_editor import Wordings

        return Wordings(self.store, self.catalogs, self.settings.now)

    @built
    def health(self):
        from core.calls.health import HealthChecks

        return HealthChecks(self.catalogs, self.pool.get, self.settings.now)

    @built
    def maps(self):
        from core.catalogs.maps import CatalogMaps

        return CatalogMaps(self.catalogs, self.encoders[1], self.store.vectors)

    @built
    def lint_reports(self):
        from core.catalogs.lint_reports import LintReports

        # both are built when they are needed
        return LintReports(
            self.catalogs,
            self.store,
            lambda name: self.findable.known(name),  # noqa: PLW0108
            lambda name: self.requests.greedy(name),  # noqa: PLW0108
        )

    @built
    def routing(self):
        from core.catalogs.decision_log import DecisionLog
        from core.decisions.layer import OpenSessions
        from core.decisions.routing import RoutingService

        log = DecisionLog(self.store, self.telemetry)
        sessions = OpenSessions(lambda: [state for pool in self._made("pool") for state in pool.states()])
        return RoutingService(self.catalogs, log, self._planners, self.simulated_networks, sessions)

    @built
    def trace_removals(self):
        from datetime import timedelta

        from core.catalogs.decision_log import TraceRemovals

        return TraceRemovals(self.store, timedelta(days=self.settings.trace_days), self.settings.now)

    @built
    def backups(self):
        from core.catalogs.backups import Backups

        return Backups(self.store, self.settings)

    @built
    def scheduled_backups(self):
        from core.catalogs.backups import ScheduledBackups

        return ScheduledBackups(self.backups, self.settings)

    @built
    def refusals(self):
        from core.decisions.routing import RefusalService

        return RefusalService(self.catalogs, self.feedback)

    @built
    def what_if(self):
        from core.decisions.whatif import WhatIfService

        return WhatIfService(self.catalogs, self.routing)

    # Call and govern

    @built
    def calls(self):
        import numpy as np

        from core.calls.calls import CallService
        from core.governance.sanitising import sanitised

        return CallService(
            self.store,
            self.catalogs,
            self._caller or self.pool.caller,
            self.pool.caller_under,
            self.simulated_networks,
            rng=np.random.default_rng(self.settings.seed),
            virtual_folder=self.settings.virtual_folder,
            telemetry=self.telemetry,
            record=self.recordings.add,
            sanitised=lambda outcome: sanitised(outcome, self.governance.policy),
        )

    @built
    def recordings(self):
        from core.calls.calls import Recordings

        return Recordings(self.store, self.catalogs, self.vault.redact)

    @built
    def governance(self):
        from core.governance.approvals import Webhook
        from core.governance.governance import GovernanceService

        return GovernanceService(
            self.store,
            self.catalogs,
            now=self.settings.now,
            clock=time.monotonic,
            redact=self.vault.redact,
            announce=Webhook(self.settings.notify_url, f"{own_url()}/govern"),
            lint_errors=self.lint_reports.errors,
            forget=self._forget_person,
        )

    def _forget_person(self, person: str) -> None:
        self.vault.forget_person(person)
        self.pool.forget_person(person)

    @built
    def agent_knobs(self):
        from core.governance.governance import AgentKnobs

        return AgentKnobs(self.store)

    @built
    def saved_presets(self):
        from core.routers.presets import SavedPresets

        return SavedPresets(self.store)

    @built
    def governed(self):
        from core.governance.governed_calls import GovernedCalls

        return GovernedCalls(self.governance, self.catalogs, self.calls)

    @built
    def preflight(self):
        from core.governance.governed_calls import Preflight

        return Preflight(self.governance, self.catalogs, self.health, self.values, self.sign_ins, self.settings.now)

    @built
    def attention(self):
        from core.agents.agent import AttentionService

        return AttentionService(self.catalogs, self.pool.get, virtual_folder=self.settings.virtual_folder)

    @built
    def server_requests(self):
        from core.governance.governed_calls import ServerRequests

        return ServerRequests(self.catalogs, self.pool.get, self.settings.virtual_folder)

    @built
    def exchange(self) -> Exchange:
        from core.governance.exchange import Exchange

        def copied(store: Store) -> Exchange:
            return App(store, replace(self.settings, db=IN_MEMORY, environment={}), encoder=self._encoder).exchange

        return Exchange(
            self.store, self.catalogs, self.wordings, self.requests, self.feedback, self.governance, copied, self._read_anew
        )  # fmt: skip

    @built
    def linked(self):
        from core.governance.governed_calls import LinkedResources

        return LinkedResources(self.governance, self.catalogs, self.server_requests)

    @built
    def agent(self):
        from core.agents.agent import AgentService

        return AgentService(self.catalogs, self.routing, self.governed, self.attention, self._planners)

    # Learn

    @built
    def feedback(self):
        from core.learning.feedback import FeedbackService

        return FeedbackService(self.store, self.catalogs, self._learnt, now=self.settings.now)

    @built
    def calibrations(self):
        from core.lab.calibrations import CalibrationService

        return CalibrationService(
            self.store, self.catalogs, self._learnt, self.routing, self.feedback, now=self.settings.now
        )

    @built
    def requests(self):
        from core.learning.requests import RequestService

        return RequestService(self.store, self.catalogs, self._learnt, self.settings.now)

    @built
    def findable(self):
        from core.lab.findable import FindableService

        return FindableService(self.catalogs, self._learnt, self.equal_sets)

    @built
    def examples(self):
        from core.decisions.examples import ExampleService

        return ExampleService(self.catalogs, self._learnt, self.routing, self.what_if)

    @built
    def equal_sets(self):
        from core.lab.equal_sets import EqualSetsService

        return EqualSetsService(self.store, self.catalogs, self._learnt, self.settings.now)

    # Lab

    @built
    def lab(self):
        from core.lab.lab import LabService

        return LabService(self.routing, self.catalogs, lambda: self.governed, self.equal_sets)

    @built
    def lab_runs(self):
        from core.lab.lab_runs import LabRunService

        return LabRunService(self.store, self.catalogs, self.lab, self.settings.now)

    @built
    def measuring(self):
        from core.lab.lab_runs import MeasuringService

        return MeasuringService(self.store, self.lab, self.routing, self.lab_runs)

    @built
    def testbeds(self):
        from core.lab.testbed import TestbedService

        return TestbedService(self.store, self.catalogs, self.catalog_editor, self.lab, self.feedback)

    @built
    def task_writing(self):
        from core.lab.task_writing import TaskWritingService

        return TaskWritingService(self.store, self.catalogs, self._learnt, self.equal_sets, self._planners)

    @built
    def sweeps(self):
        from core.lab.sweeps import SweepService

        return SweepService(self.store, self.lab_runs, self.settings.now)

    @built
    def scoreboard(self):
        from core.lab.scoreboard import ScoreboardService

        return ScoreboardService(self.lab, self.lab_runs, self.feedback, self.requests)

    @built
    def replay(self):
        from core.lab.replay import ReplayService

        return ReplayService(self.store, self.catalogs, self.routing, self.governance.admission.seen)

    @built
    def snapshots(self):
        from core.lab.snapshots import SnapshotService

        return SnapshotService(
            self.store, self.catalogs, self.lab_runs, self.calibrations, self.networks, self.settings.now
        )

    @built
    def judgments(self):
        from core.lab.judgments import JudgmentService

        return JudgmentService(self.store, self.catalogs, now=self.settings.now)

    @built
    def scenarios(self):
        from core.lab.scenario_runs import ScenarioService

        return ScenarioService(
            self.catalogs, self._planners, self.store.scenario_runs, networks=self.networks,
            virtual_folder=self.settings.virtual_folder, lab_runs=self.lab_runs, feedback=self.feedback, requests=self.requests,
            vault=self.vault, record=self.store.events.append_later, leave=self.governed.leave, now=self.settings.now,
        )  # fmt: skip

    @built
    def papers(self):
        from core.papers.papers import PaperService

        return PaperService(self.catalogs, self.routing, self.scenarios, self.lab, self._planners)

    def health_now(self, waiting: int) -> Health:
        """The load of the console; `waiting` are requests without their turn."""
        from core.governance.status import health

        scheduled = None if self.settings.backups is None else self.scheduled_backups
        backups = None if scheduled is None else (scheduled.age_s, scheduled.problem)
        return health(self.store, self.pool.states(), waiting, backups)

    @built
    def background(self):
        from core.catalogs.background_jobs import BackgroundJobs

        return BackgroundJobs(self.store, self.settings.now)

    # Start and end

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each shipped file that could not be used, with its replacement."""
        encoder_notes = (encoder.note for encoder in self.encoders)
        return tuple(dict.fromkeys(note for note in (*encoder_notes, *self.packaged.notes) if note))

    def open_the_rest(self) -> None:
        """Open all that a first call needs, and settle the calls of a killed process. Raises WayfareError.

        The frozen encoder stays closed until a decision needs it. It opens in 0.1 s and takes 55 MB.
        """
        self.governance.refused.write_due()
        self.pool.get()
        self.health.start()
        self.trace_removals.start()
        if self.settings.backups is not None:
            self.scheduled_backups.start()

    def close(self) -> None:
        """End sessions and calls, and commit queued and counted records."""
        for service in self._made("health", "upkeep", "trace_removals", "scheduled_backups", "sign_ins"):
            service.close()
        for background in self._made("background"):
            background.close(CLOSING_LIMIT_S)
        for service in self._made("calls", "pool"):  # calls that are under way end as cancelled
            service.close()
        for calls in self._made("calls"):
            calls.wait(CLOSING_LIMIT_S)
        for governance in self._made("governance"):
            governance.refused.write_due(everything=True)
        self.store.close()
        self.telemetry.close()

    def _read_anew(self) -> None:
        """Take over the changes of another process that had the store, a command that began before this console. Sessions of servers that
        are switched off now end."""
        from core.domain.catalog import ServerId

        for learnt in self._made("_learnt"):
            learnt.forget_all()
        for service in self._made("catalogs", "governance", "agent_knobs", "recordings", "judgments"):
            service.read_anew()
        for state in [state for pool in self._made("pool") for state in pool.states()]:
            off = self.catalogs.catalog(state.catalog).off if state.catalog in self.catalogs.stored() else ()
            if any(server.name == state.server for server in off):
                self.pool.get().end(ServerId(state.catalog, state.server))

    def _made(self, *names: str) -> Iterator[Any]:
        """Yields the built parts of these names."""
        return (self.__dict__[name] for name in names if name in self.__dict__)

    def __enter__(self) -> App:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _opened_encoder(self, *, tuned: bool) -> CachedEncoder:
        """An encoder that opens for its first text, tuned for relevance or frozen as in the papers' forms."""
        if self._encoder is not None:
            return self._encoder
        from core.relevance.encoder import CachedEncoder
        from core.relevance.onnx_encoder import onnx_source

        settings = self.settings
        source = onnx_source(
            settings.models_folder, tuned=tuned, difference=settings.encoder_difference, report=self.startup
        )
        return CachedEncoder(source, self.packaged, report=self.startup)


build_app = App


def open_app(settings: Settings | None = None, *, report: Report = silent, sharing: Sharing | None = None) -> App:
    """An app over the store that the settings name (None: the environment's), with the default encoder.

    `report` gets the steps of a first start. Without `sharing` the app has the store alone. Raises StoreError, StoreBusyError.
    """
    from core.store import Store

    app_settings = Settings.from_environment() if settings is None else settings
    return App(Store(app_settings.db, sharing=sharing), app_settings, report=report)
