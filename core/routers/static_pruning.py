"""Static pruning, the second baseline of Tool Attention: 30 tools were chosen once, and the model sees those.

    kept   = the curated tools                                                     section 6.4, B2; 30 of 120
    prompt = the definitions of all of them, whatever is asked

What the list leaves out cannot be called, which is why the paper finds it worse than naive MCP. A curator's list is given
by `keep`. Without one there is a stand-in for the curator, ours: the first tools of each server in turn, for servers list
their main tools first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, zip_longest

import numpy as np

from core.domain.catalog import Catalog
from core.domain.decision import Exposure, Stage
from core.domain.params import Range, knob
from core.domain.trace import DROPS, KEPT, Drop
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.papers import TOOL_ATTENTION
from core.routers.parameters import SIMILARITY, CandidateParameters
from core.routers.ranked_result import cosine_layers, ranked_result, servers_of

STAND_IN = "auto"


@dataclass(frozen=True)
class StaticPruningParameters(CandidateParameters):
    """Which tools are kept."""

    size: int = knob(30, Range(1, 200), group=SIMILARITY, label="Tools kept",
        help="Tools kept where no list is given, Tool Attention's B2.")  # fmt: skip
    keep: str = knob(STAND_IN, group=SIMILARITY, label="Tools to keep",
        help="The tools to keep as server::tool, with commas between; auto takes the first tools of each server in turn.")  # fmt: skip


class StaticPruning(Router[StaticPruningParameters]):
    """A fixed list of 30 tools, all of whose schemas are exposed; what is not in the list does not exist."""

    id = "static_pruning"
    title = "Static pruning"
    paper = f"The baseline B2 of: {TOOL_ATTENTION}"
    score = "cosine"

    def decide(self, query: Query, context: RoutingContext, parameters: StaticPruningParameters) -> RoutingResult:
        """The most similar of the kept tools; all kept definitions are exposed."""
        cosine = query.cosines("tools", "full")
        names = _names(context.catalog, parameters)
        rows = [row for name in names if (row := context.catalog.tool_row.get(name)) is not None]
        dropped = np.full(len(cosine), DROPS.index(Drop.PRUNED), dtype=np.int8)
        dropped[rows] = KEPT
        return ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            shortlisted=servers_of(context, rows),
            dropped=dropped,
            score=self.score,
            stages=(
                Stage("curated list", "tools", len(rows), len(cosine), _kept_note(len(names) - len(rows))),
                Stage("candidates", "tools", min(parameters.n, len(rows)), len(rows), "Highest cosine."),
            ),
            exposure=Exposure(int(context.tool_tokens[rows].sum())),
            no_candidate="No tool of the catalog is in the list; give `keep` the ids of some.",
        )


def curated(catalog: Catalog, size: int) -> tuple[str, ...]:
    """The stand-in for a curator: the first tool of each server, then each one's second, until there are `size`.

    >>> from core.domain.catalog import Server, Tool
    >>> servers = [Server(s, tools=tuple(Tool(s, name) for name in names)) for s, names in (("a", "xyz"), ("b", "uv"))]
    >>> curated(Catalog("c", tuple(servers)), 3)
    ('a::x', 'b::u', 'a::y')
    """
    turns = zip_longest(*(server.tools for server in catalog.servers))
    return tuple(islice((tool.id for turn in turns for tool in turn if tool is not None), size))


def _names(catalog: Catalog, parameters: StaticPruningParameters) -> tuple[str, ...]:
    if parameters.keep == STAND_IN:
        return curated(catalog, parameters.size)
    return tuple(dict.fromkeys(name for name in re.split(r"\s*[,\n]\s*", parameters.keep) if name))


def _kept_note(unknown: int) -> str:
    note = "All of their schemas are exposed at every turn."
    return f"{note} {unknown} of the list's names are not in the catalog." if unknown else note
