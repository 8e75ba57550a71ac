"""ReAct as ETOM runs it (its appendix C.1): reason, act, observe, without any retrieval.

    for each next action (at most `cycles`):
        reason    which servers, by their names and descriptions: select(action, cards of all servers, s)
        act       which tool of those, by names and descriptions:  select(action, cards of their tools)
        observe   the tool is looked up in the catalog; one that is not there fails, and the cycle goes on

The generative baseline: what it knows of a server is what the prompt says, its name and description. The paper's: the two
selections, simulated execution, a bound on cycles. Ours: with rules, a card's similarity stands in for reasoning, and the
next actions are the parts of the query. The list of servers is the same at every turn and counts as cached prefix; what
is newly exposed are the texts of the tools that are read, and the definitions of the chosen ones, which a call needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Exposure
from core.domain.params import Range, knob
from core.economics.utility import ranking
from core.index.text_views import full, profile
from core.planning.base import Card
from core.routers.base import Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.orchestrator import OrchestratorParameters, RetrievalNotes, Retrieved, joined_result, orchestrate
from core.routers.papers import ETOM
from core.routers.parameters import SIMILARITY
from core.routers.per_catalog import per_catalog
from core.routers.ranked_result import Floats, Mask
from core.shared.tokens import count_many, count_tokens

MOST_CARDS = 200  # a selection sees at most so many servers or tools, the nearest ones


@dataclass(frozen=True)
class ReactParameters(OrchestratorParameters):
    """Breadth of the selections."""

    s: int = knob(3, Range(1, 50), group=SIMILARITY, symbol="s", label="Servers per cycle",
        help="Servers whose tools are shown in a cycle (server_top_k).")  # fmt: skip


class React(Router[ReactParameters]):
    """Reasons over names and descriptions, without retrieval: picks servers, then a tool of theirs, step by step."""

    id = "react"
    title = "ReAct"
    paper = ETOM
    score = "fit of the description"

    def decide(self, query: Query, context: RoutingContext, parameters: ReactParameters) -> RoutingResult:
        """A cycle for each action."""
        read = np.zeros(len(context.tool_ids), dtype=np.bool_)

        def retrieve(text: str, match: Match) -> Retrieved:
            servers = np.maximum(query.cosines("servers", "profile", text), 0)
            tools = np.maximum(query.cosines("tools", "full", text), 0)
            order = ranking(servers, match.servers, context.server_order)
            searched = _chosen_servers(query, context, text, servers, order, parameters)
            within = np.flatnonzero(searched[context.tool_server])
            read[within] = True
            best = within[ranking(tools[within], match.tools[within], context.tool_order[within])]
            return Retrieved(servers, tools, searched, best[:MOST_CARDS])

        parts = orchestrate(query, context, parameters, retrieve)
        called = sorted({row for part in parts for row in part.chosen})
        of_servers, of_tools = _text_tokens(context.catalog)
        return joined_result(
            context,
            parts,
            score=self.score,
            notes=RetrievalNotes(
                "tools", "Chosen by name and description.", "Names and descriptions of all their tools are read."
            ),
            planner=query.planner.name,
            exposure=Exposure(int(of_tools[read].sum() + context.tool_tokens[called].sum()), of_servers),
        )


def _chosen_servers(
    query: Query, context: RoutingContext, text: str, fit: Floats, order: NDArray[np.int64], p: ReactParameters
) -> Mask:
    """(S,) the servers to look into: those that a model names; the fittest where it names none, or where rules plan."""
    rows = order[: p.s].tolist()
    if p.planner == "model":
        servers = context.catalog.servers
        cards = [
            Card(servers[row].name, profile(servers[row]), min(1.0, float(fit[row])))
            for row in map(int, order[:MOST_CARDS])
        ]
        named = query.planner.select(text, cards, p.s).ids
        rows = [context.catalog.server_row[name] for name in named] or rows
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[rows] = True
    return chosen


@per_catalog
def _text_tokens(catalog: Catalog) -> tuple[int, NDArray[np.int64]]:
    """Tokens of the list of all servers, and (T,) those of each tool's name and description."""
    servers = count_tokens("\n".join(profile(server) for server in catalog.servers))
    return servers, np.array(count_many([full(tool) for tool in catalog.tools]), dtype=np.int64)
