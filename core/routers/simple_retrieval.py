"""Simple retrieval, the third baseline of Tool Attention: the most similar tools, each with its full schema.

    active = top-k by cos(e(q), e(name and description of t))                      section 6.4, B3; k 10

No threshold, no state, no summaries: k definitions are put before the model at every turn, however little they fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.decision import Stage
from core.domain.params import Parameters, knob
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.parameters import SIMILARITY, CandidateParameters
from core.routers.ranking import Scored, best_tool, ranked_verdict


@dataclass(frozen=True)
class SimpleRetrievalParameters(CandidateParameters):
    """How many are retrieved."""

    n: int = knob(
        10, symbol="k", low=1, high=50, step=1, group=SIMILARITY, help="Tools retrieved, each with its schema."
    )


class SimpleRetrieval(Router):
    """Cosine, and nothing else."""

    id = "simple_retrieval"
    title = "Simple retrieval"
    paper = "The baseline B3 of: Tool Attention Is All You Need"
    summary = "The ten tools whose texts are most similar, all of their schemas, no gate."
    parameters = SimpleRetrievalParameters
    score = "cosine"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Top-k by cosine over all tools."""
        if not isinstance(parameters, SimpleRetrievalParameters):
            raise TypeError(f"Simple retrieval takes SimpleRetrievalParameters, not {type(parameters).__name__}")
        cosine = question.cosines("tools", "full")
        servers = best_tool(scene, cosine)
        found = min(parameters.n, len(cosine))
        return ranked_verdict(
            scene,
            Scored(np.maximum(servers, 0), servers),
            Scored(np.maximum(cosine, 0), cosine),
            n=parameters.n,
            score=self.score,
            stages=(Stage("retrieved", "tools", found, len(cosine), "Highest cosine; their schemas are exposed."),),
        )
