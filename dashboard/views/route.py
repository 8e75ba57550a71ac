"""The Route page: what is needed, who was considered, who was dropped and why, who won, and what it costs."""

from __future__ import annotations

import streamlit as st

from core.console import Console
from core.domain.decision import Decision
from core.errors import WayfareError
from dashboard.charts.auction import auction
from dashboard.charts.base import CONFIG
from dashboard.charts.posted_price import posted_price
from dashboard.charts.server_ranking import server_ranking
from dashboard.charts.tool_breakdown import tool_breakdown
from dashboard.charts.utility_lines import utility_lines
from dashboard.session import console, first_catalog
from dashboard.widgets.candidates import candidate_cards
from dashboard.widgets.clicks import clickable
from dashboard.widgets.holds import holds
from dashboard.widgets.knobs import knob_panel, read_knobs, reset_knobs, start_knobs
from dashboard.widgets.preparing import show_preparing
from dashboard.widgets.question import Question, examples, question
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState
from dashboard.widgets.verdict import verdict
from dashboard.widgets.why import why_panel

WHY = "route.why"
STORY = "route:story"
STORY_PX = 350


def page() -> None:
    """Draw the page from the URL's state; the story writes the state back."""
    opened, state = console(), UrlState("route")
    kept = state.begin()
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
        knob_panel(defaults, _knobs(asked), STORY)
    _story(opened, state, asked)


@st.fragment(key=STORY)
def _story(opened: Console, state: UrlState, asked: Question) -> None:
    parameters = read_knobs(opened.parameters(asked.router), _knobs(asked))
    state.end({**asked.texts(first_catalog()), **{name: str(value) for name, value in parameters.changed().items()}})
    if not asked.subtask:
        examples(opened, state, asked.catalog)
        return
    try:
        show_preparing(opened, asked.catalog)
        decision = opened.route(
            asked.subtask, catalog=asked.catalog, router=asked.router, parameters=parameters, server_hint=asked.hint
        )
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    verdict(decision)
    _steps(decision)
    why_panel(opened, decision, WHY)
    _curves(opened, decision)


def _knobs(asked: Question) -> str:
    """The session keys of a router's knobs: two routers may give one name another range."""
    return f"route.knob.{asked.router}"


def _steps(decision: Decision) -> None:
    story = st.grid(4, min_column_width=235, gap="xsmall")
    with story.cell():
        clickable(server_ranking(decision, height=STORY_PX), "route:servers", WHY)
    with story.cell():
        clickable(auction(decision, height=STORY_PX), "route:auction", WHY)
    with story.cell():
        clickable(tool_breakdown(decision, height=STORY_PX), "route:tools", WHY)
    with story.cell():
        candidate_cards(decision, height=STORY_PX)


def _curves(opened: Console, decision: Decision) -> None:
    curves = st.grid(3, min_column_width=235, gap="xsmall")
    for axis in ("alpha_t", "kappa"):
        lines = opened.utility_lines(decision, axis)
        with curves.cell():
            st.plotly_chart(utility_lines(lines), key=f"route:{axis}", config=CONFIG)
            st.caption(holds(lines))
    curves.plotly_chart(posted_price(decision, opened.posted_price_curve(decision)), key="route:posted", config=CONFIG)
