"""How well the rules' refusal separates possible from impossible questions: the limit, and its signals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from sklearn.metrics import roc_auc_score

from core.app import App
from core.domain.decision import NOTHING_FROM
from core.importers.shipped_catalogs import SAMPLE
from core.planning.rules import LIMIT, TEXTS_READ, coverage, fit
from core.relevance.text_views import full
from tests.benchmarks import labelled

Signals = list[tuple[float, float]]  # (best cosine, coverage) of each question


def refusing() -> None:
    """Shares refused at the limit, and the area under the curve of each signal against impossible questions."""
    with labelled.opened_app() as app:
        possible, impossible = _possible(app), _impossible(app)
    print(f"refused by rules (fit < {LIMIT}); to reach: few of the first, many of the second")
    for name, signals in (*possible.items(), *impossible.items()):
        print(f"{name:<58} {len(signals):>4} {100 * fmean(fit(*signal) < LIMIT for signal in signals):>5.0f} %")
    print("area under the curve: cosine, coverage, both")
    for yes, no in PAIRS:
        if yes in possible and no in impossible:
            print(f"{yes} | {no:<40} {_areas(possible[yes], impossible[no])}")


PAIRS = (
    ("L2, as asked", "L5, as asked"),
    ("L2, in a model's words", "L5, in a model's words"),
    ("LiveMCPBench, as asked", "L5 asked of LiveMCPBench"),
    ("sub-tasks, asked of the servers that run", "L2 asked of the servers that run, tools missing"),
)


def _possible(app: App) -> dict[str, Signals]:
    l1, l2, simple = (labelled.tasks(app, name) for name in ("l1_direct", "l2_context", "pa_rag_simple"))
    subtasks = [task.subtask for task in labelled.tasks(app, "subtasks") if task.relevant]
    catalog, questions, parts = labelled.live(app)
    signals = {
        "L1, as asked": _signals(app, SAMPLE, [task.question for task in l1]),
        "L2, as asked": _signals(app, SAMPLE, [task.question for task in l2]),
        "L2, in a model's words": _signals(app, SAMPLE, [task.subtask for task in l2]),
        "PA-RAG simple, as asked": _signals(app, SAMPLE, [task.question for task in simple]),
        "sub-tasks, asked of the servers that run": _signals(app, labelled.RUNNING, subtasks),
    }
    if catalog:
        signals["LiveMCPBench, as asked"] = _signals(app, catalog, [question.text for question in questions])
        signals["LiveMCPBench, in a model's words"] = _signals(app, catalog, parts)
    return signals


def _impossible(app: App) -> dict[str, Signals]:
    l5 = labelled.tasks(app, "l5_out_of_scope")
    running = set(labelled.context(app, labelled.RUNNING).tool_ids)
    missing = [task.question for task in labelled.tasks(app, "l2_context") if running.isdisjoint(task.relevant)]
    impossible = [task.subtask for task in labelled.tasks(app, "subtasks") if not task.relevant]
    signals = {
        "L5, as asked": _signals(app, SAMPLE, [task.question for task in l5]),
        "L5, in a model's words": _signals(app, SAMPLE, [task.subtask for task in l5]),
        "impossible sub-tasks, asked of the servers that run": _signals(app, labelled.RUNNING, impossible),
        "L2 asked of the servers that run, tools missing": _signals(app, labelled.RUNNING, missing),
    }
    if catalog := labelled.live(app)[0]:
        signals["L5 asked of LiveMCPBench"] = _signals(app, catalog, [task.question for task in l5])
    return signals


def _signals(app: App, catalog: str, texts: Sequence[str]) -> Signals:
    context = labelled.context(app, catalog)
    signals: Signals = []
    for text in texts:
        cosines = context.matcher.cosines("tools", "full", context.matcher.embed(text))
        best = np.argsort(-cosines, kind="stable")[:TEXTS_READ]
        signals.append((float(cosines[best[0]]), coverage(text, [full(context.catalog.tools[row]) for row in best])))
    return signals


def _areas(possible: Signals, impossible: Signals) -> str:
    truth = [True] * len(possible) + [False] * len(impossible)
    scores = ([best for best, _ in possible + impossible], [covered for _, covered in possible + impossible])
    combined = [fit(best, covered) for best, covered in possible + impossible]
    return "  ".join(f"{roc_auc_score(truth, score):.2f}" for score in (*scores, combined))


EVERYDAY = Path(__file__).parent / "everyday"
"""Everyday questions over the sample. No tool can do the questions of `impossible_*.txt`; some tool can do `answerable_*.txt`. A rule may
be fitted to `*_to_fit.txt`, not to `*_to_judge.txt`."""


UNTOUCHED = ("answerable, even lines", "answerable to judge")


def honest() -> None:
    """The share of everyday questions over the sample, with its example requests, that a decision calls *nothing*, and the share above the
    limit that 5 % of the unfitted answerable questions reach."""
    with labelled.opened_app() as app:
        everyday = [task.subtask for task in labelled.tasks(app, "everyday")]
        sets = {"answerable, odd lines of everyday": everyday[0::2], UNTOUCHED[0]: everyday[1::2]}
        sets |= {
            file.stem.replace("_", " "): file.read_text("utf-8").splitlines() for file in sorted(EVERYDAY.iterdir())
        }
        sets["impossible, level 5 as asked"] = [task.question for task in labelled.tasks(app, "l5_out_of_scope")]
        fitting = labelled.context(app, SAMPLE).matcher
        chances = {name: np.array([fitting.fit(text, "")[0].nothing for text in texts]) for name, texts in sets.items()}
        limit = np.quantile(np.concatenate([chances[name] for name in UNTOUCHED]), 0.95)
        print(f"called nothing, from a P(nothing fits) of {NOTHING_FROM}; and from {limit:.2f}")
        for name, values in chances.items():
            print(
                f"{name:<40} {len(values):>4} {100 * (values >= NOTHING_FROM).mean():>5.0f} % {100 * (values >= limit).mean():>5.0f} %"
            )
        _translated(app)


TRANSLATED = Path(__file__).parent / "everyday_translated.txt"
"""Everyday questions of the sample in German, French and Spanish, each line `id : language : text`."""


def _translated(app: App) -> None:
    """Prints how often a right tool is the first, and among three and ten, by language."""
    context = labelled.context(app, SAMPLE)
    task_of = {task.id: task for task in labelled.tasks(app, "everyday")}
    lines = [line.split(" : ", 2) for line in TRANSLATED.read_text("utf-8").splitlines()]
    questions = [*lines, *([number, "en", task_of[number].subtask] for number in sorted({line[0] for line in lines}))]
    for language in ("en", "de", "fr", "es"):
        places = []
        for number, _, text in (line for line in questions if line[1] == language):
            order = np.argsort(-context.matcher.fit(text, "")[0].tools, kind="stable")
            places.append(next(i for i, row in enumerate(order) if context.tool_ids[row] in task_of[number].relevant))
        among = "  ".join(f"{fmean(place < limit for place in places):.2f}" for limit in (1, 3, 10))
        print(f"right tool among 1, 3, 10 in {language:<11} {len(places):>4}   {among}")
