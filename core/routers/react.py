"""ReAct as ETOM runs it (its appendix C.1): reason, act, observe, without any retrieval.

    for each next action (at most `cycles`):
        reason    which servers, by their names and descriptions: select(action, cards of all servers, s)
        act       which tool of those, by names and descriptions:  select(action, cards of their tools)
        observe   the tool is looked up in the catalog; one that is not there fails, and the cycle goes on

The generative baseline: what it knows of a server is what the prompt says, its name and description. The paper's: the two
selections, simulated execution, a bound on cycles. Ours: with rules, a card's similarity stands in for reasoning, and the
next actions are the parts of the question. The list of servers is the same at every turn and counts as cached prefix; what
is newly exposed are the texts of the tools that are read, and the definitions of the chosen ones, which a call needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Exposure
from core.domain.params import Parameters, knob
from core.economics.utility import ranking
from core.index.views import full, profile
from core.planning.base import Card
from core.routers.base import Match, Question, Router, Scene, Verdict
from core.routers.orchestrating import Finding, OrchestratorParameters, orchestrate, verdict
from core.routers.parameters import SIMILARITY
from core.routers.per_catalog import PerCatalog
from core.routers.ranking import Floats, Mask
from core.tokens import count_many, count_tokens

SHOWN = 200  # servers and tools that a selection is put before: beyond, the nearest ones


@dataclass(frozen=True)
class ReactParameters(OrchestratorParameters):
    """Breadth of the selections."""

    s: int = knob(
        3,
        symbol="s",
        low=1,
        high=50,
        step=1,
        group=SIMILARITY,
        help="Servers whose tools are shown in a cycle (server_top_k).",
    )


class React(Router):
    """Reasoning over names and descriptions, step by step."""

    id = "react"
    title = "ReAct"
    paper = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
    summary = (
        "Reasons over names and descriptions, without retrieval: picks servers, then a tool of theirs, step by step."
    )
    parameters = ReactParameters
    score = "fit of the description"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read: PerCatalog[tuple[int, NDArray[np.int64]]] = PerCatalog(_read_tokens)

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """A cycle for each action."""
        if not isinstance(parameters, ReactParameters):
            raise TypeError(f"ReAct takes ReactParameters, not {type(parameters).__name__}")
        shown = np.zeros(len(scene.tool_ids), dtype=np.bool_)

        def find(text: str, match: Match) -> Finding:
            servers = np.maximum(question.cosines("servers", "profile", text), 0)
            tools = np.maximum(question.cosines("tools", "full", text), 0)
            order = ranking(servers, match.servers, scene.server_order)
            listed = _reasoned(question, scene, text, servers, order, parameters)
            within = np.flatnonzero(listed[scene.tool_server])
            shown[within] = True
            best = within[ranking(tools[within], match.tools[within], scene.tool_order[within])]
            return Finding(servers, tools, listed, best[:SHOWN])

        parts = orchestrate(question, scene, parameters, find)
        called = sorted({row for part in parts for row in part.chosen})
        of_servers, of_tools = self._read(scene.catalog)
        return verdict(
            scene,
            parts,
            score=self.score,
            looked=("tools", "Chosen by name and description.", "Names and descriptions of all their tools are read."),
            by=question.planner.name,
            exposure=Exposure(int(of_tools[shown].sum() + scene.tool_tokens[called].sum()), of_servers),
        )


def _reasoned(
    question: Question, scene: Scene, text: str, fit: Floats, order: NDArray[np.int64], p: ReactParameters
) -> Mask:
    """The servers to look into, as a mask: those that a model names, and where it names none, or rules plan, the fittest."""
    rows = order[: p.s].tolist()
    if p.planner == "model":
        servers = scene.catalog.servers
        cards = [
            Card(servers[row].name, profile(servers[row]), min(1.0, float(fit[row]))) for row in map(int, order[:SHOWN])
        ]
        named = question.planner.select(text, cards, p.s).ids
        rows = [scene.catalog.server_row[name] for name in named] or rows
    listed = np.zeros(len(order), dtype=np.bool_)
    listed[rows] = True
    return listed


def _read_tokens(catalog: Catalog, _: object) -> tuple[int, NDArray[np.int64]]:
    """Tokens of the list of all servers, and (T,) those of each tool's name and description."""
    servers = count_tokens("\n".join(profile(server) for server in catalog.servers))
    return servers, np.array(count_many([full(tool) for tool in catalog.tools]), dtype=np.int64)
