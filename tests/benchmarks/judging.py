"""The calibration of the shipped probabilities on catalogs that they were not fitted to: p_fit, and P(nothing fits).

Every constant is fitted again without one catalog and judged on that catalog. `judged` has the evidence of each labelled question as it
is, and without its right tools, so that nothing fits. If tools have requests, it has the evidence with and without requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import sample_catalog
from core.app import App
from core.domain.feedback import By, LabelledQuery
from core.importers.shipped_catalogs import SAMPLE
from core.planning.rules import TEXTS_READ, coverage
from core.planning.rules import fit as rules_fit
from core.relevance.labelled import IndexScorer
from core.relevance.requests import like_requests
from core.relevance.scoring import SAME_HIGH, TOP, Evidence, evidence_without, fit_of
from core.relevance.text_views import full
from core.routers.context import RoutingContext
from tests.benchmarks.labelled import LIVE, context

Floats = NDArray[np.float64]
TESTBEDS = ("attention-120", "search-15")
SAMPLE_SETS = (
    "l1_direct", "l2_context", "subtasks", "ehrr_categories", "pa_rag_simple", "everyday", "l5_out_of_scope",
)  # fmt: skip
AS_ASKED = ("l1_direct", "l2_context", "l5_out_of_scope", *TESTBEDS)
ANSWERABLE, NO_TOOL, NO_TWIN, NO_SERVER = "as it is", "its tools left out", "and their twins", "their servers left out"


@dataclass(frozen=True)
class Question:
    """A labelled question: its set, its catalog, and the rows of its right tools; no row if no tool can do it."""

    set: str
    catalog: str
    text: str
    right: tuple[int, ...]


@dataclass(frozen=True)
class Judged:
    """A question with its evidence. `how` names the removed tools; `leads` (30,) of the best tools, `right` (30,) which of
    them can do it; `rules` is the score that the rules refuse by."""

    question: Question
    how: str
    answerable: bool
    evidence: Evidence
    rules: float
    leads: Floats
    right: NDArray[np.bool_]

    @property
    def asked(self) -> bool:
        """Whether tools had requests."""
        return self.evidence[2] is not None

    @property
    def catalog(self) -> tuple[str, bool]:
        """The catalog, with or without requests."""
        return self.question.catalog, self.asked


def questions(app: App, of_live: str = "subtasks.jsonl") -> Iterator[Question]:
    """Every labelled question, but only the odd lines of the everyday set. The even lines are used once, at the end. `of_live` is
    LiveMCPBench's file.
    """
    for name in SAMPLE_SETS:
        yield from _of_file(app, name, SAMPLE, sample_catalog.TASKS_DIR / f"{name}.jsonl")
    for name in TESTBEDS:
        yield from _of_file(app, name, name, Path(sample_catalog.TASKS_DIR).parent / "testbeds" / f"{name}.tasks.jsonl")
    for folder, catalog in ((LIVE, "tools.json"), (LIVE.parent / "sealtools", "catalog.json")):
        if folder.exists():
            opened = app.catalogs.open(str(folder / catalog)).name
            yield from _of_file(app, folder.name, opened, folder / (of_live if folder == LIVE else "subtasks.jsonl"))
            if folder == LIVE:
                for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / "l5_out_of_scope.jsonl"):
                    yield Question("l5_out_of_scope, of livemcpbench", opened, task.subtask, ())
                    yield Question("l5_out_of_scope, of livemcpbench, as asked", opened, task.question, ())


def impossible_everyday() -> Iterator[Question]:
    """The first batch of everyday questions that no tool of the sample can do."""
    for text in (Path(__file__).parent / "everyday" / "impossible_to_fit.txt").read_text("utf-8").splitlines():
        yield Question("impossible everyday", SAMPLE, text, ())


def _of_file(app: App, name: str, catalog: str, path: Path) -> Iterator[Question]:
    rows = app.catalogs.catalog(catalog).tool_row
    tasks = app.lab.read_tasks(path)
    for task in tasks[0::2] if name == "everyday" else tasks:
        relevant = tuple(rows[tool] for tool in task.relevant if tool in rows)
        if relevant or not task.relevant:
            yield Question(name, catalog, task.subtask, relevant)
            if name in AS_ASKED:
                yield Question(f"{name}, as asked", catalog, task.question, relevant)


def judged(app: App) -> list[Judged]:
    """Each question as it is, and three times with less."""
    asked_questions = [*questions(app, of_live="judged.jsonl"), *impossible_everyday()]
    live = app.catalogs.open(str(LIVE / "tools.json")).name
    data = (LIVE / "requests.jsonl").read_bytes()
    app.requests.import_file(data, source_file="requests.jsonl", catalog=live, source="operator", by=By())
    judgments: list[Judged] = []
    for question in asked_questions:
        scorer = app.catalogs.scorer(question.catalog)
        for requests in dict.fromkeys((None, scorer.requests)):
            judgments += _judged(
                question, IndexScorer.of(scorer.index, scorer.encoder, requests), context(app, question.catalog)
            )
    return judgments


def _judged(question: Question, scorer: IndexScorer, world: RoutingContext) -> Iterator[Judged]:
    of_query, model = scorer.found(LabelledQuery(question.text, "", ())), scorer.model
    bare = replace(model, fit={"behind": 1.0, "ahead": 1.0, "one": 0.0})  # then the logits are the leads
    leads = _logit(fit_of(scorer.index, of_query.raw, bare).tools)
    best = np.argsort(-leads, kind="stable")[:TOP]
    is_right = np.isin(best, question.right)
    likeness = like_requests(scorer.requests, scorer.encoder, question.text, of_query.vector)
    cosines, texts = _rules(world, question.text)
    for how, removed in _left_out(question, scorer.index.own, scorer.index.server_of):
        if len(removed) > len(leads) - 3:
            continue
        remaining = np.delete(np.arange(len(leads)), removed)
        nearest = remaining[np.argsort(-cosines[remaining], kind="stable")[:TEXTS_READ]]
        cover = coverage(question.text, [texts(int(row)) for row in nearest])
        evidence = evidence_without(scorer.index, of_query.raw, model, likeness, removed)
        assert evidence is not None
        answerable = how == ANSWERABLE and bool(question.right)
        yield Judged(
            question, how, answerable, evidence, rules_fit(float(cosines[nearest[0]]), cover), leads[best], is_right
        )


def _left_out(
    question: Question, vectors: NDArray[np.float32], server_of: NDArray[np.int64]
) -> Iterator[tuple[str, list[int]]]:
    yield ANSWERABLE, []
    if question.right:
        rows = list(question.right)
        alike = (vectors @ vectors[rows].T).max(axis=1) >= SAME_HIGH
        alike[rows] = True
        yield NO_TOOL, rows
        yield NO_TWIN, np.flatnonzero(alike).tolist()
        yield NO_SERVER, np.flatnonzero(np.isin(server_of, server_of[rows])).tolist()


def _rules(world: RoutingContext, text: str):
    return world.matcher.cosines("tools", "full", world.matcher.embed(text)), lambda row: full(world.catalog.tools[row])


def _logit(chance: Floats) -> Floats:
    return np.log(chance) - np.log1p(-chance)


SPREAD_MOST = 0.4
"""Logits for one deviation of the spread if tools have requests. Without a bound search-15 draws them to 1.2, and the everyday
questions lose a third of their gain."""


@dataclass(frozen=True)
class Constants:
    """Fitted weights of (spread, cosine, 1) without requests, of (spread, cosine, like, 1) with requests, and of (lead behind, lead
    ahead, 1).
    """

    nothing: Floats
    asked: Floats
    fit: Floats

    def doubts(self, rows: Sequence[Judged]) -> Floats:
        """(Q,) logits that nothing fits."""
        return np.array([_columns(row) @ (self.asked if row.asked else self.nothing) for row in rows])

    def chances(self, rows: Sequence[Judged]) -> tuple[Floats, NDArray[np.bool_]]:
        """(Q, 30) probabilities of fit of the best tools, and whether they do; of questions that something can do."""
        return 1.0 / (1.0 + np.exp(-(_features(rows) @ self.fit))), np.array([row.right for row in rows])


def _columns(row: Judged) -> Floats:
    return np.array([*(value for value in row.evidence if value is not None), 1.0])


def fitted(rows: Sequence[Judged]) -> Constants:
    """Logistic fits in which every catalog, every set of a catalog, and both answers weigh the same. More spread never speaks for a
    tool, a higher cosine, a greater likeness and a larger lead never against one. p_fit is fitted without requests."""
    bare_rows, request_rows = [row for row in rows if not row.asked], [row for row in rows if row.asked]
    nothing = _fitted_to_evidence(bare_rows, [(0, None), (None, 0), (None, None)])
    with_requests = _fitted_to_evidence(request_rows, [(0, SPREAD_MOST), (None, 0), (None, 0), (None, None)])
    return Constants(nothing, with_requests, fitted_to_leads([row for row in bare_rows if row.answerable]))


def _fitted_to_evidence(rows: Sequence[Judged], bounds: list[tuple[float | None, float | None]]) -> Floats:
    evidence = np.array([_columns(row) for row in rows])
    return _logistic(evidence, np.array([not row.answerable for row in rows]), _even_weights(rows, both=True), bounds)


def fitted_to_leads(rows: Sequence[Judged]) -> Floats:
    """The constants of p_fit, from answerable questions."""
    weights = np.repeat(_even_weights(rows, both=False), TOP)
    is_right = np.concatenate([row.right for row in rows])
    bounds = [(0, None), (0, None), (None, None)]
    return _logistic(_features(rows).reshape(-1, 3), is_right, weights / TOP, bounds)


def _features(rows: Sequence[Judged]) -> Floats:
    """(Q, 30, 3)"""
    leads = np.array([row.leads for row in rows])
    return np.stack([np.minimum(leads, 0), np.maximum(leads, 0), np.ones_like(leads)], axis=2)


def _even_weights(rows: Sequence[Judged], *, both: bool) -> Floats:
    """(Q,) that add up to 1."""
    keys = [(row.question.catalog, row.answerable if both else True, row.question.set) for row in rows]
    sets = Counter(key[:2] for key in set(keys))
    counts = Counter(keys)
    weight = np.array([1.0 / counts[key] / sets[key[:2]] for key in keys])
    return weight / weight.sum()


def _logistic(
    x: Floats, y: NDArray[np.bool_], weight: Floats, bounds: list[tuple[float | None, float | None]]
) -> Floats:
    """Coefficients within bounds. Bounds are for one deviation of a column. The last column is the constant."""
    scale = np.sqrt(weight @ (x - weight @ x) ** 2)
    scale[-1] = 1.0
    z = x / scale

    def loss(b: Floats) -> tuple[float, Floats]:
        logits = z @ b
        error = weight * (1.0 / (1.0 + np.exp(-logits)) - y)
        return float(weight @ (np.logaddexp(0, logits) - y * logits)), z.T @ error

    return minimize(loss, np.zeros(x.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x / scale


def catalogs(rows: Sequence[Judged]) -> list[str]:
    """The catalogs of the questions, in order."""
    return list(dict.fromkeys(row.question.catalog for row in rows))
