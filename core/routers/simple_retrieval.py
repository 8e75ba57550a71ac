"""Simple retrieval, the third baseline of Tool Attention: the most similar tools, each with its full schema.

    active = top-k by cos(e(q), e(name and description of t))                      section 6.4, B3; k 10

No threshold, no state, no summaries: k definitions are put before the model at every turn, however little they fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.decision import Stage
from core.domain.params import Range, knob
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.papers import TOOL_ATTENTION
from core.routers.parameters import SIMILARITY, CandidateParameters
from core.routers.ranked_result import cosine_layers, ranked_result


@dataclass(frozen=True)
class SimpleRetrievalParameters(CandidateParameters):
    """How many are retrieved."""

    n: int = knob(10, Range(1, 50), group=SIMILARITY, symbol="k", label="Tools retrieved",
        help="Tools retrieved, each with its schema.")  # fmt: skip


class SimpleRetrieval(Router[SimpleRetrievalParameters]):
    """The ten tools whose texts are most similar, all of their schemas, no gate."""

    id = "simple_retrieval"
    title = "Simple retrieval"
    paper = f"The baseline B3 of: {TOOL_ATTENTION}"
    score = "cosine"

    def decide(self, query: Query, context: RoutingContext, parameters: SimpleRetrievalParameters) -> RoutingResult:
        """Top-k by cosine over all tools."""
        cosine = query.cosines("tools", "full")
        found = min(parameters.n, len(cosine))
        return ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            score=self.score,
            stages=(Stage("retrieved", "tools", found, len(cosine), "Highest cosine; their schemas are exposed."),),
        )
