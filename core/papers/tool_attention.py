"""Tool Attention: token counts on its testbed of 120 tools, the utilisation rho, the fitted threshold, poisoned descriptions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.domain.trace import DROPS, KEPT, Drop
from core.importers import read_document
from core.importers.token_meter import BREAKING_POINT, Context, Counted, token_meter, utilisation
from core.lab.calibrations import THETAS, ThresholdSweep, calibrate
from core.papers.material import ATTENTION, SAMPLE, Material
from core.papers.report import Chart, Column, Kind, Link, Row, Series, Settings, Table, ours, pair, rounded
from core.papers.tool_attention_parts import TURNS, by_words, preconditions, session
from core.papers.tool_attention_reference import COUNTED, reference
from sample_catalog.testbeds import CURATED

# Section 5.2: the threshold fitted to labelled tasks

TASK_SETS = {
    "sample, sub-tasks": (SAMPLE, "subtasks"),
    "sample, ETOM level 2": (SAMPLE, "l2_context"),
    ATTENTION: (ATTENTION, ATTENTION),
}


def _fitted(material: Material, catalog: str, name: str) -> ThresholdSweep:
    tasks = material.tasks(name)
    decisions = [material.decide(task.subtask, catalog, "tool_attention", hint=task.server_hint) for task in tasks]
    right = np.array([[tool in task.relevant for tool in decisions[0].tools.ids] for task in tasks], dtype=np.bool_)
    return calibrate(np.array([d.tools.utility for d in decisions]), right, k=10)


def thresholds(material: Material, link: Link) -> Table:
    rows: list[Row] = []
    for name, (catalog, tasks) in TASK_SETS.items():
        material.say(f"Tool Attention: threshold on {name}")
        fit = _fitted(material, catalog, tasks)
        paper = next(point for point in fit.points if point.theta == 0.28)
        values = {"theta": fit.best.theta, "f": fit.best.f1, "f28": paper.f1}
        rows.append(ours(name, values, {"theta": "0.22–0.32"}))
    return Table(
        "5.2", "Section 5.2 · the fitted threshold", "θ from 0.10 to 0.50 by 0.02, the best F1.", "100 to 200 labelled pairs of a deployment",
        "labelled tasks of the sample and of the testbed", (Column("theta", "θ", 2), Column("f", "F1", 2), Column("f28", "F1 at 0.28", 2)), tuple(rows),
        differs="Ours asks for more than the published range: one to three tools are right for a task, and up to ten may be active.", link=link,
    )  # fmt: skip


def sweep(material: Material, link: Link) -> Chart:
    fit = _fitted(material, ATTENTION, ATTENTION)
    lines = {
        "precision": [p.precision for p in fit.points],
        "recall": [p.recall for p in fit.points],
        "F1": [p.f1 for p in fit.points],
    }
    series = tuple(Series(name, THETAS, tuple(rounded(v) for v in values)) for name, values in lines.items())
    title, about = "Section 5.2: the threshold's sweep", "Over the tasks of attention-120."
    return Chart("theta", title, about, "θ", "share", "line", series, link=link)


# Section 7.6: how often tools with poisoned descriptions reach the model


def poisoned(material: Material, tasks: Sequence[Task]) -> Table:
    columns, theirs = (Column("out", "Kept out", 1, "%"), Column("plain", "By plain retrieval", 1, "%")), 92.0
    row = Row(
        "of one benign question",
        Kind.NOT,
        {"out": (theirs, None)},
        why="Needs the poisoned descriptions of the repository's tests: make papers.",
    )
    if material.poisoned is not None:
        material.say("Tool Attention: poisoned descriptions")
        lines = material.poisoned.read_text(encoding="utf-8").splitlines()
        mixed, strangers = with_strangers(material.context(ATTENTION).catalog, lines)
        material.add_catalog(mixed)
        shares = [
            _kept_out(material, mixed.name, strangers, tasks, router)
            for router in ("tool_attention", "simple_retrieval")
        ]
        row = ours("of one benign question", {"out": 100 * shares[0], "plain": 100 * shares[1]}, {"out": theirs})
    return Table(
        "7.6", "Section 7.6 · poisoned descriptions kept out", "How often a tool with a poisoned description stays out of what the model reads.",
        "50 descriptions, a simulation: 46 kept out", "205 descriptions written for Lint's tests, each alone among attention-120; 47 questions", columns, (row,),
        differs="It says little: a tool seldom fits a question that is not about it, and summaries of phase 1 are before the model all the same.",
        link=Link("catalog", {"catalog": ATTENTION}),
    )  # fmt: skip


def with_strangers(base: Catalog, lines: Sequence[str]) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog with poisoned servers among its own, and the ids of their tools. Each line is a case as JSON.

    Takes only cases of one server. Cases of two servers show a name that imitates another.
    """
    cases = [json.loads(line) for line in lines]
    servers = [
        server | {"name": f"stranger-{number}"}
        for number, (server,) in enumerate(case["servers"] for case in cases if len(case["servers"]) == 1)
    ]
    strangers = read_document(json.dumps({"servers": servers}), source="poisoned servers").servers
    ids = tuple(tool.id for server in strangers for tool in server.tools)
    return Catalog(f"{base.name} with strangers", (*base.servers, *strangers)), ids


