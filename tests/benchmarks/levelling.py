"""ETOM's levels per orchestrator with the planner of rules, beside the published figures; and decision time per router."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import sample_catalog
from core.app import App, build_app
from core.domain.decision import Decision
from core.domain.tasks import Step, Task
from core.importers.shipped_catalogs import SAMPLE
from core.lab.levels import LEVELS, LevelRun, run_levels
from core.papers.etom import BACKBONE, BASELINE, ORCHESTRATORS, PUBLISHED
from core.routers import ROUTERS
from core.store import Store
from tests.benchmarks.attending import LIVE
from tests.benchmarks.measuring import percentile

TIMED = 100


@dataclass(frozen=True)
class Variant:
    """A router with settings, as a line of the table."""

    name: str
    router: str
    settings: dict[str, object]


VARIANTS = (
    *(Variant(name, name, {"refuse": True}) for name in ORCHESTRATORS),
    Variant("toolshed, not taken apart", "toolshed", {"refuse": True, "decompose": False}),
    Variant("toolshed, no variations", "toolshed", {"refuse": True, "variations": 0}),
    Variant("toolshed, not reranked", "toolshed", {"refuse": True, "reranker": "none"}),
    Variant("ehrr, for comparison", "ehrr", {}),
    Variant("rag_mcp, for comparison", "rag_mcp", {}),
)


@contextmanager
def opened_store() -> Iterator[Store]:
    """A store of which nothing is kept. Consoles over it share the catalogs' vectors, and each embeds its questions anew."""
    store = Store(None)
    try:
        yield store
    finally:
        store.close()


def asking(app: App, variant: Variant, catalog: str) -> Callable[[str], Decision]:
    """What a variant decides for a question."""
    chosen = app.routing.parameters(variant.router, variant.settings)
    return lambda text: app.routing.route(text, catalog=catalog, router=variant.router, parameters=chosen, record=False)


def labelled(app: App) -> list[Task]:
    """The sample's tasks of all five levels."""
    paths = sorted(sample_catalog.TASKS_DIR.glob("l[1-5]_*.jsonl"))
    return [task for path in paths for task in app.lab.read_tasks(path)]


def live_questions() -> list[Task]:
    """LiveMCPBench's questions, with the tools that were used for each as its nodes: like level 4, without equal sets."""
    lines = (LIVE / "subtasks.jsonl").read_text(encoding="utf-8").splitlines()
    by_question = {row["question"]: row["relevant"] for row in map(json.loads, lines)}
    return [
        Task(f"live-{number}", question, relevant=tuple(tools), level="L4", plan=tuple(map(Step, tools)))
        for number, (question, tools) in enumerate(by_question.items())
    ]


def levels() -> None:
    """Every orchestrator over the sample's five levels, and over LiveMCPBench's questions."""
    with opened_store() as store:
        tasks = labelled(build_app(store))
        counts = ", ".join(f"{sum(task.level == level for task in tasks)} {level}" for level in LEVELS)
        print(f"ETOM's levels on the sample, planner of rules ({counts}); in brackets time against {BASELINE}")
        base = {run.level: run for run in _measured(store, Variant("", BASELINE, {"refuse": True}), tasks)}
        for variant in VARIANTS:
            print(_line(variant, _measured(store, variant, tasks), base) + _live(store, variant), flush=True)
        for name in ORCHESTRATORS:
            figures = PUBLISHED[name, BACKBONE][0]
            print(f"{name + ', published':<28}" + "".join(f"{figure:>15.1f}" for figure in figures))


def _measured(store: Store, variant: Variant, tasks: Sequence[Task]) -> tuple[LevelRun, ...]:
    app = build_app(store)  # closing it would close the store
    app.routing.route("warm up", record=False)
    return run_levels(variant.router, tasks, asking(app, variant, SAMPLE))


def _line(variant: Variant, runs: Sequence[LevelRun], base: dict[str, LevelRun]) -> str:
    cells = (
        f"{100 * run.scores.get('f1', run.scores['em']):>8.1f} [{run.latency_ms_p50 / base[run.level].latency_ms_p50:.1f}]"
        for run in runs
    )
    whole = " / ".join(f"{100 * run.scores['em']:.1f}" for run in runs if "f1" in run.scores)
    return f"{variant.name:<28}" + "".join(f"{cell:>15}" for cell in cells) + f"   whole plans {whole} %"


def _live(store: Store, variant: Variant) -> str:
    if not LIVE.exists():
        return ""
    app = build_app(store)
    catalog = app.catalogs.open(str(LIVE / "tools.json")).name
    (run,) = run_levels(variant.router, live_questions(), asking(app, variant, catalog))
    return f", LiveMCPBench F1 {100 * run.scores['f1']:.1f}"


def times() -> None:
    """Decision time without embedding, by router: the sample's sub-tasks, and whole questions of several steps."""
    with opened_store() as store:
        app = build_app(store)
        short = [task.subtask for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / "subtasks.jsonl")[:TIMED]]
        long = [task.question for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / "l4_across_servers.jsonl")]
        tools = len(app.catalogs.catalog(SAMPLE).tools)
        print(
            f"decision time at {tools} tools, vectors given, planner of rules   (to reach: p50 15 ms without reranking)"
        )
        for router in ROUTERS:
            route = asking(app, Variant(router, router, {}), SAMPLE)
            figures = [_scored_ms(route, texts) for texts in (short, long)]
            said = ", ".join(
                f"{kind} p50 {percentile(found, 0.5):.2f} p90 {percentile(found, 0.9):.2f} ms"
                for kind, found in zip(("sub-tasks", "questions"), figures, strict=True)
            )
            print(f"{router:<20} {said}", flush=True)


def _scored_ms(route: Callable[[str], Decision], texts: Sequence[str]) -> list[float]:
    """The time of each decision without what was spent on embedding, sorted; the first one warms up."""
    route(texts[0])
    return sorted(route(text).timings_ms["score"] for text in texts)
