"""One decision from left to right: servers, what happened between, tools, candidates; why, and the cost curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.domain.params import Parameters
from core.services.decide.whatif import Asked
from core.whatif.curves import posted, utilities
from dashboard.lane import lanes
from dashboard.pages.route.agent_state import agent_state
from dashboard.pages.route.candidates import candidate_cards
from dashboard.pages.route.refusing import refusing
from dashboard.pages.route.turned import (
    AUCTION,
    COLUMN_PX,
    HEADLINE,
    SERVERS,
    STAGES,
    TOOLS,
    TRIES,
    figures,
    lane_answers,
    texts,
)
from dashboard.pages.route.why import explain, why_panel
from dashboard.pages.route.winning_interval import winning_interval
from dashboard.session import visitor
from dashboard.ui.chart import chart
from dashboard.ui.charts.curve import curve_chart
from dashboard.ui.labels import Labelling, labelling
from dashboard.ui.live import live
from dashboard.ui.query_form import QueryForm
from dashboard.ui.text import escaped
from dashboard.ui.token_meter import folded_meter, read_meter
from dashboard.ui.url_state import UrlState
from dashboard.ui.whatif_layer import supposed

WHY = "route.why"
HEIGHT_PX = 280  # of a cost curve


def decision_body(
    app: App,
    state: UrlState,
    query: QueryForm,
    parameters: Parameters,
    linked: Mapping[str, str],
    knobs: str,
    token: str,
) -> None:
    """Route the query and show the decision. `linked` are what a link to it carries, `knobs` the prefix of the router's, `token`
    that of the page's fast lane. Under a what-if layer nothing is recorded.

    Raises WayfareError as the router does.
    """
    asked = Asked(query.subtask, parameters, query.catalog, query.router, query.hint, supposed(query.catalog))
    if asked.supposed:
        decision = app.routing.preview(
            query.subtask, catalog=query.catalog, router=query.router, parameters=parameters, server_hint=query.hint,
            supposed=asked.supposed,
        )  # fmt: skip
    else:
        decision = app.routing.route(
            query.subtask,
            visitor=visitor(),
            catalog=query.catalog,
            router=query.router,
            parameters=parameters,
            server_hint=query.hint,
        )
    lanes.open(token, lane_answers(app, asked))
    known, html = labelling(app, decision, asked.supposed), texts(decision, asked.supposed)
    live(html[HEADLINE], key=HEADLINE)
    agent_state(app, [decision], knobs)
    _columns(known, html, linked, partial(explain, WHY))
    why_panel(known, WHY)
    refusing(app, decision, parameters)
    _cost_curves(app, asked)
    folded_meter(app, state, read_meter(state), decision)


def _columns(
    known: Labelling, html: Mapping[str, str], linked: Mapping[str, str], choose: Callable[[str], None]
) -> None:
    """Four columns: servers, what happened between, tools, candidates. A click calls `choose` with a name."""
    decision = known.decision
    drawn = figures(decision)
    grid = st.grid(4, min_column_width=235, gap="xsmall")
    with grid.cell():
        chart(drawn[SERVERS], key=SERVERS, choose=choose)
    with grid.cell():
        if TRIES in html:
            with st.container(height=COLUMN_PX, border=False):
                live(html[TRIES], key=TRIES)
        elif AUCTION in drawn:
            chart(drawn[AUCTION], key=AUCTION, choose=choose)
        else:
            _stages(decision, drawn[STAGES])
    with grid.cell():
        chart(drawn[TOOLS], key=TOOLS, choose=choose)
    with grid.cell():
        candidate_cards(known, html, linked, height=COLUMN_PX)


def _stages(decision: Decision, drawn: go.Figure) -> None:
    with st.container(height=COLUMN_PX, border=False, gap="xsmall"):
        st.markdown("**2 · Stages**", help="What each stage of the router let through.")
        chart(drawn, key=STAGES)
        for stage in decision.stages:
            by = f" ({escaped(stage.by, 40)})" if stage.by else ""
            st.markdown(f":small[**{escaped(stage.name, 40)}**{by}: {escaped(stage.note, 240)}]")


def _cost_curves(app: App, asked: Asked) -> None:
    """The interval in which the winner stays the same; nothing for another router than EHRR."""
    case = app.what_if.case(asked)
    if case is None:
        return
    strips, knobs = app.what_if.strips(asked), {knob.name: knob for knob in asked.parameters.knobs()}
    grid = st.grid(3, min_column_width=235, gap="xsmall")
    for axis in ("alpha_t", "kappa"):
        with grid.cell():
            chart(curve_chart(utilities(case, strips[axis]), height=HEIGHT_PX), key=f"route:{axis}")
            st.caption(winning_interval(strips[axis], knobs[axis], getattr(asked.parameters, axis)))
    with grid.cell():
        chart(curve_chart(posted(case), height=HEIGHT_PX), key="route:posted")
