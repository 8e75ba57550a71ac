"""ETOM on the sample: five levels with four orchestrators, sizes, equal function sets, ToolShed's ablation, common words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean

import sample_catalog
from core.domain.catalog import words
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.lab.execution import predicted_tools
from core.lab.levels import LEVELS, LevelRun, run_levels
from core.papers import etom_figures as figures
from core.papers.etom_figures import meteor
from core.papers.material import SAMPLE, Material
from core.papers.report import Chart, Column, Kind, Link, Row, Series, Settings, Table, bars, number, ours, pair

# Tables 3 and 6 as printed

BACKBONE = "Qwen3-4B-Instruct-2507"  # the only model that all four orchestrators were run with

# Table 3: exact match (L1, L2, L5) and F1 (L3, L4) in percent, then latency over that of MCP-Zero with Llama 3, level by level
PUBLISHED: Mapping[tuple[str, str], tuple[tuple[float, ...], tuple[float | None, ...]]] = {
    ("mcp_zero", "Qwen3-4B-Instruct-2507"): ((69.01, 43.02, 46.85, 30.42, 74.72), (0.89, 0.59, 5.64, 6.5, 0.22)),
    ("mcp_zero", "Qwen3-8B"): ((65.68, 31.56, 48.16, 33.95, 62.63), (3.14, 3.6, 3.87, 3.73, 3.86)),
    ("mcp_zero", "Minstral-8B-Instruct-2410"): ((46.99, 23.67, 39.65, 25.99, 51.6), (1.29, 1.24, 1.43, 1.71, 0.7)),
    ("mcp_zero", "GPT-4.1"): ((63.38, 31.82, 53.12, 34.2, 80.29), (None, None, None, None, None)),
    ("mcp_zero", "Gemma-3-12B-IT"): ((70.55, 33.5, 49.7, 32.43, 65.93), (1.73, 1.56, 1.71, 1.99, 0.75)),
    ("mcp_zero", "Microsoft Phi-4"): ((38.79, 19.01, 53.97, 33.98, 69.23), (3.54, 3.37, 3.31, 3.42, 2.58)),
    ("mcp_zero", "Meta-Llama-3-8B-Instruct"): ((48.08, 19.25, 38.04, 25.7, 39.56), (1.0, 1.0, 1.0, 1.0, 1.0)),
    ("toolshed", "Qwen3-4B-Instruct-2507"): ((72.72, 51.87, 69.41, 37.45, 70.32), (3.31, 3.58, 5.38, 5.26, 2.22)),
    ("toolshed", "Qwen3-8B"): ((80.65, 53.29, 77.45, 44.96, 76.92), (11.63, 11.33, 15.74, 15.31, 11.25)),
    ("toolshed", "Minstral-8B-Instruct-2410"): ((64.66, 43.46, 82.36, 50.98, 45.05), (7.86, 8.24, 10.15, 8.68, 4.7)),
    ("toolshed", "GPT-4.1"): ((69.91, 49.02, 82.55, 55.06, 81.31), (None, None, None, None, None)),
    ("toolshed", "Gemma-3-12B-IT"): ((80.66, 56.79, 73.96, 47.29, 60.43), (7.89, 7.87, 11.8, 12.19, 6.07)),
    ("toolshed", "Microsoft Phi-4"): ((38.66, 28.71, 81.85, 49.67, 67.03), (15.12, 14.54, 14.52, 14.81, 11.93)),
    ("toolshed", "Meta-Llama-3-8B-Instruct"): ((57.03, 42.12, 74.34, 50.77, 27.4), (5.22, 6.02, 5.22, 5.68, 6.65)),
    ("react", "Qwen3-4B-Instruct-2507"): ((41.43, 19.76, 33.61, 6.74, 72.5), (8.8, 8.65, 6.75, 10.54, 12.18)),
    ("hybrid", "Qwen3-4B-Instruct-2507"): ((68.62, 60.2, 56.91, 26.78, 74.72), (3.61, 3.68, 3.63, 2.37, 1.58)),
    ("hybrid", "Meta-Llama-3-8B-Instruct"): ((48.08, 39.79, 50.89, 21.61, 14.28), (4.74, 4.39, 6.07, 5.48, 4.94)),
}  # fmt: skip

# Table 6, ToolShed with Llama 3 8B: (k, query expansions, reranked) and L1, L2, L3 exact match, L4 F1, L5 exact match in percent
ABLATION: Mapping[tuple[int, int, int], tuple[float, ...]] = {
    (5, 3, 10): (57.03, 42.12, 46.17, 50.77, 14.56),
    (5, 0, 10): (57.03, 41.60, 50.76, 47.11, 11.65),
    (1, 0, 10): (45.78, 36.56, 36.08, 37.91, 4.85),
    (5, 3, 1): (54.09, 42.50, 44.95, 46.78, 10.67),
    (10, 3, 10): (56.64, 40.69, 47.40, 50.95, 13.59),
    (15, 3, 10): (55.88, 43.15, 48.31, 49.55, 14.56),
    (20, 3, 10): (57.80, 35.91, 50.15, 52.11, 10.67),
    (25, 3, 10): (56.01, 33.72, 47.70, 45.54, 12.62),
}


# Tasks and tools beside the sample's: sizes (Table 2), common words (Table 5), equal function sets (section 3.2) ---

THEIRS = f"491 servers, 2,375 tools, 2,075 tasks; {BACKBONE}, the only model that all four were run with"
OURS = "the sample (81 servers, 950 tools) and 667 tasks of five levels; rules in the model's place"
SIZES = {  # Table 2: tasks, mean length of a plan, mean number of servers
    "L1": (781, 1.00, 1.00), "L2": (773, 1.00, 1.00), "L3": (327, 2.87, 1.00), "L4": (103, 3.83, 3.78), "L5": (91, 0.00, 0.00),
}  # fmt: skip


def sizes(tasks: Mapping[str, Sequence[Task]]) -> Table:
    rows: list[Row] = []
    for level, (count, length, servers) in SIZES.items():
        plans = [task.plan for task in tasks[level]]
        server_counts = [len({step.tool.partition("::")[0] for step in plan}) for plan in plans]
        single = level in ("L1", "L2")  # a single tool is the whole plan
        rows.append(Row(level, Kind.OURS, {
            "n": pair(float(count), float(len(plans))), "steps": pair(length, 1.0 if single else fmean(map(len, plans))),
            "servers": pair(servers, 1.0 if single else fmean(server_counts)),
        }))  # fmt: skip
    total = sum(count for count, _, _ in SIZES.values())
    rows.append(Row("all, by their table", Kind.EXACT, {"n": (2075.0, float(total))}))
    return Table(
        "2", "Table 2 · tasks of the five levels", "How many tasks, how long their plans are, and over how many servers.", THEIRS, OURS,
        (Column("n", "Tasks", 0), Column("steps", "Plan length", 2), Column("servers", "Servers", 2)), tuple(rows),
        link=Link("lab", {"catalog": SAMPLE, "tasks": "ETOM, level 2"}),
    )  # fmt: skip


def overlap(material: Material, tasks: Mapping[str, Sequence[Task]]) -> Table:
    descriptions = {tool.id: tool.description for tool in material.context(SAMPLE).catalog.tools}
    published = {"L1": (0.337, 0.337), "L2": (0.152, 0.076)}
    measures = {"rouge": rouge_l, "meteor": meteor}
    rows: list[Row] = []
    for level, theirs in published.items():
        pairs = [(t.question or t.subtask, descriptions[t.relevant[0]]) for t in tasks[level] if t.relevant]
        rows.append(Row(level, Kind.OURS, {
            key: pair(value, fmean(measure(*texts) for texts in pairs)) for (key, measure), value in zip(measures.items(), theirs, strict=True)
        }))  # fmt: skip
    return Table(
        "5", "Table 5 · words that query and tool share", "ROUGE-L (the longest common subsequence of words) and METEOR of a query and the description of its tool.",
        "ETOM's queries and tools", "the sample's questions and the first right tool of each", (Column("rouge", "ROUGE-L", 3), Column("meteor", "METEOR", 3)), tuple(rows),
        differs="The paper does not say which variants it uses; ours are the F1 of the longest common subsequence over lower-case words, and METEOR by words and stems, without WordNet's synonyms.",
    )  # fmt: skip


def rouge_l(one: str, other: str) -> float:
    """F1 of the longest common subsequence of two texts' words, in [0, 1].

    >>> rouge_l("the cat sat", "the cat lay down")
    0.5714285714285714
    """
    a, b = words(one).lower().split(), words(other).lower().split()
    best = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for column, other_word in enumerate(b, start=1):
            above = best[column]
            best[column] = diagonal + 1 if word == other_word else max(best[column], best[column - 1])
            diagonal = above
    return 2 * best[-1] / (len(a) + len(b)) if a or b else 0.0


def equal_sets() -> Table:
    sets = [entry["tools"] for entry in json.loads(sample_catalog.EQUAL_SETS.read_text(encoding="utf-8"))]
    rows = (
        ours(
            "sets", {"n": len(sets)}, {"n": 95.0}, why="Theirs: 145 proposed by a model, 95 after people checked them."
        ),
        ours("tools in a set", {"n": fmean(map(len, sets))}),
        ours("tools of some set", {"n": len({tool for tools in sets for tool in tools})}),
    )
    return Table(
        "efs", "Section 3.2 · equal function sets", "Tools that do the same thing; any of them is a right answer.", "2,375 tools; verified by a model and people",
        "950 tools; written down with the sample", (Column("n", "Number", 1),), rows, link=Link("catalog", {"catalog": SAMPLE}),
    )  # fmt: skip


# Levels and ablations

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
    tasks = {level: material.tasks(name) for level, name in FILES.items()}
    all_tasks = [task for level_tasks in tasks.values() for task in level_tasks]
    runs: dict[str, tuple[LevelRun, ...]] = {}
    predictions: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in ORCHESTRATORS.values()}
    for router, name in ORCHESTRATORS.items():
        material.say(f"ETOM: {name}, {len(all_tasks)} tasks")
        runs[router] = levels(material, router, all_tasks, {}, predictions[name])
    main, ablation = _levels(material, runs, all_tasks), _ablation(material, all_tasks)
    tables = (
        sizes(tasks), main, figures.in_order(all_tasks, predictions), _latency(runs), _others(), ablation, overlap(material, tasks), equal_sets(),
    )  # fmt: skip
    return tables, (
        _bars(main), figures.performance(PUBLISHED, runs, ORCHESTRATORS, BASELINE), figures.decay(all_tasks, predictions), _breadth(ablation),
        figures.categories(material), figures.gaps(tasks["L5"]),
    )  # fmt: skip


def levels(
    material: Material, router: str, tasks: Sequence[Task], settings: Settings, predicted: dict[str, tuple[str, ...]] | None = None
) -> tuple[LevelRun, ...]:  # fmt: skip
    """A run for each level. The router may refuse. `predicted` takes the predicted tools by question."""

    def route(text: str) -> Decision:
        decision = material.decide(text, SAMPLE, router, {"refuse": True, **settings})
        if predicted is not None:
            predicted[text] = predicted_tools(decision)
        return decision

    return run_levels(router, tasks, route)


def scores(runs: Sequence[LevelRun]) -> dict[str, float]:
    """The paper's score of each level, in percent."""
    return {run.level: 100 * run.scores.get("f1", run.scores["em"]) for run in runs}