def _kept_out(material: Material, catalog: str, strangers: Sequence[str], tasks: Sequence[Task], router: str) -> float:
    decisions = [material.decide(task.subtask, catalog, router) for task in tasks]
    return float(1 - np.mean([active_alone(decision, strangers) for decision in decisions]))


def active_alone(decision: Decision, strangers: Sequence[str]) -> NDArray[np.bool_]:
    """Which strangers (P,) would be active as the only stranger: enough overlap, and fewer than k others before it."""
    tools, k = decision.tools, int(str(decision.parameters["n"]))
    rows = np.isin(tools.ids, strangers)
    passed = ~np.isin(tools.dropped, [DROPS.index(Drop.BELOW_THRESHOLD), DROPS.index(Drop.GATED)])
    others = np.sort(tools.utility[passed & ~rows])
    ahead = len(others) - np.searchsorted(others, tools.utility[rows], side="right")
    return passed[rows] & (ahead < k)


# Tokens, utilisation and ablations


@dataclass(frozen=True)
class Variant:
    """A line of the paper's tables: its name, its printed tokens a turn and rho, and our router with its parameters."""

    name: str
    published: int
    router: str
    settings: Settings = field(default_factory=dict[str, bool | int | float | str])
    rho: float | None = None


VARIANTS = (
    Variant("B1 full schema", 47_312, "full_catalog", rho=0.24),
    Variant("B2 static pruning", 11_865, "static_pruning", {"keep": ",".join(CURATED)}, rho=0.56),
    Variant("B3 simple retrieval", 4_082, "simple_retrieval", rho=0.78),
    Variant("B4 CLI lazy discovery", 480, "cli_lazy", rho=0.94),
    Variant("Tool Attention", 2_368, "tool_attention", rho=0.91),
    Variant("k = 5", 1_320, "tool_attention", {"n": 5}),
    Variant("k = 20", 4_190, "tool_attention", {"n": 20}),
    Variant("theta = 0.15", 3_270, "tool_attention", {"theta": 0.15}),
    Variant("theta = 0.40", 1_480, "tool_attention", {"theta": 0.40}),
    Variant("without lazy loading", 0, "tool_attention", {"lazy_loading": False}),
)
SERVERS = {
    "github": (30, 520),
    "filesystem": (10, 180),
    "database": (20, 410),
    "slack": (15, 290),
    "web": (10, 220),
    "jira": (35, 470),
}
AUDITS = {  # its Table 1: tokens a turn, share of a context of 200,000 in percent
    "Filesystem": (1_500, 0.75), "Git": (3_000, 1.50), "Database": (2_500, 1.25), "Web Search": (1_200, 0.60), "Slack": (2_000, 1.00),
    "GitHub (full)": (55_000, 27.5), "Enterprise DB": (54_600, 27.3),
}  # fmt: skip
# tokens of task and system: (3) misses the baselines' four figures of rho by at most 0.0055, the least there is
INFERRED = Context(15_425, 409)
PHASE_ONE = 4_820  # tokens of all summaries
EACH_SUMMARY, EACH_TOOL = 40, 400  # tokens of a summary and of a definition
SHOWS_ALL = {"full_catalog", "static_pruning", "cli_lazy"}  # show all tools that they let through
TOTAL = 47_312
THEIRS = "120 made-up tools of six servers, 500 made-up tasks; tokens counted with cl100k_base"
OURS = "our testbed attention-120 (the same six servers and sizes, texts of ours), 47 labelled tasks; cl100k_base"
DIFFERS = (
    "Tokens of Tool Attention are its phase 2 alone, newly exposed at each turn; phase 1 is cached. On our tasks ISO falls faster with rank, so that θ "
    "and not k decides how many tools are active: k = 20 hardly adds any, θ moves more (docs/decisions/0009-tool-attention.md)."
)
TRY = Link("route", {"q": "find the open pull requests labelled bug", "catalog": ATTENTION}, router="tool_attention")


