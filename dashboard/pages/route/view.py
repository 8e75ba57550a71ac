"""The Route page: what is needed, who was considered, who was dropped and why, who won, and what it costs."""

from __future__ import annotations

import secrets

import streamlit as st

from core.app import App
from core.routers.tool_attention import STATE
from core.shared.errors import WayfareError
from dashboard.lane import PATH as LANE_PATH
from dashboard.pages.route.candidates import ACTIONS
from dashboard.pages.route.decision import decision_body
from dashboard.pages.route.guide import guide
from dashboard.pages.route.home import home
from dashboard.pages.route.plan import plan_body, plan_choice, start_plan
from dashboard.pages.route.turned import HEADLINE, TOOLS
from dashboard.session import current_app, first_catalog
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.knob_history import history_key
from dashboard.ui.knobs import LaneLink, knob_panel, read_knobs, reset_and_history, start_knobs
from dashboard.ui.planner_usage import planner_usage
from dashboard.ui.preset_choice import preset_choice
from dashboard.ui.query_form import QueryForm, query_row
from dashboard.ui.text import escaped
from dashboard.ui.token_meter import read_meter, start_meter
from dashboard.ui.url_state import UrlState

RESULT, PRESET, TOKEN = "route:result", "route:preset", "route:token"


def page() -> None:
    """Draw the page from the URL's state; the result writes the state back."""
    app, state = current_app(), UrlState("route", asks=True)
    linked = state.begin()
    start_meter(state, linked)
    start_plan(state, linked)
    query = query_row(app, state, linked, first_catalog())
    defaults, prefix = app.routing.parameters(query.router), knob_prefix(query)
    for problem in start_knobs(defaults, linked, prefix):
        st.warning(f"The link was not taken whole: {escaped(problem)}", icon=":material/link_off:")
    with st.sidebar:
        reset_and_history(defaults, prefix)
        st.fragment(preset_choice, key=PRESET)(defaults, prefix)
        lane = LaneLink(LANE_PATH, lane_token(), HEADLINE, TOOLS, _below(ACTIONS))
        knob_panel(defaults, prefix, (RESULT, PRESET, history_key(prefix)), elsewhere={STATE}, lane=lane)
    guide(asked=bool(query.subtask), calls=_below(f"{ACTIONS}:call"))
    _result(app, state, query)


@st.fragment(key=RESULT)
def _result(app: App, state: UrlState, query: QueryForm) -> None:
    """What is redrawn when a knob moves: everything below the query."""
    parameters = read_knobs(app.routing.parameters(query.router), knob_prefix(query))
    linked = {**query.texts(first_catalog()), **{name: str(value) for name, value in parameters.changed().items()}}
    planner = plan_choice(app, state, query.subtask) if query.subtask else ""
    state.end({**linked, **read_meter(state).texts(), "plan": planner}, question=linked)
    if not query.subtask:
        home(app, state, query.catalog)
        return
    try:
        show_preparing(app, query.catalog, decides=True)
        if planner:
            plan_body(app, query, parameters, planner, linked, knob_prefix(query))
        else:
            decision_body(app, state, query, parameters, linked, knob_prefix(query), lane_token())
        planner_usage(app)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _below(key: str) -> str:
    """A CSS selector of what has a key that begins like this."""
    return f'[class*="st-key-{key.replace(":", "-")}"]'


def lane_token() -> str:
    """What this visitor's page proves itself with to the fast lane; nobody else has it."""
    return str(st.session_state.setdefault(TOKEN, secrets.token_urlsafe(32)))


def knob_prefix(query: QueryForm) -> str:
    """The prefix of a router's knobs in the session: two routers may give one name another range."""
    return f"route.knob.{query.router}"
