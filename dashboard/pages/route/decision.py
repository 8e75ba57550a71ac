"""A decision: its parts from the winner to the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.decisions.curves import posted, utilities
from core.decisions.routing import Asked
from core.decisions.strips import Strip
from core.domain.decision import Decision
from core.domain.feedback import RefusalCurve
from core.domain.params import Knob, Parameters, Value
from core.routers.base import RefusingParameters
from dashboard.lane import lanes
from dashboard.pages.route.candidates import candidate_cards
from dashboard.pages.route.charts import refusal_curve
from dashboard.pages.route.plan import agent_state
from dashboard.pages.route.present import present
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
from dashboard.session import visitor
from dashboard.ui.chart import chart, live
from dashboard.ui.charts.shared import curve_chart
from dashboard.ui.labels import Labelling, labelling
from dashboard.ui.layer import supposed
from dashboard.ui.query_form import QueryForm
from dashboard.ui.question import winner_colours
from dashboard.ui.text import escaped
from dashboard.ui.token_meter import folded_meter, read_meter
from dashboard.ui.url_state import UrlState


def refusing(app: App, decision: Decision, parameters: Parameters) -> None:
    """Draw the refusal knob's effect in a fold. Draws nothing for a router without the knob, an empty catalog, or while P(nothing fits) is
    not known."""
    nothing = None if decision.fit is None else decision.fit.nothing
    if not isinstance(parameters, RefusingParameters) or nothing is None or not decision.tools.ids:
        return
    percent = parameters.wrong_refusals
    with st.expander("What if no tool fits?", icon=":material/block:"):
        curve = app.refusals.curve(decision.catalog)
        text, drawing = st.columns([2, 3], gap="medium")
        text.markdown(f"P(nothing fits) **{nothing:.2f}** for this sub-task, {_limit(app, percent)}.")
        text.markdown(f":small[{_point(curve, percent)}]")
        text.caption(
            "P assumes that half of all sub-tasks are impossible. It orders sub-tasks and is not a frequency. The fit of a tool assumes that "
            "this one is possible, and leaves P out. P rises with the number of "
            "different tools that are about as good as the best, and falls with how near the best is and how like its nearest request. "
            "The knob is *Wrong refusals at most*, under Similarity."
        )
        with drawing:
            chart(refusal_curve(curve, percent), key="route:refusal")


def _limit(app: App, percent: float) -> str:
    if percent <= 0:
        return "and the knob is at 0, so nothing is refused"
    return f"refused above **{app.refusals.limit(percent):.2f}**"


def _point(curve: RefusalCurve, percent: float) -> str:
    here = curve.at(percent)
    where = (
        f":green-badge[measured] on {curve.questions:,} labelled sub-tasks of this catalog, each also asked without its right tools"
        if curve.questions
        else ":gray-badge[shipped] the mean over five catalogs that were held back from the fit, with requests and without. On single catalogs wrong refusals were "
        "between 0 and five times the limit. With 20 labelled sub-tasks it is measured here"
    )
    return (
        f"At {percent:g} %: {100 * here.wrong:.0f} % of the answerable sub-tasks are refused, and {100 * here.refused:.0f} % of the "
        f"impossible ones. {where}."
    )


def winning_interval(strip: Strip, knob: Knob, value: Value) -> str:
    """Returns Markdown: the exact interval around the current value, and the winner beyond each end."""
    winners = strip.winners()
    now = strip.high if value is None else float(value)
    here = max(place for place, one in enumerate(winners) if place == 0 or one.low <= now)
    if winners[here].winner is None:
        return "No tool can win here."
    unit = f" {knob.unit}" if knob.unit else ""
    if len(winners) == 1:
        return f"The winner stays the same for every {knob.symbol} up to {strip.high:g}{unit}."
    beyond = [
        f"{word} it {'no tool' if winners[place].winner is None else escaped(winners[place].winner or '', 60)} wins"
        for word, place in (("below", here - 1), ("above", here + 1))
        if 0 <= place < len(winners)
    ]
    return (
        f"The winner stays the same for {knob.symbol} from {winners[here].low:.3g} to {winners[here].high:.3g}{unit}; "
        f"{', '.join(beyond)}."
    )


WHY, WHY_PANEL = "route.why", "route:why-panel"
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
    """Route the query and show the decision. Raises WayfareError if the router fails.

    `linked` are the texts of a link to it, `knobs` is the prefix of the router's knobs, `token` that of the fast lane. Nothing is
    recorded with supposed figures.
    """
    asked = Asked(
        query.subtask, parameters, query.catalog, query.router, query.hint, supposed(query.catalog), at_once=True
    )
    if asked.supposed:
        decision = app.routing.preview(asked)
    else:
        decision = app.routing.route(
            query.subtask, visitor=visitor(), catalog=query.catalog, router=query.router, parameters=parameters,
            server_hint=query.hint, at_once=True,
        )  # fmt: skip
    lanes.open(token, lane_answers(app, asked, winner_colours(asked)))
    known, html = labelling(app, decision, asked.supposed), texts(decision, asked.supposed)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:winner"):
        with st.container(width="stretch"):
            live(html[HEADLINE], key=HEADLINE, lane=token)
        present(decision)
    agent_state(app, [decision], knobs)
    _columns(known, html, linked, partial(explain, WHY))
    with st.container(key=WHY_PANEL):
        why_panel(known, WHY)
    refusing(app, decision, parameters)
    _cost_curves(app, asked)
    folded_meter(app, state, read_meter(state), decision)


def _columns(
    known: Labelling, html: Mapping[str, str], linked: Mapping[str, str], choose: Callable[[str], None]
) -> None:
    """Draw four columns: servers, auction or stages, tools, candidates. A click calls `choose` with a name."""
    decision = known.decision
    drawn = figures(decision)
    grid = st.container(key="route:columns").grid(4, min_column_width=235, gap="xsmall")
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
        st.markdown("**2 · Stages**", help="The number of items that each stage kept.")
        chart(drawn, key=STAGES)
        for stage in decision.stages:
            by = f" ({escaped(stage.by, 40)})" if stage.by else ""
            st.markdown(f":small[**{escaped(stage.name, 40)}**{by}: {escaped(stage.note, 240)}]")


def _cost_curves(app: App, asked: Asked) -> None:
    """Draw the cost curves with the interval of the winner. Draws nothing for other routers than EHRR."""
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