def results(material: Material) -> tuple[tuple[Table, ...], tuple[Chart, ...]]:
    """Table 1 and the tables of sections 6.2, 7.1 to 7.3, 5.2, 7.6; the utilisation curve of section 7.4."""
    tasks = [task for task in material.tasks(ATTENTION) if task.relevant]
    rows: list[tuple[Variant, float, float]] = []
    everything = cached = 0
    for variant in VARIANTS:
        material.say(f"Tool Attention: {variant.name}")
        decisions = [material.decide(task.subtask, ATTENTION, variant.router, variant.settings) for task in tasks]
        rows.append((variant, fmean(d.exposure.exposed for d in decisions), 100 * reach(decisions, tasks)))
        everything, cached = decisions[0].tokens["baseline"], decisions[0].exposure.cached
    material.say("Tool Attention: TF-IDF, preconditions")
    parts = (*preconditions(material, tasks, reach), by_words(material, tasks))
    tables = (
        _audits(), _testbed(material), reference(material), _tokens(rows, everything), rho_against_formula(), _ablation(rows, cached, parts),
        session(rows[4][1], cached, everything, INFERRED), _projected(), thresholds(material, TRY), poisoned(material, tasks),
    )  # fmt: skip
    return tables, (_curve(rows, cached), sweep(material, TRY))


def reach(made: Sequence[Decision], tasks: Sequence[Task]) -> float:
    """The share of the labelled tools that are before the model, as definitions or as lines of a search."""
    shown_codes = {DROPS.index(Drop.OUTRANKED), KEPT} if made[0].router in SHOWS_ALL else {KEPT}
    right = [(d, d.tools.ids.index(tool)) for d, task in zip(made, tasks, strict=True) for tool in task.relevant]
    return fmean(int(d.tools.dropped[row]) in shown_codes for d, row in right)


def _audits() -> Table:
    rows = tuple(
        Row(name, Kind.EXACT, {"share": pair(share, 100 * tokens / 200_000)})
        for name, (tokens, share) in AUDITS.items()
    )
    return Table(
        "1", "Table 1 · footprint of well-known servers", "Definitions of one server as a share of a context of 200,000 tokens.",
        "public audits that the paper quotes", "its tokens over 200,000", (Column("share", "Share", 2, "%"),), rows,
    )  # fmt: skip


