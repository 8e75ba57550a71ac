"""PA-RAG beside its baselines and without its parts: precision, recall and F1 per query, averaged; rerankers; argument check.

What is measured are all tools that a router returns for a question, best first, each once. A step of the plan is met by its tool or
one of the equal ones, and a tool meets one step (`core.lab.levels`). LiveMCPBench has no plans: each tool that was used is a step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

import sample_catalog
from core.app import App, build_app
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.importers.shipped_catalogs import SAMPLE
from core.lab.levels import node_set_f1, node_set_precision, node_set_recall
from core.papers import pa_rag
from core.papers.pa_rag import PUBLISHED
from core.planning.base import SubQuery
from core.planning.literals import QuestionLiterals, missing_arguments
from core.planning.rules import RulesPlanner
from core.routers.pa_rag import PaRag
from tests.benchmarks.attending import LIVE
from tests.benchmarks.levelling import Variant, asking, live_questions, opened_store
from tests.benchmarks.measuring import percentile

VARIANTS = (
    *(Variant(name, router, dict(settings)) for name, (router, settings) in pa_rag.VARIANTS.items()),
    Variant("B2 without memory", "agentic_rag", {"memory": 0}),
)
RERANKED = (
    Variant("none", "pa_rag", {"reranker": "none"}),
    *(
        Variant(f"{reranker}, share {share}", "pa_rag", {"reranker": reranker, "rerank_share": share})
        for reranker in ("late", "lexical", "fusion")
        for share in (0.5, 1.0)
    ),
)
MEASURES = (node_set_precision, node_set_recall, node_set_f1)
RANDOM_TOOLS = 5


@dataclass(frozen=True)
class Set:
    """Labelled questions over one catalog."""

    name: str
    catalog: str
    tasks: Sequence[Task]


def labelled_sets(app: App) -> list[Set]:
    """The sample's two sets, and LiveMCPBench's questions by the number of servers that they need."""
    found = [
        Set(name, SAMPLE, app.lab.read_tasks(sample_catalog.TASKS_DIR / f"pa_rag_{name}.jsonl"))
        for name in ("simple", "complex")
    ]
    if LIVE.exists():
        catalog = app.catalogs.open(str(LIVE / "tools.json")).name
        many = {task.id: len({tool.partition("::")[0] for tool in task.relevant}) > 2 for task in live_questions()}
        for name, wanted in (("live, 1-2 servers", False), ("live, 3 and more", True)):
            found.append(Set(name, catalog, [task for task in live_questions() if many[task.id] is wanted]))
    return found


def returned(decision: Decision) -> list[str]:
    """All candidates, best first."""
    return [decision.tools.ids[row] for row in decision.candidates]


def cascading() -> None:
    """Every variant over every set."""
    _table(VARIANTS)
    for name, (simple, complex_, _) in PUBLISHED[pa_rag.BACKBONE].items():
        print(
            f"{name + ', published':<28}"
            + "".join("  P {:5.1f} R {:5.1f} F1 {:5.1f}         ".format(*s[:3]) for s in (simple, complex_))
        )


class PlannedParts(RulesPlanner):
    """Rules, but for the parts of a question: those of its labelled plan, in the words of a model."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._parts = {_text(task): tuple(SubQuery(step.subtask, step.needs) for step in task.plan) for task in tasks}

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """The plan's sub-tasks."""
        return self._parts[question][:limit]


def wording() -> None:
    """What the cascade finds where the parts are cut and worded as in the labelled plans: what is left to the decomposer."""
    with opened_store() as store:
        app = build_app(store)
        context = app.catalogs.context(SAMPLE)
        for one in labelled_sets(app)[:2]:
            router = PaRag({"rules": PlannedParts(one.tasks)})
            for settings in ({}, {"hierarchy": False}, {"reranker": "none"}, {"n": 1}):
                chosen = PaRag.parameters().replaced({"path": "complex", **settings})
                found = [returned(router.route(_text(task), context, chosen)) for task in one.tasks]
                print(
                    f"parts of the plan, {one.name:<8} {settings or ''!s:<24}{_figures(found, one.tasks)}",
                    flush=True,
                )


def reranking() -> None:
    """PA-RAG with each reranker that needs no model of the user."""
    _table(RERANKED)


def arguments() -> None:
    """How often the argument check speaks at the right tool, and at tools drawn at random: the further apart the better."""
    with opened_store() as store:
        app = build_app(store)
        tasks = [task for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / "l2_context.jsonl") if task.relevant]
        single = [task for task in live_questions() if len(task.relevant) == 1] if LIVE.exists() else []
        live = app.catalogs.open(str(LIVE / "tools.json")).name if single else SAMPLE
        for name, catalog, asked in (("sample, L2", SAMPLE, tasks), ("LiveMCPBench, one tool", live, single)):
            if asked:
                right, drawn = _flagged(app, catalog, asked)
                print(f"argument check, {name:<24} right tool {100 * right:.1f} %, random tool {100 * drawn:.1f} %")


def _text(task: Task) -> str:
    return task.question or task.subtask


def _table(variants: Sequence[Variant]) -> None:
    with opened_store() as store:
        app = build_app(store)
        sets = labelled_sets(app)
        print("planner of rules; precision, recall, F1, tools a query, p50 ms without embedding")
        print(" " * 28 + "".join(f"{f'{one.name} ({len(one.tasks)})':<37}" for one in sets))
        for variant in variants:
            print(f"{variant.name:<28}" + "".join(_cell(app, variant, one) for one in sets), flush=True)
            if variant.router == "naive_rag":
                print(
                    f"{'  with as many tools':<28}" + "".join(_as_many(app, variant, one) for one in sets),
                    flush=True,
                )


def _cell(app: App, variant: Variant, one: Set) -> str:
    route = asking(app, variant, one.catalog)
    made = [route(_text(task)) for task in one.tasks]
    times = sorted(decision.timings_ms["score"] for decision in made)
    return _figures([returned(decision) for decision in made], one.tasks) + f" {percentile(times, 0.5):5.1f} ms"


def _as_many(app: App, naive: Variant, one: Set) -> str:
    """The best tools of the flat ranking, as many for each question as PA-RAG returns: what a wider cut alone would give."""
    flat, pa_rag = (asking(app, variant, one.catalog) for variant in (naive, VARIANTS[0]))
    found = [_best(flat, len(pa_rag(text).candidates), text) for text in map(_text, one.tasks)]
    return _figures(found, one.tasks) + " " * 9


def _best(route: Callable[[str], Decision], count: int, text: str) -> list[str]:
    decision = route(text)
    return [decision.tools.ids[row] for row in np.argsort(-decision.tools.utility, kind="stable")[:count]]


def _figures(found: Sequence[Sequence[str]], tasks: Sequence[Task]) -> str:
    means = [100 * fmean(map(measure, found, tasks)) for measure in MEASURES]
    return "  P {:5.1f} R {:5.1f} F1 {:5.1f} {:4.1f}".format(*means, fmean(map(len, found)))


def _flagged(app: App, catalog: str, tasks: Sequence[Task]) -> tuple[float, float]:
    tools = {tool.id: tool.input_schema for tool in app.catalogs.catalog(catalog).tools}
    draw = random.Random(1)
    right: list[bool] = []
    drawn: list[bool] = []
    for task in tasks:
        said = QuestionLiterals.of(_text(task))
        right.append(bool(missing_arguments(tools[task.relevant[0]], said)))
        drawn += [bool(missing_arguments(tools[name], said)) for name in draw.sample(sorted(tools), RANDOM_TOOLS)]
    return fmean(right), fmean(drawn)
