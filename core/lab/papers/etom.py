"""ETOM: its five levels with four orchestrators on the sample's tasks, sizes, equal function sets, ToolShed's ablation, words in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.domain.task import Task
from core.lab.levels import LEVELS, LevelRun, run_levels
from core.lab.papers.etom_published import ABLATION, BACKBONE, PUBLISHED
from core.lab.papers.etom_tasks import OURS, THEIRS, equal_sets, overlap, sizes
from core.lab.papers.material import NEEDS_MODEL, SAMPLE, Material
from core.lab.papers.report import Chart, Column, Kind, Link, Row, Series, Table, Value, pair, rounded
from core.shared.errors import WayfareError

FILES = {
    "L1": "l1_direct",
    "L2": "l2_context",
    "L3": "l3_within_server",
    "L4": "l4_across_servers",
    "L5": "l5_out_of_scope",
}
ORCHESTRATORS = {"react": "ReAct", "toolshed": "ToolShed", "mcp_zero": "MCP-Zero", "hybrid": "Hybrid"}
BASELINE = "mcp_zero"
EVERY = 4  # of the tasks, in ToolShed's eight variants
COLUMNS = tuple(Column(level, f"{level} {'F1' if level in ('L3', 'L4') else 'EM'}", 2, "%") for level in LEVELS)
DIFFERS = (
    "Rules do not read: they cut questions, look parts up and take the best. L5 is furthest away: they refuse by thresholds that were fitted to "
    "other tasks (docs/decisions/0010-orchestrators.md)."
)
QUESTION = "Find the best long read on tides, boil it down to five points, and check its main claim"


def results(material: Material) -> tuple[tuple[Table, ...], tuple[Chart, ...]]:
    """Tables 2, 3, 5, 6, and the sizes of equal function sets."""
    tasks = {level: material.tasks(name) for level, name in FILES.items()}
    every = [task for of in tasks.values() for task in of]
    runs: dict[str, tuple[LevelRun, ...]] = {}
    for router, name in ORCHESTRATORS.items():
        material.say(f"ETOM: {name}, {len(every)} tasks")
        runs[router] = levels(material, router, every, {})
    main, ablation = _levels(material, runs, every), _ablation(material, every)
    return (sizes(tasks), main, _latency(runs), _others(), ablation, overlap(material, tasks), equal_sets()), (
        _bars(main),
        _breadth(ablation),
    )


def levels(
    material: Material, router: str, tasks: Sequence[Task], settings: Mapping[str, object]
) -> tuple[LevelRun, ...]:
    """A run for each level; the router may refuse."""
    return run_levels(router, tasks, lambda text: material.decide(text, SAMPLE, router, {"refuse": True, **settings}))


def scores(runs: Sequence[LevelRun]) -> dict[str, float]:
    """The paper's score of each level, in percent."""
    return {run.level: 100 * run.scores.get("f1", run.scores["em"]) for run in runs}


def _levels(material: Material, runs: Mapping[str, tuple[LevelRun, ...]], tasks: Sequence[Task]) -> Table:
    rows: list[Row] = []
    for router, name in ORCHESTRATORS.items():
        found, printed = scores(runs[router]), PUBLISHED[router, BACKBONE][0]
        values = {level: pair(theirs, found[level]) for level, theirs in zip(LEVELS, printed, strict=True)}
        rows.append(
            Row(name, Kind.OURS, values, link=Link("route", {"q": QUESTION}, router=router, settings={"refuse": True}))
        )
    rows += [_by_model(material, router, name, tasks) for router, name in ORCHESTRATORS.items()]
    return Table(
        "3", f"Table 3 · orchestrators by level ({BACKBONE})", "Exact match on L1, L2 and L5, F1 of the nodes of a plan on L3 and L4.", THEIRS, OURS,
        COLUMNS, tuple(rows), differs=DIFFERS, link=Link("compare", {"q": QUESTION, "with": "toolshed,mcp_zero"}),
    )  # fmt: skip


def _by_model(material: Material, router: str, name: str, tasks: Sequence[Task]) -> Row:
    label, model, nothing = f"{name}, by a model", material.model, dict.fromkeys(LEVELS, (None, None))
    if model is None:
        return Row(label, Kind.MODEL, nothing, why=NEEDS_MODEL)
    few = [
        task for level in LEVELS for task in material.asked_of_model([task for task in tasks if task.level == level])
    ]
    material.say(f"ETOM: {name}, {len(few)} tasks to {model.name}")
    try:
        found = scores(levels(material, router, few, {"planner": "model"}))
    except WayfareError as error:
        return Row(label, Kind.MODEL, nothing, why=f"The model did not answer: {error}", model=model.name)
    return Row(
        label,
        Kind.MODEL,
        {level: pair(None, found.get(level)) for level in LEVELS},
        why=f"{len(few)} of {len(tasks)} tasks.",
        model=model.name,
    )