def _testbed(material: Material) -> Table:
    context = material.context(ATTENTION)
    tokens = np.asarray(context.tool_tokens)
    rows: list[Row] = []
    for server, (count, mean) in SERVERS.items():
        mask = context.tool_server == context.server_names.index(server)
        values = {"n": float(mask.sum()), "t": float(tokens[mask].mean())}
        rows.append(ours(server, values, {"n": float(count), "t": float(mean)}))
    total = sum(count * mean for count, mean in SERVERS.values())
    rows += [
        ours("all definitions, counted", {"n": len(tokens), "t": float(tokens.mean())}, {"n": 120.0, "t": 394.0}),
        Row("all definitions, by their table", Kind.EXACT, {"n": (120.0, 120.0), "t": pair(394.0, total / 120)},
            why=f"The lines add up to {total:,} tokens, the total says {TOTAL:,}, and the published reference code makes {COUNTED['B1 full schema']:,}."),
    ]  # fmt: skip
    return Table(
        "6.2", "Section 6.2 · the testbed", "Tools of each server and the mean tokens of a definition.", THEIRS, OURS,
        (Column("n", "Tools", 0), Column("t", "Tokens each", 0)), tuple(rows), differs="Ours follows the lines of the table, not its total.",
        link=Link("catalog", {"catalog": ATTENTION}),
    )  # fmt: skip


def _tokens(rows: Sequence[tuple[Variant, float, float]], everything: int) -> Table:
    context = Context()
    table_rows: list[Row] = []
    for variant, exposed, share in rows[:5]:
        rho = utilisation(context.task_tokens, exposed, context.system_tokens)
        saved = rounded(100 * (1 - variant.published / TOTAL), 3)
        published = {"t": variant.published, "saved": saved, "rho": variant.rho}
        values = {"t": exposed, "saved": 100 * (1 - exposed / everything), "rho": rho, "shown": share}
        link = Link(TRY.page, TRY.query, router=variant.router, settings=variant.settings)
        table_rows.append(ours(variant.name, values, published, link=link))
    columns = (
        Column("t", "Tokens a turn", 0),
        Column("saved", "Saved", 1, "%"),
        Column("rho", "ρ", 2),
        Column("shown", "Right tools shown", 0, "%"),
    )
    return Table(
        "7.1", "Section 7.1 · tokens a turn", "What each method puts before the model; ρ is the share of the context that is left for the task, (3).",
        THEIRS, OURS, columns, tuple(table_rows),
        differs="ρ needs the tokens of task and system, which are not printed; ours takes 15,000 and 500. The table below holds (3) against their figures. " + DIFFERS,
        link=TRY,
    )  # fmt: skip


def rho_against_formula() -> Table:
    """The rho of (3) for the printed tokens, and the tokens that the printed rho needs."""
    task, system = INFERRED.task_tokens, INFERRED.system_tokens
    variant = VARIANTS[4]

    def by_formula(tokens: float) -> float:
        return utilisation(task, tokens, system)

    def tokens_for(rho: float) -> float:
        return task * (1 / rho - 1) - system

    rows = [Row(f"{v.name}, ρ", Kind.EXACT, {"rho": pair(v.rho, by_formula(v.published))}) for v in VARIANTS[:5]]
    rows += [
        Row("Tool Attention, ρ with phase 1", Kind.EXACT, {"rho": pair(variant.rho, by_formula(variant.published + PHASE_ONE))},
            why=f"Its prompt has the {PHASE_ONE:,} tokens of all summaries as well (section 6.1)."),
        Row("Tool Attention, ρ of 1,000 tools", Kind.EXACT, {"rho": pair(0.87, by_formula(1000 * EACH_SUMMARY + variant.published))},
            why=f"Section 7.4: at least 0.87. A summary has about {EACH_SUMMARY} tokens (section 4.4)."),
        Row("Tool Attention, tokens that ρ = 0.91 needs", Kind.EXACT, {"n": pair(float(variant.published), round(tokens_for(0.91)))}),
        Row("Full schema, tools at which ρ falls to 0.3", Kind.EXACT, {"n": pair(50.0, round(tokens_for(0.3) / EACH_TOOL))},
            why=f"Section 7.4, definitions of {EACH_TOOL} tokens."),
        Row("Full schema, tokens of the task at turn 30", Kind.EXACT, {"n": pair(200_000.0, round(0.24 / 0.76 * (TURNS * TOTAL + system)))},
            why="With the tax of (2), that of all 30 turns, as (3) is written: more than the context of 200,000 that Table 1 assumes. The rows above take the tax of one turn."),
    ]  # fmt: skip
    return Table(
        "3", "Equation (3) against the table of ρ", "ρ = C_task / (C_task + tax + C_sys). The same two unknown figures have to give every line.",
        "ρ at turn 30 in its main results, and section 7.4", f"(3) with {task:,} tokens of task and {system} of system", (Column("rho", "ρ", 2, slack=0.0006), Column("n", "Number", 0)), tuple(rows),
        differs=f"The formula and the figures contradict each other. The two unknowns are those that fit the four baselines best. Then {variant.published:,} tokens give 0.85 and "
        "not 0.91: with fewer tokens than simple retrieval and five times those of CLI lazy discovery, ρ is nearer to the former. The summaries of phase 1 are not in it, and "
        "with them ρ of a large catalog is far below the text's.",
    )  # fmt: skip


