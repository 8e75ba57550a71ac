"""The Route page: what is needed, who was considered, who was dropped and why, who won, and what it costs."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.console import Console
from core.errors import WayfareError
from core.routers.tool_attention import STATE
from dashboard.session import console, first_catalog
from dashboard.widgets.agent_state import agent_state
from dashboard.widgets.knobs import knob_panel, read_knobs, reset_knobs, start_knobs
from dashboard.widgets.plan import plan_body, plan_choice, start_plan, totals
from dashboard.widgets.planner_usage import planner_usage
from dashboard.widgets.preparing import show_preparing
from dashboard.widgets.question import Question, examples, question
from dashboard.widgets.route_steps import curves, steps
from dashboard.widgets.text import escaped
from dashboard.widgets.token_meter import folded_meter, read_meter, start_meter
from dashboard.widgets.url_state import UrlState
from dashboard.widgets.verdict import verdict
from dashboard.widgets.why import choose, why_panel

WHY = "route.why"
STORY = "route:story"


def page() -> None:
    """Draw the page from the URL's state; the story writes the state back."""
    opened, state = console(), UrlState("route")
    kept = state.begin()
    start_meter(opened, state, kept)
    start_plan(state, kept)
    asked = question(opened, state, kept, first_catalog())
    defaults = opened.parameters(asked.router)
    for problem in start_knobs(defaults, kept, _knobs(asked)):
        st.warning(f"The link was not taken whole: {escaped(problem)}", icon=":material/link_off:")
    with st.sidebar:
        st.button(
            "Reset all knobs",
            icon=":material/restart_alt:",
            on_click=reset_knobs,
            args=(defaults, _knobs(asked)),
            width="stretch",
        )
        knob_panel(defaults, _knobs(asked), STORY, elsewhere={STATE})
    _story(opened, state, asked)


@st.fragment(key=STORY)
def _story(opened: Console, state: UrlState, asked: Question) -> None:
    parameters = read_knobs(opened.parameters(asked.router), _knobs(asked))
    texts = {**asked.texts(first_catalog()), **{name: str(value) for name, value in parameters.changed().items()}}
    assumed = read_meter(state)
    planner = plan_choice(opened, state, asked.subtask) if asked.subtask else ""
    state.end({**texts, **assumed.texts(), "plan": planner})
    if not asked.subtask:
        examples(opened, state, asked.catalog)
        return
    try:
        show_preparing(opened, asked.catalog)
        if planner:
            plan = opened.plan(
                asked.subtask, planner=planner, catalog=asked.catalog, router=asked.router, parameters=parameters
            )
            totals(plan)
            agent_state(opened, [step.decision for step in plan.steps], _knobs(asked))
            plan_body(opened, plan, texts)
            planner_usage(opened)
            return
        decision = opened.route(
            asked.subtask, catalog=asked.catalog, router=asked.router, parameters=parameters, server_hint=asked.hint
        )
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    verdict(decision)
    agent_state(opened, [decision], _knobs(asked))
    steps(decision, texts, partial(choose, WHY))
    why_panel(opened, decision, WHY)
    curves(opened, decision)
    folded_meter(opened, state, assumed, decision)
    planner_usage(opened)


def _knobs(asked: Question) -> str:
    """The session keys of a router's knobs: two routers may give one name another range."""
    return f"route.knob.{asked.router}"
