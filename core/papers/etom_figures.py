"""ETOM's figures, its decay of scores with the length of a plan, plans in order, and METEOR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from core.domain.catalog import words
from core.domain.english import stem
from core.domain.tasks import Task
from core.lab.levels import LevelRun, by_steps, node_set_f1, sequence_match
from core.papers.material import SAMPLE, Material
from core.papers.report import Chart, Column, Kind, Link, Row, Series, Table, pair, rounded

Predictions = Mapping[str, Sequence[str]]  # predicted tools by question
PLANNED = ("L3", "L4")
FEWEST = 5  # tasks of a point
DECAY = {"ToolShed, L3": (("2 steps", "7 steps"), (70.2, 43.1))}  # printed in section 5.5, with Qwen3-4B
GAPS = {
    "physical world": 28,
    "senses": 22,
    "near miss": 41,
}  # of 91 tasks; the paper has 29 more classes for the last, in a picture
LAB = Link("lab", {"catalog": SAMPLE, "tasks": "ETOM, level 2"})


def meteor(hypothesis: str, reference: str) -> float:
    """METEOR of two texts by equal words and then by equal stems, without synonyms, in [0, 1] (Banerjee and Lavie, 2005).

        F = 10 P R / (R + 9 P)        score = F (1 - 0.5 (chunks / matches)^3)

    >>> round(meteor("the cat was sat on the mat", "the cat sat on the mat"), 4)
    0.9654
    """
    hyp_words, ref_words = words(hypothesis).lower().split(), words(reference).lower().split()
    pairs: dict[int, int] = {}
    for form in (str, stem):
        for place in reversed(range(len(hyp_words))):
            free = (
                target
                for target in reversed(range(len(ref_words)))
                if target not in pairs.values() and form(ref_words[target]) == form(hyp_words[place])
            )
            if place not in pairs and (target := next(free, None)) is not None:
                pairs[place] = target
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(hyp_words), len(pairs) / len(ref_words)
    chunks = sum(pairs.get(place - 1, -2) + 1 != target for place, target in pairs.items())
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (chunks / len(pairs)) ** 3)


def in_order(tasks: Sequence[Task], predicted: Mapping[str, Predictions]) -> Table:
    """The share of plans with all steps met in order."""
    rows = tuple(
        Row(name, Kind.OURS, {
            level: pair(None, 100 * fmean(sequence_match(answers[t.question or t.subtask], t) for t in tasks if t.level == level)) for level in PLANNED
        })
        for name, answers in predicted.items()
    )  # fmt: skip
    return Table(
        "sequence", "Appendix D · exact sequence", "Plans whose steps all have their tool, in their order: stricter than the set of nodes in Table 3.",
        "evaluated, and not printed", "the sample's tasks of levels 3 and 4", tuple(Column(level, f"{level}, sequence", 2, "%") for level in PLANNED), rows, link=LAB,
    )  # fmt: skip


def decay(tasks: Sequence[Task], predicted: Mapping[str, Predictions]) -> Chart:
    series: list[Series] = []
    for name, answers in predicted.items():
        for level in PLANNED:
            level_tasks = [task for task in tasks if task.level == level]
            scores = {"f1": [node_set_f1(answers[task.question or task.subtask], task) for task in level_tasks]}
            means = {n: 100 * mean["f1"] for n, (size, mean) in by_steps(level_tasks, scores).items() if size >= FEWEST}
            series.append(
                Series(f"{name}, {level}", tuple(f"{n} steps" for n in means), tuple(map(rounded, means.values())))
            )
    series += [Series(f"{name}, paper", *points, theirs=True) for name, points in DECAY.items()]
    return Chart(
        "decay", "Section 5.5: score over the number of steps", f"F1 of the nodes, for lengths with at least {FEWEST} tasks.", "", "F1, %", "bar",
        tuple(series), differs="The paper prints two points, of ToolShed with Qwen3-4B: 70.2 with 2 steps and 43.1 with 7. Its model writes the plan, ours is cut by rules.", link=LAB,
    )  # fmt: skip


def performance(
    published: Mapping[tuple[str, str], tuple[tuple[float, ...], tuple[float | None, ...]]], runs: Mapping[str, Sequence[LevelRun]], names: Mapping[str, str], baseline: str
) -> Chart:  # fmt: skip
    """Figure 3: the mean score of the five levels over the mean normalised latency; a point for each model and for our rules."""
    series: list[Series] = []
    for router, name in names.items():
        points = [
            (fmean(filter(None, latencies)), fmean(scores))
            for (orchestrator, _), (scores, latencies) in published.items()
            if orchestrator == router and None not in latencies
        ]
        series.append(
            Series(f"{name}, paper", tuple(x for x, _ in points), tuple(rounded(y) for _, y in points), theirs=True)
        )
    base = {run.level: run.latency_ms_p50 for run in runs[baseline]}
    for router, name in names.items():
        latency = rounded(fmean(run.latency_ms_p50 / base[run.level] for run in runs[router]), 3) or 0.0
        score = rounded(fmean(100 * run.scores.get("f1", run.scores["em"]) for run in runs[router]))
        series.append(Series(f"{name}, ours", (latency,), (score,), clocked=True))
    return Chart(
        "fig3", "Figure 3: score against latency", "Mean score of the five levels over the mean normalised latency.", "normalised latency", "mean score, %", "point", tuple(series),
        log_x=True, differs="Theirs are six models by Table 3 (GPT-4.1 has no latency there), relative to MCP-Zero with Llama 3. Ours are rules, relative to MCP-Zero with rules.", link=LAB,
    )  # fmt: skip


def categories(material: Material) -> Chart:
    counts = Counter(server.category for server in material.context(SAMPLE).catalog.servers).most_common()
    ours = Series("servers, ours", tuple(name for name, _ in counts), tuple(float(count) for _, count in counts))
    return Chart(
        "fig5", "Figure 5: servers by category", f"{len(counts)} categories of the sample.", "", "servers", "bar", (ours,),
        differs="The paper's 30 categories are a picture without figures.", link=Link("catalog", {"catalog": SAMPLE}),
    )  # fmt: skip


def gaps(tasks: Sequence[Task]) -> Chart:
    """Figure 6: out-of-scope questions by the missing ability."""
    ours, total = Counter(task.gap for task in tasks), sum(GAPS.values())
    names = tuple(GAPS)
    return Chart(
        "fig6", "Figure 6: what out-of-scope questions ask for", "Share of the tasks of level 5.", "", "share, %", "bar",
        (
            Series("tasks, paper", names, tuple(rounded(100 * GAPS[name] / total) for name in names), theirs=True),
            Series("tasks, ours", names, tuple(rounded(100 * ours[name] / len(tasks)) for name in names)),
        ),
        differs="The paper names two groups of its 31 classes with figures; the others are taken together here, and ours are questions that come near to what the catalog can do.", link=LAB,
    )  # fmt: skip
