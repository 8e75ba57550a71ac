"""PA-RAG (paper 003): servers before tools, and a question that asks for several things taken apart.

    S^  = servers that the cascade's first stage keeps for Q               pre-retrieval
    path(Q, S^) = simple:   Y = select(Q, cascade(Q))
                  complex:  {q_1 .. q_n} = decompose(Q);  Y_k = select(q_k, cascade(q_k));  Y = aggregate(Y_1 .. Y_n)

The paper's: the two-layer index and the cascade (`cascade`), a router of complexity that reads the query and the pre-retrieved
servers, isolated sub-queries, a selector, aggregation with verification (`aggregation`), and its ablations as switches: w/o
Hierarchy, Simple Only, Complex Only, w/o Reranker. Ours: the planner may be rules; the budget is in tokens; and what the paper
names as a limitation, a check of the arguments that the chosen tools require (`arguments`), whose result stands at the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.domain.decision import Stage
from core.domain.params import Parameters, knob
from core.planning.base import SubQuery
from core.reranking import NONE
from core.routers.aggregation import aggregated
from core.routers.arguments import Said, missing, remark
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.cascade import Cascade, CascadeParameters, Pruned, functional_summary
from core.routers.orchestrating import PARTS, Part, verdict
from core.routers.parameters import ABLATION, BUDGET
from core.routers.ranking import top
from core.routers.retrieving import complexity_stage, selected


@dataclass(frozen=True)
class PaRagParameters(CascadeParameters):
    """The cascade's, the path, the budget."""

    path: str = knob(
        "adaptive", choices=("adaptive", "simple", "complex"), group=ABLATION,
        help="adaptive: the complexity decides. simple: one pass (Simple Only). complex: always taken apart (Complex Only).",
    )  # fmt: skip
    budget_tokens: int = knob(
        8_000, symbol="budget", unit="tokens", low=100, high=32_000, step=100, group=BUDGET,
        help="Most tokens that the definitions of the chosen tools may take together.",
    )  # fmt: skip
    check_arguments: bool = knob(
        True, group=BUDGET, symbol="check arguments",
        help="Says at each chosen tool which required arguments the question holds nothing for. No tool is dropped for it.",
    )  # fmt: skip


class PaRag(Router):
    """A cascade over servers and tools, once or for each sub-query."""

    id = "pa_rag"
    title = "PA-RAG"
    paper = "PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
    summary = (
        "Servers first, then their tools, reranked; a complex question is taken apart and each part looked up alone."
    )
    parameters = PaRagParameters
    score = "chained relevance"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Pre-retrieval, the path, its cascades, aggregation."""
        if not isinstance(parameters, PaRagParameters):
            raise TypeError(f"PA-RAG takes PaRagParameters, not {type(parameters).__name__}")
        cascade = Cascade(question, scene, parameters)
        whole = cascade.pruned(question.text)
        queries, before = _path(question, scene, whole, parameters)

        def part(query: SubQuery) -> Part:
            pruned = whole if query.text == whole.text else cascade.pruned(query.text)
            return selected(question, scene, query, pruned.match, cascade.find(pruned), parameters)

        parts = tuple(map(part, queries))
        total = aggregated(scene, parts, parameters.budget_tokens)
        remarks = _remarks(question, scene, parts, total.kept if parameters.check_arguments else ())
        checked = (_check_stage(scene, total.kept, remarks),) if parameters.check_arguments else ()
        found = verdict(
            scene, parts, score=self.score, looked=_looked(parameters), by=question.planner.name, before=before,
            after=(*total.stages[:1], *checked, *total.stages[1:]), cut=total.cut,
        )  # fmt: skip
        reason = found.reason if total.kept or not total.cut else "No tool fits into the budget of tokens; raise it."
        return replace(found, remarks=remarks, reason=reason)


def _path(
    question: Question, scene: Scene, whole: Pruned, p: PaRagParameters
) -> tuple[Sequence[SubQuery], tuple[Stage, ...]]:
    """The queries to look up, and the stages that tell how the path was chosen."""
    once = (SubQuery(question.text),)
    nearest = top(whole.score, whole.match.servers, scene.server_order, p.k)
    again = "" if p.reranker == NONE or not p.hierarchy else ", reranked"
    before = (
        Stage("pre-retrieval", "servers", int(nearest.sum()), len(nearest), f"Nearest functional summaries{again}."),
    )
    if p.path == "simple":
        return once, before
    if p.path == "adaptive":
        servers = scene.catalog.servers
        texts = [functional_summary(servers[row]) for row in map(int, nearest.nonzero()[0])]
        judged = question.planner.complexity(question.text, texts)
        before = (*before, complexity_stage(judged, question.planner.name))
        if judged.label == "simple":
            return once, before
    queries = question.planner.decompose(question.text, PARTS)
    return (queries if len(queries) > 1 else once), before


def _looked(p: PaRagParameters) -> tuple[str, str, str]:
    again = "not reranked" if p.reranker == NONE else f"reranked ({p.reranker})"
    if not p.hierarchy:
        return "tools", "Without a hierarchy: every server is looked into.", f"The {p.m} best of all, {again}."
    return (
        "scoped tools",
        f"The best {p.k} for each query by functional summary, {again}.",
        f"The {p.m} best of those servers' tools for each query, {again}.",
    )


def _remarks(question: Question, scene: Scene, parts: Sequence[Part], kept: Sequence[int]) -> Mapping[int, str]:
    said = Said.of(question.text)
    later = {row for part in parts if part.query.needs for row in part.chosen}
    tools = scene.catalog.tools
    lacking = {row: missing(tools[row].input_schema, said) for row in kept}
    return {row: remark(names, from_earlier=row in later) for row, names in lacking.items() if names}


def _check_stage(scene: Scene, kept: Sequence[int], remarks: Mapping[int, str]) -> Stage:
    told = "; ".join(f"{scene.tool_ids[row]} {said}" for row, said in remarks.items())
    note = f"{told}." if told else "The question holds something for every required argument."
    return Stage("argument check", "tools", len(kept), len(kept), note)
