"""EHRR's experiments without a model, on the sample: its 95 tasks of six categories are routed and played out.

`core.lab.execution` plays them: a task is split into sub-tasks by rules, each is routed once, candidates are tried in order, and a task
is solved if all of its steps are. The baselines get the person's whole question, as in the paper (section V.A). The paper has a model
that loops over ROUTE and EXECUTE, and another model that judges the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import fmean

import numpy as np

from core.domain.decision import Decision
from core.domain.tasks import Task
from core.lab.benchmark import score_tasks
from core.lab.execution import ROUNDS, ExecutionRun, Playing, play, sub_tasks
from core.lab.execution import Routed as Played
from core.papers.ehrr import CATEGORIES, INVALID_CALLS, SPENT, SUCCESS_RATES, bounds, mechanisms
from core.papers.material import SAMPLE, Material
from core.papers.recovery import CURES, WORLDS, recovery
from core.papers.report import Chart, Column, Kind, Link, Row, Series, Settings, Table, Value, bars, ours, pair, rounded
from core.routers.presets import DEFAULT_PRESET

# Tasks, routed once each and played out

S_PER_USD, SEEDS = 1000.0, 20
THEIRS = (
    "81 servers, 810 tools, 95 tasks of existing benchmarks; a model that routes and calls, DeepSeek-v3 as the judge"
)
PLAYED = "the sample (81 servers, 950 tools) and our 95 tasks; one routing a sub-task, a baseline's of the whole question; solved if all steps are; played out without a model, 20 seeds"
DIFFERS = (
    "Tasks, tools, prices and the encoder (MiniLM for Qwen3-Embedding-0.6B) are others, rules split a task, nobody routes again, and success is "
    "drawn from declared reliability instead of being judged. Compare the routers with each other, not our level with theirs. With Table V's αt = 0.25 a second outweighs a quarter of all "
    "similarity, more than what parts right from wrong for MiniLM: EHRR then solves less than similarity alone, and with Wayfare's defaults more. The encoder of the defaults was tuned on these tasks."
)
LAB = Link("lab", {"catalog": SAMPLE, "tasks": "EHRR's categories"}, router="ehrr", preset="paper")
MINE, ALIKE = "EHRR, our defaults", "RAG-MCP, our relevance"
ROUTERS = {  # name: router, preset, whether it gets the whole question
    "EHRR": ("ehrr", "paper", False),
    "RAG-MCP": ("rag_mcp", "paper", True),
    "Baseline": ("full_catalog", "paper", True),
    MINE: ("ehrr", DEFAULT_PRESET, False),
    ALIKE: ("rag_mcp", DEFAULT_PRESET, False),
}


@dataclass(frozen=True)
class Routed:
    """The decisions of one router for all tasks and their sub-tasks, by id. With `whole` it got whole questions without hints."""

    tasks: Sequence[Task]
    decisions: Mapping[str, Decision]
    whole: bool = False

    @classmethod
    def of(
        cls, material: Material, tasks: Sequence[Task], router: str, preset: str = "paper",
        settings: Settings | None = None, *, whole: bool = False,
    ) -> Routed:  # fmt: skip
        def decide(task: Task) -> Decision:
            text, hint = (task.question or task.subtask, "") if whole else (task.subtask, task.server_hint)
            return material.decide(text, SAMPLE, router, settings, hint=hint, preset=preset)

        empty = cls(tasks, {}, whole)
        tasks_by_id = {part.id: part for task in tasks for part in (task, *empty.parts(task))}
        return replace(empty, decisions={id_: decide(task) for id_, task in tasks_by_id.items()})

    def parts(self, task: Task) -> tuple[Task, ...]:
        return (task,) if self.whole else sub_tasks(task)

    def played(self, material: Material, category: str = "") -> ExecutionRun:
        chosen_tasks = [task for task in self.tasks if task.relevant and category in ("", task.category)]
        playing = Playing(ROUNDS, SEEDS, s_per_usd=S_PER_USD, split=not self.whole)
        routed = [Played.of(part, self.decisions[part.id]) for part in playing.routed(chosen_tasks)]
        return play("", chosen_tasks, routed, material.context(SAMPLE), playing)

    def quality(self) -> dict[str, float]:
        """MRR over ten candidates and recall@3."""
        ranked = [[d.tools.ids[row] for row in d.candidates] for d in (self.decisions[task.id] for task in self.tasks)]
        measures = score_tasks(self.tasks, ranked)[1]
        return {"mrr": measures["mrr"], "recall": measures["recall@3"]}


# Ablations, Figures 14 and 15: EHRR without its parts, and with a model's sub-tasks

ABLATIONS: Mapping[str, tuple[Settings, str, tuple[Value, Value, Value]]] = {
    "Full": ({}, "paper", (0.41, 0.52, 37.7)),
    "w/o Auction": ({"auction": False}, "paper", (0.34, None, 31.0)),
    "w/o Execution": ({"execution_signals": False}, "paper", (0.30, None, None)),
    "w/o Hierarchical": ({"hierarchy": False}, "paper", (0.2722, None, 24.1)),
    "Full, Wayfare's defaults": ({}, DEFAULT_PRESET, (None, None, None)),
}


def ablation(material: Material, tasks: Sequence[Task]) -> Table:
    def measured(preset: str, settings: Settings, chosen_tasks: Sequence[Task]) -> dict[str, float]:
        routed = Routed.of(material, chosen_tasks, "ehrr", preset, {"n": 10, **settings})
        return {**routed.quality(), "sr": 100 * routed.played(material).success_rate.mean}

    rows: list[Row] = []
    for name, (settings, preset, printed) in ABLATIONS.items():
        scores = measured(preset, settings, tasks)
        published: dict[str, Value] = dict(zip(("mrr", "recall", "sr"), printed, strict=True))
        link = Link("lab", LAB.query, router="ehrr", preset=preset, settings=settings)
        rows.append(ours(name, scores, published, link=link))
    model_tasks = material.asked_of_model(tasks)
    rows.append(
        material.by_model(
            "Full, sub-tasks written by a model", ("mrr", "recall", "sr"), f"{len(model_tasks)} of {len(tasks)} tasks.",
            f"EHRR: {len(model_tasks)} sub-tasks",
            lambda model: measured(
                "paper", {}, [replace(task, subtask=model.rewrite(task.question or task.subtask)) for task in model_tasks]
            ),
        )
    )  # fmt: skip
    columns = (Column("mrr", "MRR", 2), Column("recall", "Recall@3", 2), Column("sr", "Success rate", 1, "%"))
    return Table(
        "ablation", "Figures 14, 15 · ablations", "EHRR without its parts. Where the paper gives no figure in its text there is none here.",
        THEIRS, PLAYED + "; ranked to ten", columns, tuple(rows),
        differs="In the paper every part helps. " + DIFFERS,
        link=LAB,
    )  # fmt: skip


# All tables and charts


def experiments(material: Material) -> tuple[tuple[Table, ...], tuple[Chart, ...]]:
    """Tables IV, VI, VII, VIII, Figures 2 to 15 as far as possible, and recovery after an outage."""
    tasks = material.tasks("ehrr_categories")
    material.say(f"EHRR: 95 tasks by {len(ROUTERS)} routers")
    routed = {
        name: Routed.of(material, tasks, router, preset, {"n": 3}, whole=whole)
        for name, (router, preset, whole) in ROUTERS.items()
    }
    runs = {(name, group): run.played(material, group) for name, run in routed.items() for group in ("", *CATEGORIES)}
    material.say("EHRR: ablations")
    parts = ablation(material, tasks)
    material.say(f"EHRR: recovery after an outage, {WORLDS} worlds of 1,000 calls for each of {len(CURES)} cures")
    back, curves = recovery()
    rates = _by_category(
        "VI", "Table VI, Figures 2, 3 · success rate", SUCCESS_RATES, runs, 3, lambda run, _: run.success_rate.mean
    )
    steps = _by_category(
        "VI-steps", "Solved steps (ours)", {}, runs, 3, lambda run, _: run.step_success_rate.mean,
    )  # fmt: skip
    calls = _by_category(
        "VII", "Table VII, Figures 4, 5 · invalid route and tool calls", INVALID_CALLS, runs, 1,
        lambda run, count: run.invalid_calls.mean * count,
    )  # fmt: skip
    charts = (_bars(rates), *_cumulative(material, tasks, routed), _utilities(material, tasks, routed), curves)
    proved = bounds([[routed["EHRR"].decisions[part.id] for part in routed["EHRR"].parts(task)] for task in tasks])
    spent_table, mechanism_table = _spent(routed, runs), mechanisms(material)
    return (_distribution(tasks), rates, steps, calls, spent_table, parts, mechanism_table, proved, back), charts


def _distribution(tasks: Sequence[Task]) -> Table:
    rows = [
        ours(name, {"n": float(sum(t.category == name for t in tasks))}, {"n": float(count)})
        for name, count in CATEGORIES.items()
    ]
    return Table(
        "IV", "Table IV · tasks by category", "How many tasks each category has.", "tasks of existing benchmarks",
        "95 tasks written for the sample", (Column("n", "Tasks", 0),), tuple(rows),
        differs="The same distribution; the tasks themselves are ours, as the paper's are not printed.", link=LAB,
    )  # fmt: skip


def _by_category(
    id_: str, title: str, published: Mapping[str, tuple[Mapping[str, float], float]],
    runs: Mapping[tuple[str, str], ExecutionRun], digits: int, measure: Callable[[ExecutionRun, int], float],
) -> Table:  # fmt: skip
    rows: list[Row] = []
    for category in (*CATEGORIES, ""):
        values: dict[str, tuple[Value, Value]] = {
            model: pair(rates[category] if category else overall, None) for model, (rates, overall) in published.items()
        }
        count = CATEGORIES.get(category, sum(CATEGORIES.values()))
        values |= {name: pair(None, measure(runs[name, category], count)) for name in ROUTERS}
        rows.append(Row(category or "Overall", Kind.OURS, values))
    columns = (
        *(Column(model, f"EHRR, {model}", digits) for model in published),
        *(Column(name, name, digits) for name in ROUTERS),
    )
    about = "Ours are routers without a model." + (" Their two columns are EHRR with two models." if published else "")
    return Table(id_, title, about, THEIRS, PLAYED, columns, tuple(rows), differs=DIFFERS, link=LAB)


def _spent(routed: Mapping[str, Routed], runs: Mapping[tuple[str, str], ExecutionRun]) -> Table:
    names = tuple(ROUTERS)
    rows = [
        Row(name, Kind.MODEL, dict(zip(names, (pair(value, None) for value in spent), strict=False)), why="Whole dialogues of a model.")
        for name, (spent, _) in SPENT.items()
    ]  # fmt: skip
    count = sum(CATEGORIES.values())
    rows += [
        ours("Ours, tokens", {name: float(sum(_tokens(routed[name]))) for name in names}),
        ours("Ours, USD", {name: runs[name, ""].usd_per_task.mean * count for name in names}),
    ]
    return Table(
        "VIII", "Table VIII · tokens and tool cost of all tasks", "What candidates put before a model, and what the tools that are tried cost.",
        THEIRS, PLAYED + "; tokens of the definitions, counted with cl100k_base", tuple(Column(name, name, 2) for name in names), tuple(rows),
        differs="Ours counts one turn a task, theirs every turn of a dialogue. " + DIFFERS, link=LAB,
    )  # fmt: skip


def _tokens(routed: Routed) -> list[int]:
    exposures = [[routed.decisions[part.id].exposure for part in routed.parts(task)] for task in routed.tasks]
    return [sum(exposure.exposed + exposure.cached for exposure in task_exposures) for task_exposures in exposures]


def _bars(table: Table) -> Chart:
    names = tuple(row.name for row in table.rows)
    series = [Series(f"EHRR, {m} (paper)", names, _side(table, m, 0), theirs=True) for m in SUCCESS_RATES]
    series += [Series(f"{name}, ours", names, _side(table, name, 1)) for name in ROUTERS]
    title = "Figures 2, 3: success rate by category"
    return bars("fig2", title, table.about, "success rate", series, differs=DIFFERS, link=LAB)


def _side(table: Table, key: str, side: int) -> tuple[float | None, ...]:
    values = [row.values[key][side] for row in table.rows]
    return tuple(value if isinstance(value, float) else None for value in values)


def _cumulative(material: Material, tasks: Sequence[Task], routed: Mapping[str, Routed]) -> tuple[Chart, Chart]:
    numbers = tuple(float(number + 1) for number in range(len(tasks)))
    tokens = [Series(name, numbers, tuple(map(float, accumulate(_tokens(run))))) for name, run in routed.items()]
    prices = material.context(SAMPLE).statistics.tools.price_usd
    usd: list[Series] = []
    for name, run in routed.items():
        first = [[row for part in run.parts(task) for row in run.decisions[part.id].candidates[:1]] for task in tasks]
        spent = accumulate(float(np.nan_to_num(prices[rows]).sum()) for rows in first)
        usd.append(Series(name, numbers, tuple(rounded(value) for value in spent)))
    about = "In the order of the file, by category. The paper's lines are pictures without figures."
    return (
        Chart("fig6", "Figures 6, 7: tokens so far", about, "tasks", "tokens", "line", tuple(tokens), log_y=True, differs=DIFFERS, link=LAB),
        Chart("fig8", "Figures 8, 9: price of the winners so far", about, "tasks", "USD", "line", tuple(usd), differs=DIFFERS, link=LAB),
    )  # fmt: skip


def _utilities(material: Material, tasks: Sequence[Task], routed: Mapping[str, Routed]) -> Chart:
    """U of (7) of the winners, for all routers by EHRR's formula over a flat ranking."""
    flat = Routed.of(material, tasks, "ehrr", settings={"hierarchy": False, "auction": False})
    series: list[Series] = []
    for name, run in routed.items():
        means: list[float | None] = []
        for category in CATEGORIES:
            ids = [task.id for task in tasks if task.category == category and run.decisions[task.id].candidates]
            utilities = [float(flat.decisions[id_].tools.utility[run.decisions[id_].candidates[0]]) for id_ in ids]
            means.append(rounded(fmean(utilities)) if utilities else None)
        series.append(Series(name, tuple(CATEGORIES), tuple(means)))
    about = "Utility (7) of the tool that each router puts first, by the parameters of Table V. The paper's bars are a picture."
    title = "Figures 10 to 13: average utility by category"
    return bars("fig12", title, about, "utility U", series, differs=DIFFERS, link=LAB)