def _ablation(rows: Sequence[tuple[Variant, float, float]], cached: int, parts: Sequence[Row]) -> Table:
    table_rows = [
        ours(
            variant.name, {"t": exposed, "shown": share}, {"t": variant.published},
            link=Link(TRY.page, TRY.query, router="tool_attention", settings=variant.settings),
        )
        for variant, exposed, share in rows[4:]
    ]  # fmt: skip
    table_rows.append(ours("phase 1, all summaries", {"t": cached}, {"t": PHASE_ONE}))
    table_rows += parts
    table_rows.append(
        Row("MPNet-base", Kind.NOT, {"t": (2_371.0, None)}, why="The encoder does not come with Wayfare.")
    )
    columns = (Column("t", "Tokens a turn", 0), Column("shown", "Right tools shown", 0, "%"))
    title, about = "Section 7.3 · ablations", "Tool Attention with other parameters."
    return Table("7.3", title, about, THEIRS, OURS, columns, tuple(table_rows), differs=DIFFERS, link=TRY)


def _projected() -> Table:
    published = {
        "B1 full schema": (3.21, 43.2),
        "B2 static pruning": (3.35, 48.0),
        "B3 simple retrieval": (3.89, 68.7),
        "B4 CLI lazy discovery": (4.02, 74.1),
    }
    rows = tuple(
        Row(name, Kind.MODEL, {"mean": (mean, None), "share": (share, None)}, why="Projected from tokens by the paper, not measured; needs a model and a judge.")
        for name, (mean, share) in published.items()
    )  # fmt: skip
    return Table(
        "7.2", "Section 7.2 · reasoning quality (projected)", "Success, latency and quality in the paper follow from its token counts by curves that it does not print.",
        "projections", "not recomputed", (Column("mean", "Mean score", 2), Column("share", "Scored well", 1, "%")), rows,
    )  # fmt: skip


def _curve(rows: Sequence[tuple[Variant, float, float]], cached: int) -> Chart:
    """rho over the size of a catalog, definitions of the paper's mean size."""
    sizes = (10, 20, 50, 80, 92, 120, 200, 500, 1000, 2000)
    context, tool_tokens = Context(), TOTAL / 120
    exposed, summary = rows[4][1], cached / 120
    lines = {
        "all definitions": [size * tool_tokens for size in sizes],
        "Tool Attention, phases 1 and 2": [size * summary + min(exposed, size * tool_tokens) for size in sizes],
        "Tool Attention, phase 2 alone": [min(exposed, size * tool_tokens) for size in sizes],
    }
    series = [
        Series(
            name,
            tuple(map(float, sizes)),
            tuple(rounded(utilisation(context.task_tokens, tax, context.system_tokens)) for tax in taxes),
        )
        for name, taxes in lines.items()
    ]
    series.append(Series("as printed, 120 tools: all definitions", (120.0,), (0.24,), theirs=True))
    breaking = token_meter(Counted(120, TOTAL, 0, 0)).projected.tools_to_breaking
    return Chart(
        "fig5", "Section 7.4, Figure 5: utilisation ρ over the size of the catalog",
        f"Below {BREAKING_POINT:g} reasoning breaks: beyond {breaking} definitions of the paper's mean size. The paper describes the figure and does not show it.",
        "tools", "ρ", "line", tuple(series), differs="By (3) with 15,000 tokens of task and 500 of system.", link=TRY,
    )  # fmt: skip