def _levels(material: Material, runs: Mapping[str, tuple[LevelRun, ...]], tasks: Sequence[Task]) -> Table:
    rows: list[Row] = []
    for router, name in ORCHESTRATORS.items():
        published = dict(zip(LEVELS, PUBLISHED[router, BACKBONE][0], strict=True))
        link = Link("route", {"q": QUESTION}, router=router, settings={"refuse": True})
        rows.append(ours(name, scores(runs[router]), published, link=link))
    rows += [_by_model(material, router, name, tasks) for router, name in ORCHESTRATORS.items()]
    return Table(
        "3", f"Table 3 · orchestrators by level ({BACKBONE})", "Exact match on L1, L2 and L5, F1 of the nodes of a plan on L3 and L4.", THEIRS, OURS,
        COLUMNS, tuple(rows), differs=DIFFERS, link=Link("compare", {"q": QUESTION, "with": "toolshed,mcp_zero"}),
    )  # fmt: skip


def _by_model(material: Material, router: str, name: str, tasks: Sequence[Task]) -> Row:
    few = [task for level in LEVELS for task in material.asked_of_model([x for x in tasks if x.level == level])]
    nothing = dict.fromkeys(LEVELS)
    return material.by_model(
        f"{name}, by a model", tuple(LEVELS), f"{len(few)} of {len(tasks)} tasks.", f"ETOM: {name}, {len(few)} tasks",
        lambda _: nothing | scores(levels(material, router, few, {"planner": "model"})),
    )  # fmt: skip


