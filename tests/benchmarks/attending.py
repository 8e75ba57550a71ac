"""Tool Attention beside its published figures: tokens on the 120-tool testbed, thresholds, poisoned descriptions kept out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

import sample_catalog
from core.app import App, Settings, open_app
from core.domain.catalog import words
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.importers.shipped_catalogs import SAMPLE
from core.lab.calibrations import fit_threshold_on_folds
from core.papers.tool_attention import VARIANTS, active_alone, reach, with_strangers
from core.routers.attention import MAX_TOKENS, shortened_description
from core.routers.parameters import VIEW_WEIGHTS
from sample_catalog.testbeds import ATTENTION_TASKS
from tests.benchmarks.measuring import ROOT, report

TESTBED = "attention-120"
POISONED = ROOT / "tests" / "lint" / "data" / "poisoned.jsonl"
LIVE = ROOT.parent / "shared" / "data" / "livemcpbench"


@contextmanager
def opened_app() -> Iterator[App]:
    """A console of which nothing is kept."""
    with open_app(Settings.from_environment(db=":memory:")) as app:
        yield app


def decisions(app: App, tasks: Sequence[Task], catalog: str, router: str, **settings: object) -> list[Decision]:
    """One decision for each task, by the retrieval of the paper."""
    chosen = app.routing.parameters(router, {"similarity": VIEW_WEIGHTS, **settings})
    return [
        app.routing.route(task.subtask, catalog=catalog, router=router, parameters=chosen, record=False)
        for task in tasks
    ]


def tokens() -> None:
    """The token column of the paper's main and ablation tables, counted on the testbed with its labelled tasks."""
    with opened_app() as app:
        tasks = [task for task in app.lab.read_tasks(ATTENTION_TASKS) if task.relevant]
        print(f"newly exposed tokens a turn, {len(tasks)} tasks on {TESTBED}; in brackets the cached prefix")
        for row in VARIANTS:
            made = decisions(app, tasks, TESTBED, row.router, **row.settings)
            exposed = fmean(decision.exposure.exposed for decision in made)
            saved = 100 * (1 - exposed / made[0].tokens["baseline"])
            print(
                f"{row.name:<24} {exposed:>9,.0f} [{made[0].exposure.cached:>5,}]  published {row.published:>6,}  "
                f"{saved:>5.1f} % under full schema, {100 * reach(made, tasks):>3.0f} % of the labelled tools shown"
            )


def states() -> None:
    """What preconditions save: the sample's sub-tasks asked by an agent that holds nothing (published: 2,462 to 2,368)."""
    nothing = {"scopes": "none", "outputs": "none", "milestones": "none"}
    with opened_app() as app:
        tasks = [task for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / "subtasks.jsonl") if task.relevant]
        for name, settings in (("ISO only", {"preconditions": False}), ("with preconditions", nothing)):
            made = decisions(app, tasks, SAMPLE, "tool_attention", **settings)
            figures = {
                "tokens": fmean(d.exposure.exposed for d in made),
                "held back": fmean(len(d.remarks) for d in made),
                "with one held back": sum(bool(d.remarks) for d in made),
            }
            report(f"{name}, {len(made)} tasks on {SAMPLE}, a turn", figures, "")


def thresholds() -> None:
    """The threshold that labelled tasks ask for (published: 0.22 to 0.32)."""
    with opened_app() as app:
        live = app.catalogs.open(str(LIVE / "tools.json")).name if LIVE.exists() else ""
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
            parameters = app.routing.parameters("tool_attention", {"similarity": VIEW_WEIGHTS})
            route = partial(
                app.routing.route, catalog=catalog, router="tool_attention", parameters=parameters, record=False
            )
            fit = fit_threshold_on_folds(
                app.lab.read_tasks(path), lambda task, of=route: of(task.subtask), k=10, today=0.28
            ).sweep
            paper = next(point for point in fit.points if point.theta == 0.28)
            report(
                f"threshold by F1, {name} ({fit.tasks} tasks)",
                {
                    "theta": fit.best.theta,
                    "F1": fit.best.f1,
                    "recall": fit.best.recall,
                    "active": fit.best.active,
                    "F1 at 0.28": paper.f1,
                    "recall at 0.28": paper.recall,
                    "active at 0.28": paper.active,
                },
                "",
            )


@dataclass(frozen=True)
class Exclusion:
    """How many poisoned tools stay out of the active set, each alone among a catalog's tools; shares in [0, 1].

    `kept_out`: of one benign query, on average over tools and queries, which is what the paper's pairs of a tool and an
    accompanying query amount to. `never_in`: of every benign query. `when_asked_for`: where somebody asks for just what
    the tool pretends to do, the paper's "adversarial paraphrase". `in_pool`: the share whose whole description stands in
    its summary, and so before the model at every turn, whatever the gate does; `in_short_pool`, with summaries of 20 tokens.
    """

    poisoned: int
    queries: int
    kept_out: float
    never_in: float
    when_asked_for: float
    in_pool: float
    in_short_pool: float


def exclusion(app: App, base: str, tasks: Sequence[Task], router: str) -> Exclusion:
    """How many of the poisoned tools benign queries bring before the model."""
    mixed, ids = with_strangers(app.catalogs.catalog(base), POISONED.read_text(encoding="utf-8").splitlines())
    app.catalogs.save(mixed, "for a measurement")
    shown = np.array([active_alone(d, ids) for d in decisions(app, tasks, mixed.name, router)])
    pretended = [Task(tool, words(tool.partition("::")[2])) for tool in ids]
    asked_for = np.array([active_alone(d, ids) for d in decisions(app, pretended, mixed.name, router)])
    strangers = [mixed.tools[mixed.tool_row[tool]] for tool in ids]
    whole = {
        n: fmean(shortened_description(t, n) == t.description.strip() for t in strangers) for n in (MAX_TOKENS, 20)
    }
    return Exclusion(
        poisoned=len(ids),
        queries=len(tasks),
        kept_out=float(1 - shown.mean()),
        never_in=float(1 - shown.any(axis=0).mean()),
        when_asked_for=float(1 - asked_for.diagonal().mean()),
        in_pool=whole[MAX_TOKENS],
        in_short_pool=whole[20],
    )


def poisoning() -> None:
    """Benign queries, poisoned strangers (published: 46 of 50 kept out)."""
    with opened_app() as app:
        for base, path in ((TESTBED, ATTENTION_TASKS), (SAMPLE, sample_catalog.TASKS_DIR / "subtasks.jsonl")):
            tasks = [task for task in app.lab.read_tasks(path) if task.relevant]
            for router in ("tool_attention", "simple_retrieval"):
                found = exclusion(app, base, tasks, router)
                report(
                    f"{router}: {found.poisoned} poisoned among {base}, {found.queries} queries",
                    {
                        "kept out": 100 * found.kept_out,
                        "never in": 100 * found.never_in,
                        "when asked for": 100 * found.when_asked_for,
                        "whole in phase 1": 100 * found.in_pool,
                        "with 20 tokens": 100 * found.in_short_pool,
                    },
                    "%",
                )
