"""The composition root: settings in, services out. Nothing else chooses an encoder or builds a connection pool.

>>> with open_app(Settings(db=":memory:")) as app:
...     sorted(info.name for info in app.catalogs.infos())
['attention-120', 'sample', 'search-15']
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.domain.execution import ToolCaller
from core.mcp_bridge.lazy_pool import LazyPool
from core.mcp_bridge.secrets import SecretVault, vault_of
from core.network.profiles import NetworkProfiles
from core.planning.rules import planners
from core.relevance.encoder import CachedEncoder
from core.relevance.onnx_encoder import onnx_source
from core.relevance.packaged_vectors import PackagedVectors
from core.services.call.agent import AgentService
from core.services.call.attention import AttentionService
from core.services.call.calls import CallService
from core.services.call.server_requests import LinkedResources, ServerRequests
from core.services.decide.catalog_editor import CatalogEditor, CatalogMaps, LintReports
from core.services.decide.catalogs import CatalogService
from core.services.decide.decision_log import DecisionLog
from core.services.decide.routing import RefusalService, RoutingService
from core.services.decide.server_values import ServerValues
from core.services.decide.whatif import WhatIfService
from core.services.govern.governance import GovernanceService
from core.services.govern.governed_calls import GovernedCalls
from core.services.lab.background_runs import BackgroundRuns
from core.services.lab.judgments import JudgmentService, ModelJudgeService
from core.services.lab.lab import LabService
from core.services.lab.lab_runs import LabRunService, SnapshotService
from core.services.lab.measuring import MeasuringService, TestbedService
from core.services.lab.papers import PaperService
from core.services.lab.replay import ReplayService
from core.services.lab.scenarios import ScenarioService
from core.services.lab.sweeps import SweepService
from core.services.learn.calibrations import CalibrationService
from core.services.learn.equal_sets import EqualSetsService
from core.services.learn.feedback import FeedbackService
from core.services.learn.learnt_models import LearntModels
from core.shared.progress import LatestStep, Report, silent
from core.shared.settings import Settings
from core.store import Store
from core.telemetry.base import Telemetry, telemetry_of
from sample_catalog import VECTORS

CLOSING_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class App:
    """The services over one store. Thread-safe. Close it, or use it as a context manager.

    `startup` knows what a first start is doing, `encoders` are the one that decisions at the defaults need and the one of the
    papers' forms, `packaged` are the vectors that come with Wayfare.
    """

    settings: Settings
    startup: LatestStep
    encoders: tuple[CachedEncoder, ...]
    packaged: PackagedVectors
    store: Store
    vault: SecretVault
    values: ServerValues
    catalogs: CatalogService
    catalog_editor: CatalogEditor
    maps: CatalogMaps
    lint_reports: LintReports
    routing: RoutingService
    feedback: FeedbackService
    judgments: JudgmentService
    model_judge: ModelJudgeService
    refusals: RefusalService
    calibrations: CalibrationService
    calls: CallService
    governance: GovernanceService
    governed: GovernedCalls
    linked: LinkedResources
    server_requests: ServerRequests
    scenarios: ScenarioService
    papers: PaperService
    equal_sets: EqualSetsService
    lab: LabService
    lab_runs: LabRunService
    measuring: MeasuringService
    sweeps: SweepService
    snapshots: SnapshotService
    testbeds: TestbedService
    replay: ReplayService
    what_if: WhatIfService
    attention: AttentionService
    agent: AgentService
    networks: NetworkProfiles
    background: BackgroundRuns
    pool: LazyPool
    telemetry: Telemetry

    @property
    def notes(self) -> tuple[str, ...]:
        """What comes with Wayfare and could not be used, and what was done instead: a sentence each; none where all is well."""
        opened = (encoder.note for encoder in self.encoders)
        return tuple(dict.fromkeys(note for note in (*opened, *self.packaged.notes) if note))

    def is_ready(self, catalog: str) -> bool:
        """Whether a decision on this catalog at the defaults is made at once: nothing is left to be embedded or opened."""
        return self.catalogs.is_prepared(catalog) and self.encoders[0].is_open

    def make_ready(self, catalog: str) -> None:
        """Embed and open what a decision at the defaults needs. Raises WayfareError."""
        self.catalogs.prepare(catalog)
        self.encoders[0].encode_query("warm up")

    def open_the_rest(self, catalog: str) -> None:
        """Open what other decisions, an agent's search and a first call need, so that they do not wait either. Raises WayfareError."""
        for encoder in self.encoders[1:]:
            encoder.encode_query("warm up")
        self.pool.get()
        self.lint_reports.errors(catalog)

    def close(self) -> None:
        """End sessions and calls, commit what is queued and counted."""
        self.background.close(CLOSING_LIMIT_S)
        self.calls.close()
        self.pool.close()  # what is still under way ends as cancelled
        self.calls.wait(CLOSING_LIMIT_S)
        self.governance.refused.write_due(everything=True)
        self.store.close()
        self.telemetry.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_app(settings: Settings | None = None, *, report: Report = silent) -> App:
    """An app over the store that the settings name (None: those of the environment), with the default encoder.

    `report` is told what a first start has to do. Raises StoreError, StoreBusyError.
    """
    chosen = Settings.from_environment() if settings is None else settings
    return build_app(Store(chosen.db), chosen, report=report)


