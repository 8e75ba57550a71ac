"""The papers recomputed over the shipped catalogs and tasks; reports written, read and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

import sample_catalog
from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.decision import Decision
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.tasks import Task
from core.lab.gate import CatalogDigest
from core.lab.lab import TASK_SETS, LabService
from core.lab.lab_runs import COMPUTING
from core.lab.scenario_runs import ScenarioService
from core.lab.scenarios.simulation import World
from core.papers import PAPERS, RESULTS
from core.papers.material import ATTENTION, SEARCH, Material
from core.papers.report import Report, kept_rows, with_kept
from core.planning.base import Planner
from core.routers.parameters import VIEW_WEIGHTS
from core.routers.presets import DEFAULT_PRESET

MODEL_TASKS = 20
COMPUTES = ("papers", "lab", "network", "routers", "planning", "relevance")  # the rooms whose code makes the figures


@dataclass(eq=False)
class PaperService:
    catalogs: CatalogService
    routing: RoutingService
    scenarios: ScenarioService
    lab: LabService
    planners: Mapping[str, Planner]
    _: KW_ONLY
    folder: Path = RESULTS

    def make(self, paper: str, material: Material) -> Report:
        """Recompute one paper, in seconds to minutes. Raises UnknownNameError."""
        if paper not in PAPERS:
            raise UnknownNameError(f"There is no paper {paper!r}; choose one of: {', '.join(PAPERS)}.")
        entry = PAPERS[paper]
        tables, charts = entry.results(material)
        return Report(
            id=paper,
            name=entry.name,
            title=entry.title,
            about=entry.about,
            catalogs={name: self._fingerprint(name) for name in entry.catalogs},
            seed=material.seed,
            versions={name: version(name) for name in COMPUTING},
            code=code_version(),
            model="" if material.model is None else material.model.name,
            tables=tables,
            charts=charts,
        )

    def material(
        self,
        *,
        seed: int = 0,
        model_tasks: int = MODEL_TASKS,
        poisoned: Path | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> Material:
        """The data of the papers. `say` gets the current step. A set model is asked at most `model_tasks` questions for each of its
        rows."""
        return Material(
            context=self.catalogs.context,
            tasks=self._tasks,
            decide=self._decide,
            world=self._world,
            add_catalog=lambda catalog: self.catalogs.add(catalog, "for a measurement"),
            seed=seed,
            model=self.planners.get("model"),
            model_tasks=model_tasks,
            poisoned=poisoned,
            say=say,
        )

    def write(self, report: Report, folder: Path | None = None) -> Path:
        """Write a report to the page's folder, or to another one. Raises WayfareError."""
        file = (folder or self.folder) / f"{report.id}.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(report.to_json(), encoding="utf-8")
        except OSError as error:
            raise WayfareError(f"{file}: it cannot be written ({error.strerror}); name another folder.") from None
        return file

    def report(self, paper: str) -> Report | None:
        """The newest report with stored rows of a model, None without a report. Raises WayfareError if its file cannot be read."""
        file = self.folder / f"{paper}.json"
        try:
            return with_kept(_read(file, file.stat().st_mtime_ns), kept_rows(self.folder).get(paper, {}))
        except OSError:
            return None

    def outdated(self, report: Report) -> tuple[str, ...]:
        """The catalogs that have changed or are gone since the report was made."""
        return tuple(name for name, fingerprint in report.catalogs.items() if self._fingerprint(name) != fingerprint)

    def _fingerprint(self, catalog: str) -> str:
        return CatalogDigest.of(self.catalogs.catalog(catalog), self.catalogs.statistics(catalog)).fingerprint

    def _tasks(self, name: str) -> tuple[Task, ...]:
        paths = {testbed: path for testbed in (ATTENTION, SEARCH) for path in TASK_SETS[testbed].values()}
        return self.lab.read_tasks(paths.get(name, sample_catalog.TASKS_DIR / f"{name}.jsonl"))

    def _decide(
        self,
        text: str,
        catalog: str,
        router: str,
        settings: Mapping[str, object] | None = None,
        *,
        hint: str = "",
        preset: str = "",
    ) -> Decision:
        retrieval = {} if preset else {"similarity": VIEW_WEIGHTS}
        parameters = self.routing.parameters(router, {**retrieval, **(settings or {})}, preset=preset or DEFAULT_PRESET)
        return self.routing.route(
            text, catalog=catalog, router=router, parameters=parameters, server_hint=hint, record=False
        )

    def _world(self, profile: str, steps: int, seed: int, as_asked: bool) -> World:
        return self.scenarios.world(profile, steps=steps, seed=seed, raw_questions=as_asked)


def papers() -> tuple[str, ...]:
    return tuple(PAPERS)


@cache
def code_version() -> str:
    """The hash of the source files that compute the papers' results, in hex."""
    digest = hashlib.sha256()
    for room in COMPUTES:
        for file in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=16)
def _read(file: Path, _changed: int) -> Report:
    return Report.parse(file.read_bytes(), source=file.name)
