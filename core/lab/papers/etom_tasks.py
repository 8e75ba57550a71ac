"""ETOM's tasks and tools beside the sample's: sizes (Table 2), words in common (Table 5), equal function sets (section 3.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean

import sample_catalog
from core.domain.catalog import words
from core.domain.task import Task
from core.lab.papers.etom_published import BACKBONE
from core.lab.papers.material import SAMPLE, Material
from core.lab.papers.report import Column, Kind, Link, Row, Table, pair

THEIRS = f"491 servers, 2,375 tools, 2,075 tasks; {BACKBONE}, the only model that all four were run with"
OURS = "the sample (81 servers, 950 tools) and 667 tasks of five levels; rules in the model's place"
SIZES = {  # Table 2: tasks, mean length of a plan, mean number of servers
    "L1": (781, 1.00, 1.00), "L2": (773, 1.00, 1.00), "L3": (327, 2.87, 1.00), "L4": (103, 3.83, 3.78), "L5": (91, 0.00, 0.00),
}  # fmt: skip


def sizes(tasks: Mapping[str, Sequence[Task]]) -> Table:
    rows: list[Row] = []
    for level, (count, length, servers) in SIZES.items():
        plans = [task.plan for task in tasks[level]]
        used = [len({step.tool.partition("::")[0] for step in plan}) for plan in plans]
        one = level in ("L1", "L2")  # a single tool is the whole plan
        rows.append(Row(level, Kind.OURS, {
            "n": pair(float(count), float(len(plans))), "steps": pair(length, 1.0 if one else fmean(map(len, plans))),
            "servers": pair(servers, 1.0 if one else fmean(used)),
        }))  # fmt: skip
    total = sum(count for count, _, _ in SIZES.values())
    rows.append(Row("all, by their table", Kind.EXACT, {"n": (2075.0, float(total))}))
    return Table(
        "2", "Table 2 · tasks of the five levels", "How many tasks, how long their plans are, and over how many servers.", THEIRS, OURS,
        (Column("n", "Tasks", 0), Column("steps", "Plan length", 2), Column("servers", "Servers", 2)), tuple(rows),
        link=Link("lab", {"catalog": SAMPLE, "tasks": "ETOM, level 2"}),
    )  # fmt: skip


def overlap(material: Material, tasks: Mapping[str, Sequence[Task]]) -> Table:
    described = {tool.id: tool.description for tool in material.context(SAMPLE).catalog.tools}
    printed = {"L1": (0.337, 0.337), "L2": (0.152, 0.076)}
    rows = [
        Row(level, Kind.OURS, {"rouge": pair(rouge, fmean(rouge_l(t.question or t.subtask, described[t.relevant[0]]) for t in tasks[level] if t.relevant))})
        for level, (rouge, _) in printed.items()
    ]  # fmt: skip
    rows += [
        Row(
            f"{level}, METEOR",
            Kind.NOT,
            {"rouge": (meteor, None)},
            why="Needs WordNet, which does not come with Wayfare.",
        )
        for level, (_, meteor) in printed.items()
    ]
    return Table(
        "5", "Table 5 · words that query and tool share", "ROUGE-L of a query and the description of its tool: the longest common subsequence of words.",
        "ETOM's queries and tools", "the sample's questions and the first right tool of each", (Column("rouge", "ROUGE-L", 3),), tuple(rows),
        differs="The paper does not say which variant it uses; ours is the F1 of the longest common subsequence over lower-case words.",
    )  # fmt: skip


def rouge_l(one: str, other: str) -> float:
    """F1 of the longest common subsequence of two texts' words, in [0, 1].

    >>> rouge_l("the cat sat", "the cat lay down")
    0.5714285714285714
    """
    a, b = words(one).lower().split(), words(other).lower().split()
    best = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for at, wanted in enumerate(b, start=1):
            kept = best[at]
            best[at] = before + 1 if word == wanted else max(best[at], best[at - 1])
            before = kept
    return 2 * best[-1] / (len(a) + len(b)) if a or b else 0.0


def equal_sets() -> Table:
    sets = [entry["tools"] for entry in json.loads(sample_catalog.EQUAL_SETS.read_text(encoding="utf-8"))]
    rows = (
        Row(
            "sets",
            Kind.OURS,
            {"n": pair(95.0, float(len(sets)))},
            why="Theirs: 145 proposed by a model, 95 after people checked them.",
        ),
        Row("tools in a set", Kind.OURS, {"n": pair(None, fmean(map(len, sets)))}),
        Row("tools of some set", Kind.OURS, {"n": pair(None, float(len({tool for tools in sets for tool in tools})))}),
    )
    return Table(
        "efs", "Section 3.2 · equal function sets", "Tools that do the same thing; any of them is a right answer.", "2,375 tools; verified by a model and people",
        "950 tools; written down with the sample", (Column("n", "Number", 1),), rows, link=Link("catalog", {"catalog": SAMPLE}),
    )  # fmt: skip
