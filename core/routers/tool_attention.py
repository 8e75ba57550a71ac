"""Tool Attention: loads the schemas of tools whose summary overlaps with the intent and that the agent's state admits.

    ISO(q, t) = cos(e(q), e(s_t))                              s_t: name and short description, at most 60 tokens    (4), (5)
    g(t)      = [ISO(q, t) >= theta] * [state satisfies pre_t]                                                      (6)
    active    = top-k of the tools with g(t) = 1, by ISO                                                            (7)

A model sees two phases: phase 1, the summaries of all tools, equal at every turn and so in the prefix that a provider
caches; phase 2, the full definitions of the active tools alone, newly put before the model. A call of any other
tool is refused after the model has replied (`core.routers.attention`). Preconditions are declared in the catalog and checked
against the caller's state. They look at no text, so no wording evades them.

The paper's: the equations, theta 0.28, k 10, the phases, the predicates. Ours: summaries are extractive; the state holds
everything (`*`) until it is set, so that a first query is not emptied by missing scopes; a server's score is its best tool's;
time and prices are shown and do not decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision, Exposure, Stage
from core.domain.execution import EVERYTHING, AgentState
from core.domain.params import FINE_SHARE, Range, knob
from core.domain.trace import DROPS, KEPT, Drop
from core.routers.attention import MAX_TOKENS, Pool, pool, turn_event
from core.routers.base import TOOL_ATTENTION, Router, RoutingResult
from core.routers.context import Query, RoutingContext, per_catalog
from core.routers.parameters import ABLATION, FIT, SIMILARITY, SimilarityParameters
from core.routers.ranked_result import NO_TOOLS, Floats, Mask, cosine_layers, ranked_result, servers_of

STATE = "agent state"


@dataclass(frozen=True)
class ToolAttentionParameters(SimilarityParameters):
    """The paper's defaults, the agent's state, and the switches of its ablation study (its section 7.3)."""

    n: int = knob(10, Range(1, 50), group=SIMILARITY, symbol="k", label="Active tools",
        help="Active tools, top-k by ISO, (7).")  # fmt: skip
    theta: float = knob(0.28, FINE_SHARE, group=SIMILARITY, symbol="θ", label="Least overlap",
        help="Least overlap of intent and summary (ISO) of an active tool, (6), if similarity is the paper's; `wayfare calibrate` fits it to labelled tasks.")  # fmt: skip
    least_fit: float = knob(0.05, FINE_SHARE, group=SIMILARITY, symbol="p₀", label="Least fit",
        help="Least probability of fit of an active tool: learnt gating, the paper's outlook.")  # fmt: skip
    summary_tokens: int = knob(MAX_TOKENS, Range(20, MAX_TOKENS, 5, "tokens"), group=SIMILARITY, symbol="summary", label="Length of a summary", advanced=True,
        help="Most tokens of one summary; all summaries together are phase 1.")  # fmt: skip
    scopes: str = knob(EVERYTHING, group=STATE, label="Scopes granted",
        help="Scopes that the agent holds, such as mail:write, calendar:*; * for all, none for none.")  # fmt: skip
    outputs: str = knob(EVERYTHING, group=STATE, label="Outputs seen",
        help="Tools whose output the agent has seen, such as files::search_text; * for all, none for none.")  # fmt: skip
    milestones: str = knob(EVERYTHING, group=STATE, label="Milestones reached",
        help="Milestones that the work has reached, such as plan_confirmed; * for all, none for none.")  # fmt: skip
    preconditions: bool = knob(True, group=ABLATION, label="Check preconditions", advanced=True,
        help="Off: overlap alone decides, whatever the state (w/o preconditions, ISO only).")  # fmt: skip
    lazy_loading: bool = knob(True, group=ABLATION, label="Load schemas on demand", advanced=True,
        help="Off: no schema is loaded, the model sees summaries alone (phase 1 only).")  # fmt: skip
    hallucination_gate: bool = knob(True, group=ABLATION, label="Refuse calls of inactive tools", advanced=True,
        help="Off: a call of a tool that is not active goes through (w/o hallucination gate).")  # fmt: skip

    def state(self) -> AgentState:
        return AgentState.of(scopes=self.scopes, outputs=self.outputs, milestones=self.milestones)


@per_catalog
def summaries(catalog: Catalog, limit_tokens: int) -> Pool:
    return pool(catalog.tools, limit_tokens)


class ToolAttention(Router[ToolAttentionParameters]):
    """Overlap of intent and summary, gated by a threshold and the agent's state; schemas of the active tools alone."""

    id = "tool_attention"
    title = "Tool Attention"
    paper = f"{TOOL_ATTENTION}: Dynamic Tool Gating and Lazy Schema Loading"
    score = "gating score"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: ToolAttentionParameters) -> RoutingResult:
        """Algorithm 1, up to the model."""
        phase_1 = summaries(context.catalog, parameters.summary_tokens)
        by_fit = parameters.similarity == FIT
        iso = query.fit().tools if by_fit else query.cosines_of(phase_1.texts)
        above_mask = iso >= (parameters.least_fit if by_fit else parameters.theta)
        remarks = _unmet(context.catalog, above_mask, parameters.state()) if parameters.preconditions else {}
        drop_codes = np.where(above_mask, KEPT, DROPS.index(Drop.BELOW_THRESHOLD)).astype(np.int8)
        drop_codes[list(remarks)] = DROPS.index(Drop.GATED)
        result = ranked_result(
            context,
            *cosine_layers(context, iso),
            n=parameters.n,
            shortlisted=servers_of(context, above_mask),
            dropped=drop_codes,
            no_candidate="" if KEPT in drop_codes else _why_none(context, iso, remarks, by_fit=by_fit),
        )
        phase_2 = int(context.tool_tokens[list(result.candidates)].sum()) if parameters.lazy_loading else 0
        return replace(
            result,
            stages=_stages(
                phase_1, drop_codes, len(result.candidates), phase_2, parameters, _held_back(context, iso, remarks)
            ),
            exposure=Exposure(exposed=phase_2, cached=phase_1.tokens),
            remarks=remarks,
        )

    def having_seen(self, parameters: ToolAttentionParameters, tools: Sequence[str]) -> ToolAttentionParameters:
        """Adds the outputs of these tools to the agent's state."""
        state = parameters.state()
        ids = frozenset(tool for tool in tools if not re.search(r"[,\s]", tool))  # others would read as several
        if EVERYTHING in state.outputs or not ids:
            return parameters
        return replace(parameters, outputs=(state | AgentState(outputs=ids)).texts()["outputs"])

    def event(self, decision: Decision) -> dict[str, Any]:
        return turn_event(decision)


