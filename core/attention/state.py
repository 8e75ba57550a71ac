"""The agent's state as somebody edits it: what a catalog's preconditions ask for, and what each held-back tool lacks."""

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
    """What a decision's state holds, what preconditions name in its catalog (of `guarded` tools), and what is held back,
    highest ISO first. `checked` is False where the decision did not look at the state."""

    held: AgentState
    named: AgentState
    guarded: int
    held_back: tuple[HeldBack, ...]
    checked: bool


def state_view(decision: Decision, catalog: Catalog) -> StateView:
    """The state of a decision by Tool Attention."""
    said = {name: str(decision.parameters[name]) for name in ("scopes", "outputs", "milestones")}
    held, tools = AgentState.of(**said), decision.tools
    ranked = sorted(decision.remarks, key=lambda row: (-tools.utility[row], tools.ids[row]))
    active, k = tools.utility[list(decision.candidates)], cast(int, decision.parameters["n"])
    asked_for = [tool.preconditions for tool in catalog.tools if tool.preconditions]
    return StateView(
        held=held,
        named=AgentState.satisfying(text for texts in asked_for for text in texts),
        guarded=len(asked_for),
        held_back=tuple(
            HeldBack(
                tools.ids[row],
                float(tools.utility[row]),
                rank if (rank := 1 + int(np.count_nonzero(active >= tools.utility[row]))) <= k else None,
                held.unmet(catalog.tools[catalog.tool_row[tools.ids[row]]].preconditions),
            )
            for row in ranked
            if tools.ids[row] in catalog.tool_row  # a catalog may have been replaced since
        ),
        checked=bool(decision.parameters["preconditions"]),
    )
