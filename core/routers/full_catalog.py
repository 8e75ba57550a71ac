"""The baseline without routing: every definition is put before the model, which chooses by itself.

Its candidates are what similarity puts first (a model is not asked here); its tokens are those of the whole catalog, which
is what the paper's baseline pays at every step.
"""

from __future__ import annotations

import numpy as np

from core.domain.decision import Exposure, Stage
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.papers import EHRR
from core.routers.parameters import MatchingParameters
from core.routers.ranked_result import Scored, ranked_result


class FullCatalog(Router[MatchingParameters]):
    """No routing: every definition goes before the model; shown is what similarity alone would pick from all."""

    id = "full_catalog"
    title = "Full catalog"
    paper = f"The baseline of: {EHRR}"
    score = "similarity"

    def decide(self, query: Query, context: RoutingContext, parameters: MatchingParameters) -> RoutingResult:
        """Everything is exposed; the order is that of similarity."""
        match = query.match(parameters)
        servers, tools = len(context.server_names), len(context.tool_ids)
        return ranked_result(
            context,
            Scored(match.servers, match.servers),
            Scored(match.tools, match.tools),
            n=parameters.n,
            score=self.score,
            stages=(
                Stage("exposed", "servers", servers, servers, "Every definition is put before the model."),
                Stage("candidates", "tools", min(parameters.n, tools), tools, "Highest similarity."),
            ),
            exposure=Exposure(int(np.sum(context.tool_tokens))),
        )