def _unmet(catalog: Catalog, above_mask: Mask, state: AgentState) -> dict[int, str]:
    """The tools that the state holds back, by row, with the preconditions that do not hold."""
    unmet_by_row = {int(row): state.unmet(catalog.tools[int(row)].preconditions) for row in np.flatnonzero(above_mask)}
    return {row: f"it needs {' and '.join(unmet)}" for row, unmet in unmet_by_row.items() if unmet}


def _stages(
    phase_1: Pool, drop_codes: NDArray[np.int8], active: int, phase_2: int, p: ToolAttentionParameters, held_back: str
) -> tuple[Stage, ...]:
    tools = len(drop_codes)
    n_below, n_gated = (int((drop_codes == DROPS.index(drop)).sum()) for drop in (Drop.BELOW_THRESHOLD, Drop.GATED))
    above = tools - n_below
    by_fit = p.similarity == FIT
    threshold = f"Probability of fit of at least {p.least_fit:g}." if by_fit else f"ISO of at least {p.theta:g}, (6)."
    state_note = f"State: {p.state().in_words()}.{held_back}" if p.preconditions else "Not checked."
    note = f"Phase 2: {phase_2:,} tokens of full definitions." if p.lazy_loading else "No definition is loaded."
    return (
        Stage("summaries", "tools", tools, tools, f"Phase 1: {phase_1.tokens:,} tokens, the same at every turn."),
        Stage("threshold", "tools", above, tools, threshold),
        Stage("preconditions", "tools", above - n_gated, above, state_note),
        Stage(
            "active set", "tools", active, above - n_gated, f"Top-{p.n} by {'fit' if by_fit else 'ISO'}, (7). {note}"
        ),
    )


def _held_back(context: RoutingContext, iso: Floats, remarks: Mapping[int, str]) -> str:
    if not remarks:
        return ""
    first = max(remarks, key=lambda row: (iso[row], -context.tool_order[row]))
    return f" {context.tool_ids[first]} is held back: {remarks[first]}."


def _why_none(context: RoutingContext, iso: Floats, remarks: Mapping[int, str], *, by_fit: bool) -> str:
    if not len(iso):
        return NO_TOOLS
    best = int(np.argmax(iso))
    nearest = f"that of {context.tool_ids[best]} comes nearest, with {iso[best]:z.3f}"
    if not remarks:
        return f"No tool reaches the threshold; {nearest}; lower {'least_fit' if by_fit else 'theta'}."
    tools_note = "the only tool" if len(remarks) == 1 else f"all {len(remarks)} tools"
    return f"The agent's state holds back {tools_note} above the threshold; {context.tool_ids[best]}: {remarks[best]}."
