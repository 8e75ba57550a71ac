"""The baseline without routing: every definition is put before the model, which chooses by itself.

Its candidates are what similarity puts first (a model is not asked here); its tokens are those of the whole catalog, which
is what the paper's baseline pays at every step.
"""

from __future__ import annotations

import numpy as np

from core.domain.decision import Exposure, Stage
from core.domain.params import Parameters
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.parameters import MatchingParameters
from core.routers.ranking import Scored, ranked_verdict


class FullCatalog(Router):
    """No routing at all."""

    id = "full_catalog"
    title = "Full catalog"
    paper = "The baseline of: Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
    summary = "No routing: every definition goes before the model; shown is what similarity alone would pick from all."
    parameters = MatchingParameters
    score = "similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Everything is exposed; the order is that of similarity."""
        if not isinstance(parameters, MatchingParameters):
            raise TypeError(f"The full catalog takes MatchingParameters, not {type(parameters).__name__}")
        match = question.match(parameters)
        servers, tools = len(scene.server_names), len(scene.tool_ids)
        return ranked_verdict(
            scene,
            Scored(match.servers, match.servers),
            Scored(match.tools, match.tools),
            n=parameters.n,
            score=self.score,
            stages=(
                Stage("exposed", "servers", servers, servers, "Every definition is put before the model."),
                Stage("candidates", "tools", min(parameters.n, tools), tools, "Highest similarity."),
            ),
            exposure=Exposure(int(np.sum(scene.tool_tokens))),
        )
