"""The agent's state as Tool Attention's preconditions see it, edited on the page: scopes, outputs seen, milestones.

The state is part of the router's parameters: the widgets are filled from them at every run and write back on a change, so
that a link, a reset and a pinned variant carry it like any other parameter.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.domain.params import NOTHING
from core.domain.preconditions import EVERYTHING, AgentState
from dashboard.pages.route.gated_tools import gated_tools

LABELS = {"scopes": "Scopes granted", "outputs": "Outputs seen", "milestones": "Milestones reached"}
DECLARED = (
    "The conditions under which a tool may be called are declared in the catalog, beside the tool's description: "
    '`"preconditions": ["is_authenticated(scope=\'mail:write\')", "milestone_reached(name=\'confirmed\')"]`.'
)
HELP = {
    "scopes": "What the agent is authenticated for: is_authenticated(scope). mail:* grants all that begins with mail:.",
    "outputs": "Tools, or beginnings of their names, whose output the agent has seen: has_prior_tool_output(prefix).",
    "milestones": "How far the work has come: milestone_reached(name).",
}


def agent_state(app: App, decisions: Sequence[Decision], knobs: str) -> None:
    """The editor, and the tools that a decision or the steps of a plan leave out for it; nothing for a router without state.

    The first decision has the state as it was given; later steps of a plan have seen more. `knobs` is the prefix of the
    session keys of the router's parameters.
    """
    views = [view for decision in decisions if (view := app.attention.agent_state(decision))]
    if not views:
        return
    view = views[0]
    with st.container(border=True, gap="xsmall", key="route:state"):
        _title(view.guarded, knobs)
        grid = st.grid(3, min_column_width=220, gap="small")
        for name in LABELS:
            with grid.cell():
                granted, named = (sorted(getattr(state, name)) for state in (view.state, view.named))
                _choice(name, granted, named, knobs, disabled=not view.checked)
        if len(views) > 1 and EVERYTHING not in view.state.outputs:
            st.caption("A step of the plan has also seen the outputs of the steps that it builds on.")
        gated_tools(views, _grant, (knobs, view.state))


def _title(guarded: int, knobs: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        tools = {0: "No tool has", 1: "1 tool has"}.get(guarded, f"{guarded} tools have")
        st.markdown(
            f"**Agent state** :small[:gray[{tools} preconditions in this catalog.]]", width="content", help=DECLARED
        )
        with st.container(horizontal=True, width="content", gap="xsmall"):
            for label, text in (("Grant nothing", NOTHING), ("Grant everything", EVERYTHING)):
                st.button(label, key=f"route:state:{text}", type="tertiary", on_click=_set_all, args=(knobs, text))


def _choice(name: str, granted: list[str], named: list[str], knobs: str, *, disabled: bool) -> None:
    key = f"route.state.{name}"
    st.session_state[key] = granted
    st.multiselect(
        LABELS[name], list(dict.fromkeys([EVERYTHING, *named, *granted])), key=key, help=HELP[name], disabled=disabled,
        format_func=lambda one: "everything" if one == EVERYTHING else one, placeholder="Nothing",
        accept_new_options=True, select_all=False, wrap=True, on_change=_chosen, args=(name, granted, knobs),
    )  # fmt: skip


def _chosen(name: str, before: Sequence[str], knobs: str) -> None:
    """Everything and something exclude each other: what was chosen last counts."""
    chosen: list[str] = st.session_state[f"route.state.{name}"]
    if EVERYTHING in chosen and len(chosen) > 1:
        chosen = [one for one in chosen if one != EVERYTHING] if EVERYTHING in before else [EVERYTHING]
    st.session_state[f"{knobs}.{name}"] = ",".join(chosen)


def _grant(knobs: str, state: AgentState, lacks: Sequence[str]) -> None:
    for name, text in (state | AgentState.satisfying(lacks)).texts().items():
        st.session_state[f"{knobs}.{name}"] = text


def _set_all(knobs: str, text: str) -> None:
    for name in LABELS:
        st.session_state[f"{knobs}.{name}"] = text