def _latency(runs: Mapping[str, tuple[LevelRun, ...]]) -> Table:
    base = {run.level: run.latency_ms_p50 for run in runs[BASELINE]}
    columns = tuple(Column(level, level, 2, clocked=True) for level in LEVELS)
    rows: list[Row] = []
    for router, name in ORCHESTRATORS.items():
        latencies = {run.level: run.latency_ms_p50 / base[run.level] for run in runs[router]}
        rows.append(ours(name, latencies, dict(zip(LEVELS, PUBLISHED[router, BACKBONE][1], strict=True))))
    return Table(
        "3-latency", "Table 3 · normalised latency", "The time of a decision over that of a baseline, level by level.",
        "a model's time; baseline MCP-Zero with Llama 3 8B", "median of our decisions with rules, measured; baseline MCP-Zero with rules", columns, tuple(rows),
        differs="Another baseline, and no model's time: what can be compared is the order of the four.",
    )  # fmt: skip


def _others() -> Table:
    rows = tuple(
        Row(f"{ORCHESTRATORS[router]}, {model}", Kind.MODEL, {level: (value, None) for level, value in zip(LEVELS, published, strict=True)}, why=f"Needs {model}.")
        for (router, model), (published, _) in PUBLISHED.items() if model != BACKBONE
    )  # fmt: skip
    theirs, nothing = "other models than above", "nothing: the row is the model"
    return Table("3-others", "Table 3 · the other models", "As printed.", theirs, nothing, COLUMNS, rows)