def _latency(runs: Mapping[str, tuple[LevelRun, ...]]) -> Table:
    base = {run.level: run.latency_ms_p50 for run in runs[BASELINE]}
    columns = tuple(Column(level, level, 2, clocked=True) for level in LEVELS)
    rows: list[Row] = []
    for router, name in ORCHESTRATORS.items():
        ours = {run.level: run.latency_ms_p50 / base[run.level] for run in runs[router]}
        printed = PUBLISHED[router, BACKBONE][1]
        rows.append(
            Row(
                name,
                Kind.OURS,
                {level: pair(theirs, ours[level]) for level, theirs in zip(LEVELS, printed, strict=True)},
            )
        )
    return Table(
        "3-latency", "Table 3 · normalised latency", "The time of a decision over that of a baseline, level by level.",
        "a model's time; baseline MCP-Zero with Llama 3 8B", "median of our decisions with rules, measured; baseline MCP-Zero with rules", columns, tuple(rows),
        differs="Another baseline, and no model's time: what can be compared is the order of the four.",
    )  # fmt: skip


def _others() -> Table:
    rows = tuple(
        Row(f"{ORCHESTRATORS[router]}, {model}", Kind.MODEL, {level: (value, None) for level, value in zip(LEVELS, printed, strict=True)}, why=f"Needs {model}.")
        for (router, model), (printed, _) in PUBLISHED.items() if model != BACKBONE
    )  # fmt: skip
    return Table(
        "3-others",
        "Table 3 · the other models",
        "As printed.",
        "other models than above",
        "nothing: the row is the model",
        COLUMNS,
        rows,
    )


def _ablation(material: Material, tasks: Sequence[Task]) -> Table:
    columns = tuple(Column(level, f"{level} {'F1' if level == 'L4' else 'EM'}", 2, "%") for level in LEVELS)
    tasks, rows = tasks[::EVERY], list[Row]()
    for (k, expansions, reranked), printed in ABLATION.items():
        material.say(f"ETOM: ToolShed, k = {k}, {expansions} expansions, {reranked} reranked")
        settings: dict[str, bool | int | float | str] = {"k": k, "variations": expansions, "rerank_top_k": reranked}
        found = {
            run.level: 100 * run.scores["f1" if run.level == "L4" else "em"]
            for run in levels(material, "toolshed", tasks, settings)
        }
        values = {level: pair(theirs, found[level]) for level, theirs in zip(LEVELS, printed, strict=True)}
        rows.append(Row(f"k {k}, expansions {expansions}, reranked {reranked}", Kind.OURS, values,
            link=Link("route", {"q": QUESTION}, router="toolshed", settings={"refuse": True, **settings})))  # fmt: skip
    return Table(
        "6", "Tables 6, 7, Figure 7 · ToolShed's parameters", "How many tools come up (k), in how many other wordings, reranked or not.",
        THEIRS.replace(BACKBONE, "Llama 3 8B").partition(", the only")[0], OURS, columns, tuple(rows),
        differs=DIFFERS, link=Link("route", {"q": QUESTION}, router="toolshed"),
    )  # fmt: skip


def _bars(table: Table) -> Chart:
    rows = {row.name: row for row in table.rows}
    series = [
        Series(f"{name}, {whose}", tuple(LEVELS), tuple(_number(rows[name].values[level][side]) for level in LEVELS), theirs=side == 0)
        for name in ORCHESTRATORS.values() for side, whose in ((0, "paper"), (1, "ours"))
    ]  # fmt: skip
    return Chart(
        "levels",
        "Table 3 as a picture: score by level",
        table.about,
        "",
        "score, %",
        "bar",
        tuple(series),
        differs=DIFFERS,
        link=table.link,
    )


def _breadth(table: Table) -> Chart:
    """Figure 7: three expansions, reranked."""
    wide = [
        (float(k), row)
        for (k, expansions, reranked), row in zip(ABLATION, table.rows, strict=True)
        if (expansions, reranked) == (3, 10)
    ]
    series = [
        Series(f"{level}, {whose}", tuple(k for k, _ in wide), tuple(_number(row.values[level][side]) for _, row in wide), theirs=side == 0)
        for level in ("L1", "L2", "L4") for side, whose in ((0, "paper"), (1, "ours"))
    ]  # fmt: skip
    return Chart(
        "fig7",
        "Figure 7: ToolShed over k, the tools that come up",
        table.about,
        "k",
        "score, %",
        "line",
        tuple(series),
        differs=DIFFERS,
        link=table.link,
    )


def _number(value: Value) -> float | None:
    return rounded(float(value)) if isinstance(value, float | int) else None
