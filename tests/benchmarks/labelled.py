"""Labelled questions with their catalogs: the sample, the testbeds, and LiveMCPBench if its files exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sample_catalog
from core.app import App, Settings, open_app
from core.domain.catalog import Catalog
from core.domain.tasks import Step, Task
from core.importers.shipped_catalogs import SAMPLE
from core.routers.context import RoutingContext
from tests.benchmarks.measuring import ROOT

RUNNING = "the servers that run"
LIVE = ROOT.parent / "shared" / "data" / "livemcpbench"


@dataclass(frozen=True)
class Asked:
    """A question with its steps; every tool of a step is right. Without steps no tool can do it."""

    text: str
    steps: tuple[tuple[frozenset[str], tuple[int, ...]], ...]

    @property
    def tools(self) -> frozenset[str]:
        """Every tool that is right for some step."""
        return frozenset().union(*(tools for tools, _ in self.steps))


@contextmanager
def opened_app() -> Iterator[App]:
    """An app in memory, with the sample's runnable servers as a second catalog."""
    with open_app(Settings.from_environment(db=":memory:")) as app:
        real = tuple(server for server in app.catalogs.catalog(SAMPLE).servers if not server.virtual)
        app.catalogs.save(Catalog(RUNNING, real), "for a measurement")
        yield app


def context(app: App, catalog: str) -> RoutingContext:
    """The routing context of a catalog."""
    return app.catalogs.context(catalog, None)


def tasks(app: App, name: str) -> tuple[Task, ...]:
    """The labelled tasks of one file of the sample."""
    return app.lab.read_tasks(sample_catalog.TASKS_DIR / f"{name}.jsonl")


def questions(app: App, name: str) -> list[Asked]:
    """The questions of one sample file in a person's words, with their plans."""
    return [Asked(task.question or task.subtask, _steps(task.plan) or _whole(task)) for task in tasks(app, name)]


def testbed(app: App, path: Path) -> list[Asked]:
    """The questions of a testbed that something can do."""
    return [Asked(task.question, _whole(task)) for task in app.lab.read_tasks(path) if task.relevant]


def live(app: App) -> tuple[str, list[Asked], list[str]]:
    """LiveMCPBench: its catalog, its questions with their labelled parts, and the texts of the parts."""
    if not LIVE.exists():
        return "", [], []
    steps: dict[str, list[Task]] = {}
    labelled = app.lab.read_tasks(LIVE / "subtasks.jsonl")
    for task in labelled:
        steps.setdefault(task.question, []).append(task)
    whole_questions = [Asked(text, tuple(_whole(task)[0] for task in parts)) for text, parts in steps.items()]
    return app.catalogs.open(str(LIVE / "tools.json")).name, whole_questions, [task.subtask for task in labelled]


def _steps(plan: tuple[Step, ...]) -> tuple[tuple[frozenset[str], tuple[int, ...]], ...]:
    return tuple((frozenset({step.tool, *step.equal}), tuple(step.needs)) for step in plan)


def _whole(task: Task) -> tuple[tuple[frozenset[str], tuple[int, ...]], ...]:
    return ((frozenset(task.relevant), ()),) if task.relevant else ()