def _ablation(material: Material, tasks: Sequence[Task]) -> Table:
    columns = tuple(Column(level, f"{level} {'F1' if level == 'L4' else 'EM'}", 2, "%") for level in LEVELS)
    tasks, rows = tasks[::EVERY], list[Row]()
    for (k, expansions, reranked), published in ABLATION.items():
        material.say(f"ETOM: ToolShed, k = {k}, {expansions} expansions, {reranked} reranked")
        settings: Settings = {"k": k, "variations": expansions, "rerank_top_k": reranked}
        values = {
            run.level: 100 * run.scores["f1" if run.level == "L4" else "em"]
            for run in levels(material, "toolshed", tasks, settings)
        }
        link = Link("route", {"q": QUESTION}, router="toolshed", settings={"refuse": True, **settings})
        name = f"k {k}, expansions {expansions}, reranked {reranked}"
        rows.append(ours(name, values, dict(zip(LEVELS, published, strict=True)), link=link))
    return Table(
        "6", "Tables 6, 7, Figure 7 · ToolShed's parameters", "How many tools come up (k), in how many other wordings, reranked or not.",
        THEIRS.replace(BACKBONE, "Llama 3 8B").partition(", the only")[0], OURS, columns, tuple(rows),
        differs=DIFFERS, link=Link("route", {"q": QUESTION}, router="toolshed"),
    )  # fmt: skip


def _bars(table: Table) -> Chart:
    rows = {row.name: row for row in table.rows}
    series = [
        Series(f"{name}, {source}", tuple(LEVELS), tuple(number(rows[name].values[level][side]) for level in LEVELS), theirs=side == 0)
        for name in ORCHESTRATORS.values() for side, source in ((0, "paper"), (1, "ours"))
    ]  # fmt: skip
    title = "Table 3 as a picture: score by level"
    return bars("levels", title, table.about, "score, %", series, differs=DIFFERS, link=table.link)


def _breadth(table: Table) -> Chart:
    """Figure 7: the variants with three expansions and a reranker."""
    wide = [
        (float(k), row)
        for (k, expansions, reranked), row in zip(ABLATION, table.rows, strict=True)
        if (expansions, reranked) == (3, 10)
    ]
    series = [
        Series(f"{level}, {source}", tuple(k for k, _ in wide), tuple(number(row.values[level][side]) for _, row in wide), theirs=side == 0)
        for level in ("L1", "L2", "L4") for side, source in ((0, "paper"), (1, "ours"))
    ]  # fmt: skip
    title = "Figure 7: ToolShed over k, the tools that come up"
    return Chart("fig7", title, table.about, "k", "score, %", "line", tuple(series), differs=DIFFERS, link=table.link)