def build_app(
    store: Store,
    settings: Settings | None = None,
    *,
    encoder: CachedEncoder | None = None,
    caller: Callable[[], ToolCaller] | None = None,
    report: Report = silent,
) -> App:
    """The same over a store that is open already; closing the app closes it. Tests give an encoder and a caller."""
    chosen = Settings.from_environment() if settings is None else settings
    telemetry = telemetry_of(chosen.environment)
    startup = LatestStep(report)
    packaged = PackagedVectors(store.vectors, VECTORS, startup)
    embedding = _encoder(packaged, chosen, startup) if encoder is None else encoder
    tuned = _encoder(packaged, chosen, startup, tuned=True) if encoder is None else encoder
    vault = vault_of(chosen)
    pool = LazyPool(vault, max_answer_bytes=chosen.max_answer_bytes)
    networks = NetworkProfiles(chosen.networks_folder)
    known_planners = planners(chosen.environment)
    learnt = LearntModels(store, tuned)
    catalogs = CatalogService(
        store, embedding, tuned=tuned, learnt=learnt, cross_encoder=chosen.reranker, now=chosen.now
    )
    maps = CatalogMaps(catalogs, embedding, store.vectors)
    lint_reports = LintReports(catalogs)
    routing = RoutingService(catalogs, DecisionLog(store, telemetry), known_planners)
    feedback = FeedbackService(store, catalogs, learnt, now=chosen.now)
    calls = CallService(
        store,
        catalogs,
        caller or pool.caller,
        rng=np.random.default_rng(chosen.seed),
        virtual_folder=chosen.virtual_folder,
        telemetry=telemetry,
    )
    governance = GovernanceService(store, catalogs, now=chosen.now, clock=time.monotonic, redact=vault.redact)
    governed = GovernedCalls(governance, catalogs, calls)
    attention = AttentionService(catalogs, pool.get, virtual_folder=chosen.virtual_folder)
    scenarios = ScenarioService(
        catalogs, known_planners, store.scenario_runs, networks=networks, virtual_folder=chosen.virtual_folder, vault=vault,
        record=store.events.append_later, leave=governed.leave, now=chosen.now,
    )  # fmt: skip
    editor = CatalogEditor(catalogs, vault, pool.get)
    equal_sets = EqualSetsService(store, catalogs, learnt, chosen.now)
    lab = LabService(routing, catalogs, governed, equal_sets)
    lab_runs = LabRunService(store, catalogs, lab, chosen.now)
    judgments = JudgmentService(store, catalogs, lab_runs, now=chosen.now)
    calibrations = CalibrationService(store, catalogs, learnt, routing, feedback, now=chosen.now)
    requests = ServerRequests(catalogs, pool.get, chosen.virtual_folder)
    return App(
        settings=chosen,
        startup=startup,
        encoders=(tuned, embedding),
        packaged=packaged,
        store=store,
        vault=vault,
        values=ServerValues(catalogs, vault),
        catalogs=catalogs,
        catalog_editor=editor,
        maps=maps,
        lint_reports=lint_reports,
        routing=routing,
        feedback=feedback,
        judgments=judgments,
        model_judge=ModelJudgeService(judgments, catalogs, known_planners),
        refusals=RefusalService(catalogs, feedback),
        calibrations=calibrations,
        calls=calls,
        governance=governance,
        governed=governed,
        linked=LinkedResources(governance, catalogs, requests),
        server_requests=requests,
        scenarios=scenarios,
        papers=PaperService(catalogs, routing, scenarios, lab, known_planners),
        equal_sets=equal_sets,
        lab=lab,
        lab_runs=lab_runs,
        measuring=MeasuringService(store, lab, routing, lab_runs),
        sweeps=SweepService(store, catalogs, routing, lab_runs, chosen.now),
        testbeds=TestbedService(store, catalogs, editor, lab, feedback),
        snapshots=SnapshotService(store, catalogs, lab_runs, calibrations, networks, chosen.now),
        replay=ReplayService(store, catalogs, routing),
        what_if=WhatIfService(catalogs, routing),
        attention=attention,
        agent=AgentService(catalogs, routing, governed, attention, known_planners),
        networks=networks,
        background=BackgroundRuns(),
        pool=pool,
        telemetry=telemetry,
    )


def _encoder(vectors: PackagedVectors, settings: Settings, report: Report, *, tuned: bool = False) -> CachedEncoder:
    """The encoder of the papers' forms, or the one tuned for relevance."""
    source = onnx_source(settings.models_folder, tuned=tuned, difference=settings.encoder_difference, report=report)
    return CachedEncoder(source, vectors, report=report)
