"""The rules on labelled questions: parts and their needs, complexity, and other wordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from core.app import App
from core.importers.shipped_catalogs import SAMPLE
from core.planning.base import SubQuery
from core.planning.rules import RulesPlanner
from core.routers.context import RoutingContext
from core.routers.parameters import MatchingParameters
from sample_catalog.testbeds import ATTENTION_TASKS, SEARCH_TASKS
from tests.benchmarks import labelled
from tests.benchmarks.labelled import Asked

RULES = RulesPlanner()
SERVERS_READ = 5
MANY_SERVERS = 3  # from so many on PA-RAG calls a question complex
SIMPLE = ("l1_direct", "l2_context", "subtasks", "pa_rag_simple")
COMPLEX = ("l3_within_server", "l4_across_servers", "pa_rag_complex")
PLANNED = (*COMPLEX, "ehrr_categories", "pa_rag_simple")


def planning() -> None:
    """Parts, complexity and wordings, on the sample, the testbeds and LiveMCPBench."""
    with labelled.opened_app() as app:
        _parts(app)
        _complexity(app)
        _wordings(app)


def _parts(app: App) -> None:
    catalog, live_questions, _ = labelled.live(app)
    sets = [(SAMPLE, name, labelled.questions(app, name)) for name in PLANNED]
    sets += [(catalog, "LiveMCPBench", live_questions)] if catalog else []
    print(
        "parts: number right, within one; steps whose tool is among a part's best 3, (whole question: as many); needs F1"
    )
    for source, name, questions in sets:
        plans = [RULES.decompose(question.text) for question in questions]
        excess = np.array([len(parts) - len(question.steps) for parts, question in zip(plans, questions, strict=True)])
        ranked = _ranking(labelled.context(app, source))
        met_share, whole_share = (
            _met(ranked, plans, questions),
            _met(ranked, [()] * len(plans), questions, [3 * len(p) for p in plans]),
        )
        print(
            f"{name:<20} {len(questions):>4}  {np.mean(excess == 0):.2f}  {np.mean(abs(excess) <= 1):.2f}   {met_share:.3f} ({whole_share:.3f})"
            f"   {_needs_f1(plans, questions):.2f}"
        )


def _met(
    ranked: Callable[[str], Sequence[str]], plans: Sequence[Sequence[SubQuery]], questions: Sequence[Asked], depths: Sequence[int] = ()
) -> float:  # fmt: skip
    """The share of steps with a right tool among the best three of some part; without parts, among the question's best."""
    shares: list[float] = []
    for number, (parts, question) in enumerate(zip(plans, questions, strict=True)):
        reached = {tool for query in parts for tool in ranked(query.text)[:3]}
        reached |= set(ranked(question.text)[: depths[number]]) if depths else set()
        shares.append(fmean(not tools.isdisjoint(reached) for tools, _ in question.steps))
    return fmean(shares)


def _needs_f1(plans: Sequence[Sequence[SubQuery]], questions: Sequence[Asked]) -> float:
    """Of the edges of plans whose number of parts is right; nan if no plan has an edge."""
    hits = count = labelled_ = 0
    for parts, question in zip(plans, questions, strict=True):
        if len(parts) == len(question.steps):
            edges = {(step, need) for step, query in enumerate(parts) for need in query.needs}
            truth = {(step, need) for step, (_, needs) in enumerate(question.steps) for need in needs}
            hits, count, labelled_ = hits + len(edges & truth), count + len(edges), labelled_ + len(truth)
    return 2 * hits / (count + labelled_) if labelled_ else float("nan")


def _complexity(app: App) -> None:
    print("complexity: share labelled rightly")
    for names, label in ((SIMPLE, "simple"), (COMPLEX, "complex")):
        for name in names:
            questions = labelled.questions(app, name)
            print(f"{name:<20} {len(questions):>4}  {_labelled(app, SAMPLE, questions, label):.2f}  {label}")
    catalog, live_questions, _ = labelled.live(app)
    for label in ("simple", "complex") if catalog else ():
        cases = [q for q in live_questions if (_servers(q) >= MANY_SERVERS) is (label == "complex")]
        print(
            f"{'LiveMCPBench':<20} {len(cases):>4}  {_labelled(app, catalog, cases, label):.2f}  {label} (by servers)"
        )


def _servers(question: Asked) -> int:
    return len({tool.partition("::")[0] for tool in question.tools})


def _labelled(app: App, catalog: str, questions: Sequence[Asked], label: str) -> float:
    context = labelled.context(app, catalog)
    texts = [server.profile() for server in context.catalog.servers]
    is_right: list[bool] = []
    for question in questions:
        similarity = context.matcher.match(question.text, "", MatchingParameters()).servers
        profiles = [texts[row] for row in np.argsort(-similarity, kind="stable")[:SERVERS_READ]]
        is_right.append(RULES.complexity(question.text, profiles).label == label)
    return fmean(is_right)


def _wordings(app: App) -> None:
    catalog, live_questions, _ = labelled.live(app)
    sets = [(SAMPLE, name, labelled.questions(app, name)) for name in SIMPLE]
    sets += [("search-15", "search-15", labelled.testbed(app, SEARCH_TASKS))]
    sets += [("attention-120", "attention-120", labelled.testbed(app, ATTENTION_TASKS))]
    sets += [(catalog, "LiveMCPBench", live_questions)] if catalog else []
    print("MRR: BM25 as asked, tool prediction; cosine as asked, with the other wordings")
    for source, name, questions in sets:
        context = labelled.context(app, source)
        cases = [question for question in questions if question.steps]
        figures = (
            _mrr(context, cases, lambda text, context=context: context.matcher.bm25("tools", text)),
            _mrr(context, cases, lambda text, context=context: context.matcher.bm25("tools", RULES.predict_tool(text))),
            _mrr(context, cases, lambda text, context=context: _cosines(context, [text])),
            _mrr(context, cases, lambda text, context=context: _cosines(context, [text, *RULES.expand(text)])),
        )
        print(f"{name:<20} {len(cases):>4}  {'  '.join(f'{figure:.3f}' for figure in figures)}")


def _mrr(context: RoutingContext, questions: Sequence[Asked], score: Callable[[str], NDArray[np.float64]]) -> float:
    reciprocal: list[float] = []
    for question in questions:
        scores = score(question.text)
        order = [context.tool_ids[row] for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        reciprocal.append(next((1 / (place + 1) for place, tool in enumerate(order) if tool in question.tools), 0.0))
    return fmean(reciprocal)


def _cosines(context: RoutingContext, texts: Sequence[str]) -> NDArray[np.float64]:
    return np.max([context.matcher.cosines("tools", "full", context.matcher.embed(text)) for text in texts], axis=0)


def _ranking(context: RoutingContext) -> Callable[[str], Sequence[str]]:
    @cache
    def ranked(text: str) -> Sequence[str]:
        similarity = context.matcher.match(text, "", MatchingParameters()).tools
        return [context.tool_ids[row] for row in np.argsort(-similarity, kind="stable")[:50]]

    return ranked
