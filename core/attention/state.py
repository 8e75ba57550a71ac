"""The agent's state, for a form that edits it: what a catalog's preconditions ask for, and what each held-back tool lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.preconditions import AgentState


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A tool that overlaps enough and that the state does not admit: its ISO, its rank (from 1) among the candidates if
    it alone were admitted (None where it would be none of the k), and the preconditions that do not hold."""

    tool: str
    iso: float
    rank: int | None
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """The agent's state in a decision, the state that all preconditions of the catalog (of `guarded` tools) name, and the tools
    that are held back, highest ISO first. `checked` is False where the decision did not look at the state."""

    state: AgentState
    named: AgentState
    guarded: int
    held_back: tuple[HeldBack, ...]
    checked: bool


def state_view(decision: Decision, catalog: Catalog) -> StateView:
    """The state of a decision by Tool Attention."""
    texts = {name: str(decision.parameters[name]) for name in ("scopes", "outputs", "milestones")}
    state, tools = AgentState.of(**texts), decision.tools
    ranked = sorted(decision.remarks, key=lambda row: (-tools.utility[row], tools.ids[row]))
    active, k = tools.utility[list(decision.candidates)], cast(int, decision.parameters["n"])
    guarded = [tool.preconditions for tool in catalog.tools if tool.preconditions]
    return StateView(
        state=state,
        named=AgentState.satisfying(text for preconditions in guarded for text in preconditions),
        guarded=len(guarded),
        held_back=tuple(
            HeldBack(
                tools.ids[row],
                float(tools.utility[row]),
                rank if (rank := 1 + int(np.count_nonzero(active >= tools.utility[row]))) <= k else None,
                state.unmet(catalog.tools[catalog.tool_row[tools.ids[row]]].preconditions),
            )
            for row in ranked
            if tools.ids[row] in catalog.tool_row  # a catalog may have been replaced since
        ),
        checked=bool(decision.parameters["preconditions"]),
    )
