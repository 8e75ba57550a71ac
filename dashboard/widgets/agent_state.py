"""The agent's state as Tool Attention's preconditions see it, edited on the page: scopes, outputs seen, milestones.

The router's parameters are the state; what is drawn here is made from them at every run and written back on a change, so
that a link, a reset and a pinned variant carry it like any other parameter.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.console import Console
from core.domain.decision import Decision
from core.domain.params import NOTHING
from core.domain.preconditions import EVERYTHING, AgentState
from dashboard.widgets.agent_state_held import held_back

LABELS = {"scopes": "Scopes held", "outputs": "Outputs seen", "milestones": "Milestones reached"}
DECLARED = (
    "What has to hold before a tool may be called is declared in the catalog, beside the tool's description: "
    '`"preconditions": ["is_authenticated(scope=\'mail:write\')", "milestone_reached(name=\'confirmed\')"]`.'
)
HELP = {
    "scopes": "What the agent is authenticated for: is_authenticated(scope). mail:* holds all that begins with mail:.",
    "outputs": "Tools, or beginnings of their names, whose output the agent has seen: has_prior_tool_output(prefix).",
    "milestones": "How far the work has come: milestone_reached(name).",
}


def agent_state(console: Console, decisions: Sequence[Decision], knobs: str) -> None:
    """The editor and what is held back in a decision, or in the steps of a plan; nothing for a router without state.

    The first of them has the state as it was given; later steps of a plan have seen more. `knobs` is the prefix of the
    session keys that hold the router's parameters.
    """
    views = [view for decision in decisions if (view := console.middleware.agent_state(decision))]
    if not views:
        return
    view = views[0]
    with st.container(border=True, gap="xsmall", key="route:state"):
        _title(view.guarded, knobs)
        grid = st.grid(3, min_column_width=220, gap="small")
        for name in LABELS:
            with grid.cell():
                held, named = (sorted(getattr(state, name)) for state in (view.held, view.named))
                _choice(name, held, named, knobs, disabled=not view.checked)
        if len(views) > 1 and EVERYTHING not in view.held.outputs:
            st.caption("A step of the plan has besides seen the outputs of the steps that it builds on.")
        held_back(views, _grant, (knobs, view.held))


def _title(guarded: int, knobs: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        tools = {0: "No tool has", 1: "1 tool has"}.get(guarded, f"{guarded} tools have")
        st.markdown(
            f"**Agent state** :small[:gray[{tools} preconditions in this catalog.]]", width="content", help=DECLARED
        )
        with st.container(horizontal=True, width="content", gap="xsmall"):
            for label, text in (("Hold nothing", NOTHING), ("Hold everything", EVERYTHING)):
                st.button(label, key=f"route:state:{text}", type="tertiary", on_click=_hold_all, args=(knobs, text))


def _choice(name: str, held: list[str], named: list[str], knobs: str, *, disabled: bool) -> None:
    key = f"route.state.{name}"
    st.session_state[key] = held
    st.multiselect(
        LABELS[name], list(dict.fromkeys([EVERYTHING, *named, *held])), key=key, help=HELP[name], disabled=disabled,
        format_func=lambda one: "everything" if one == EVERYTHING else one, placeholder="Nothing",
        accept_new_options=True, select_all=False, wrap=True, on_change=_chosen, args=(name, held, knobs),
    )  # fmt: skip


def _chosen(name: str, before: Sequence[str], knobs: str) -> None:
    """Everything and something cannot be held together: what was chosen last counts."""
    chosen: list[str] = st.session_state[f"route.state.{name}"]
    if EVERYTHING in chosen and len(chosen) > 1:
        chosen = [one for one in chosen if one != EVERYTHING] if EVERYTHING in before else [EVERYTHING]
    st.session_state[f"{knobs}.{name}"] = ",".join(chosen)


def _grant(knobs: str, held: AgentState, lacks: Sequence[str]) -> None:
    for name, text in (held | AgentState.satisfying(lacks)).texts().items():
        st.session_state[f"{knobs}.{name}"] = text


def _hold_all(knobs: str, text: str) -> None:
    for name in LABELS:
        st.session_state[f"{knobs}.{name}"] = text
