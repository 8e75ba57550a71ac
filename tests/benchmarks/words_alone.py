"""Words alone beside all signals: what is found, and whether p_fit means what it says (docs/decisions/0029-by-words.md).

`.venv/bin/python -m tests.benchmarks.words_alone`; LiveMCPBench and Seal-Tools where they are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import sample_catalog
from core.app import App
from core.importers.shipped_catalogs import SAMPLE
from core.relevance.fit_matcher import WordsFit, model_by_words
from core.relevance.scoring import LEAD_LIMIT, TOP, fit_of
from tests.benchmarks.attending import LIVE
from tests.benchmarks.judging import ANSWERABLE, Constants, Floats, Judged, Question, fitted_to_leads, questions
from tests.benchmarks.labelled import opened_app
from tests.benchmarks.probabilities import error_of

HELD_BACK = ("everyday, even lines", "livemcpbench, judged")
"""Sets that no constant was fitted to."""


@dataclass(frozen=True)
class Compared:
    """A question with the rank of its first right tool by all signals and by words, and its evidence by words."""

    whole: int
    words: int
    judged: Judged


def words_alone() -> None:
    """MRR, hit@1 and hit@3 by all signals and by words alone; ECE of p_fit by words, shipped and with the catalog left out of the fit; and of
    each question's likeliest tool what p_fit says and how often it is right."""
    with opened_app() as app:
        rows = list(_compared(app))
    given = [row.judged for row in rows if row.judged.question.set not in HELD_BACK]
    print(f"p_fit = sigmoid({' '.join(f'{x:+.3f}' for x in fitted_to_leads(given))} . (lead behind, lead ahead, 1))")
    fit = model_by_words().fit
    shipped = Constants(np.zeros(3), np.zeros(4), np.array([fit["behind"], fit["ahead"], fit["one"]]))
    for name in dict.fromkeys(row.judged.question.set for row in rows):
        of_set = [row for row in rows if row.judged.question.set == name]
        judged = [row.judged for row in of_set]
        others = [one for one in given if one.question.catalog != judged[0].question.catalog]
        left_out = Constants(np.zeros(3), np.zeros(4), fitted_to_leads(others))
        chances, right = shipped.chances(judged)
        best = chances.argmax(axis=1)
        print(
            f"{name:<26} {len(of_set):>4}  all {_found([row.whole for row in of_set])}  words {_found([row.words for row in of_set])}  "
            f"ECE {error_of(shipped, judged):.3f}, left out {error_of(left_out, judged):.3f}; "
            f"the likeliest: says {chances.max(axis=1).mean():.2f}, right {right[np.arange(len(best)), best].mean():.2f}"
        )


def _compared(app: App) -> Iterator[Compared]:
    known: dict[str, WordsFit] = {}
    fit = model_by_words().fit
    for question in _answerable(app):
        if question.catalog not in known:
            known[question.catalog] = WordsFit(app.catalogs.catalog(question.catalog))
        scorer = app.catalogs.scorer(question.catalog)
        signals = scorer.index.signals(question.text, scorer.encoder.encode_query(question.text))
        by_words = known[question.catalog].fit(question.text, "")[0]
        logits = np.log(by_words.tools) - np.log1p(-by_words.tools) - fit["one"]
        leads = np.where(logits > 0, logits / fit["ahead"], logits / fit["behind"])
        best = np.argsort(-by_words.relevance, kind="stable")[:TOP]
        right = np.isin(best, question.right)
        padding = (0, TOP - len(best))
        yield Compared(
            _rank(fit_of(scorer.index, signals, scorer.model).relevance, question.right),
            _rank(by_words.relevance, question.right),
            Judged(
                question, ANSWERABLE, True, (0.0, 0.0, None), 0.0,
                np.pad(leads[best], padding, constant_values=-LEAD_LIMIT), np.pad(right, padding),
            ),
        )  # fmt: skip


def _answerable(app: App) -> Iterator[Question]:
    yield from (one for one in questions(app) if one.right)
    sets = {HELD_BACK[0]: (SAMPLE, app.lab.read_tasks(sample_catalog.TASKS_DIR / "everyday.jsonl")[1::2])}
    if LIVE.exists():
        live = app.catalogs.open(str(LIVE / "tools.json")).name
        sets[HELD_BACK[1]] = live, app.lab.read_tasks(LIVE / "judged.jsonl")
    for name, (catalog, tasks) in sets.items():
        rows = app.catalogs.catalog(catalog).tool_row
        for task in tasks:
            if right := tuple(rows[tool] for tool in task.relevant if tool in rows):
                yield Question(name, catalog, task.subtask, right)


def _rank(scores: Floats, right: Sequence[int]) -> int:
    """The place of the best right tool. Half of the tools of the same score come before it."""
    best = scores[list(right)].max()
    return 1 + int((scores > best).sum()) + (int((scores == best).sum()) - 1) // 2


def _found(ranks: Sequence[int]) -> str:
    """MRR, hit@1 and hit@3."""
    places = np.array(ranks)
    return f"{(1 / places).mean():.3f} {(places == 1).mean():.2f} {(places <= 3).mean():.2f}"


if __name__ == "__main__":
    words_alone()
