"""Tool Attention beside its published figures: tokens on the 120-tool testbed, thresholds, poisoned descriptions kept out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import sample_catalog
from core.console import Console
from core.domain.catalog import Catalog, words
from core.domain.decision import Decision
from core.domain.task import Task
from core.importers import read_document
from core.shipped import SAMPLE
from sample_catalog.testbeds import ATTENTION_TASKS, CURATED
from tests.benchmarks.measuring import ROOT, report

TESTBED = "attention-120"
POISONED = ROOT / "tests" / "lint" / "data" / "poisoned.jsonl"
LIVE = ROOT.parent / "shared" / "data" / "livemcpbench"


@dataclass(frozen=True)
class Row:
    """One line of the paper's table: its name, the tokens it published, and our router with its parameters."""

    name: str
    published: int
    router: str
    settings: dict[str, object]


TABLE = (
    Row("B1 full schema", 47_312, "full_catalog", {}),
    Row("B2 static pruning", 11_865, "static_pruning", {"keep": ",".join(CURATED)}),
    Row("B3 simple retrieval", 4_082, "simple_retrieval", {}),
    Row("B4 CLI lazy discovery", 480, "cli_lazy", {}),
    Row("Tool Attention", 2_368, "tool_attention", {}),
    Row("  k = 5", 1_320, "tool_attention", {"n": 5}),
    Row("  k = 20", 4_190, "tool_attention", {"n": 20}),
    Row("  theta = 0.15", 3_270, "tool_attention", {"theta": 0.15}),
    Row("  theta = 0.40", 1_480, "tool_attention", {"theta": 0.40}),
    Row("  without lazy loading", 0, "tool_attention", {"lazy_loading": False}),
)


@contextmanager
def opened() -> Iterator[Console]:
    """A console of which nothing is kept."""
    with Console.open(":memory:") as console:
        yield console


def decisions(console: Console, tasks: Sequence[Task], catalog: str, router: str, **settings: object) -> list[Decision]:
    """One decision for each task."""
    chosen = console.parameters(router, settings)
    return [
        console.route(task.subtask, catalog=catalog, router=router, parameters=chosen, record=False) for task in tasks
    ]


def tokens() -> None:
    """The token column of the paper's main and ablation tables, counted on the testbed with its labelled tasks."""
    with opened() as console:
        tasks = [task for task in console.read_tasks(ATTENTION_TASKS) if task.relevant]
        print(f"newly exposed tokens a turn, {len(tasks)} tasks on {TESTBED}; in brackets the cached prefix")
        for row in TABLE:
            made = decisions(console, tasks, TESTBED, row.router, **row.settings)
            exposed = fmean(decision.exposure.exposed for decision in made)
            saved = 100 * (1 - exposed / made[0].tokens["baseline"])
            print(
                f"{row.name:<24} {exposed:>9,.0f} [{made[0].exposure.cached:>5,}]  published {row.published:>6,}  "
                f"{saved:>5.1f} % under full schema, {fmean(len(d.candidates) for d in made):.1f} candidates"
            )


def thresholds() -> None:
    """The threshold that labelled tasks ask for (published: 0.22 to 0.32)."""
    with opened() as console:
        live = console.open_catalog(str(LIVE / "tools.json")) if LIVE.exists() else ""
        sets = {
            "sample, sub-tasks": (SAMPLE, sample_catalog.TASKS_DIR / "subtasks.jsonl"),
            "sample, L2": (SAMPLE, sample_catalog.TASKS_DIR / "l2_context.jsonl"),
            "sample, EHRR's categories": (SAMPLE, sample_catalog.TASKS_DIR / "ehrr_categories.jsonl"),
            TESTBED: (TESTBED, ATTENTION_TASKS),
            "LiveMCPBench": (live, LIVE / "subtasks.jsonl"),
        }
        for name, (catalog, path) in sets.items():
            if not catalog:
                continue
            fit = console.middleware.calibrate(
                console.read_tasks(path), catalog=catalog, parameters=console.parameters("tool_attention")
            )
            paper = next(point for point in fit.points if point.theta == 0.28)
            report(
                f"threshold by F1, {name} ({fit.tasks} tasks)",
                {"theta": fit.best.theta, "F1": fit.best.f1, "F1 at 0.28": paper.f1, "recall at 0.28": paper.recall},
                "",
            )


@dataclass(frozen=True)
class Exclusion:
    """Poisoned tools among a catalog's, as shares of them in [0, 1]: `kept_out` of the active set of a benign query, on
    average; kept out of every query's (`never_in`); and kept out where somebody asks for just what a tool pretends to
    do (`when_asked_for`), which is the paper's "adversarial paraphrase"."""

    poisoned: int
    queries: int
    kept_out: float
    never_in: float
    when_asked_for: float


def poisoned_catalog(base: Catalog, path: Path = POISONED) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog with poisoned servers among its own, and the ids of their tools.

    Taken are the cases of one server: those of two show a name that imitates another.
    """
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    servers = [
        server | {"name": f"stranger-{number}"}
        for number, (server,) in enumerate(case["servers"] for case in cases if len(case["servers"]) == 1)
    ]
    strangers = read_document(json.dumps({"servers": servers}), source=path.name).servers
    ids = tuple(tool.id for server in strangers for tool in server.tools)
    return Catalog(f"{base.name} with strangers", (*base.servers, *strangers)), ids


def exclusion(console: Console, base: str, tasks: Sequence[Task], router: str, **settings: object) -> Exclusion:
    """How many of the poisoned tools benign queries bring before the model."""
    mixed, ids = poisoned_catalog(console.library.catalog(base))
    console.library.save(mixed, "for a measurement")
    shown = _shown(decisions(console, tasks, mixed.name, router, **settings), ids)
    pretended = [Task(tool, words(tool.partition("::")[2])) for tool in ids]
    asked_for = _shown(decisions(console, pretended, mixed.name, router, **settings), ids)
    return Exclusion(
        poisoned=len(ids),
        queries=len(tasks),
        kept_out=1 - fmean(len(found) for found in shown) / len(ids),
        never_in=1 - len(set().union(*shown)) / len(ids),
        when_asked_for=fmean(tool not in found for tool, found in zip(ids, asked_for, strict=True)),
    )


def _shown(made: Sequence[Decision], poisoned: Sequence[str]) -> list[set[str]]:
    return [{d.tools.ids[row] for row in d.candidates}.intersection(poisoned) for d in made]


def poisoning() -> None:
    """Benign queries, poisoned strangers (published: 46 of 50 kept out)."""
    with opened() as console:
        for base, path in ((TESTBED, ATTENTION_TASKS), (SAMPLE, sample_catalog.TASKS_DIR / "subtasks.jsonl")):
            tasks = [task for task in console.read_tasks(path) if task.relevant]
            for router in ("tool_attention", "simple_retrieval"):
                found = exclusion(console, base, tasks, router)
                report(
                    f"{router}: {found.poisoned} poisoned among {base}, {found.queries} queries",
                    {
                        "kept out": 100 * found.kept_out,
                        "never in": 100 * found.never_in,
                        "when asked for": 100 * found.when_asked_for,
                    },
                    "%",
                )
