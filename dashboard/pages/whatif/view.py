"""The What if page: one sub-task under other values of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.app import App
from core.decisions import curves
from core.decisions.auction import Offer, auction_of, payoff
from core.decisions.curves import Curve, utilities
from core.decisions.routing import Asked
from core.domain import units
from core.routers.ehrr import EhrrParameters
from dashboard.pages.whatif.charts import payoff_chart
from dashboard.pages.whatif.tasks import tasks_view
from dashboard.pages.whatif.winners import plane_view, winners_view
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import curve_chart
from dashboard.ui.layer import supposed
from dashboard.ui.query_form import QueryForm, example_subtasks, show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.table import table
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.url_state import UrlState, select

WORTH = 0.10


def auction_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Draw the table of offers, then the pay-off of one server over its ask."""
    case = app.what_if.case(asked)
    if case is None:
        return
    if not case.parameters.auction:
        st.info("The auction is off, so no price is posted.", icon=":material/gavel:")
        return
    worth = st.number_input(
        "Value of a solved sub-task for the buyer, V ($)", 0.0, 10.0, WORTH, 0.01, key="whatif.worth", width=320,
        help="The buyer's surplus is the chance that one call solves the sub-task, times V, minus the posted price.",
    )  # fmt: skip
    offers = auction_of(case, worth)
    table([_row(one) for one in offers])
    st.caption(
        "The payment is exactly the posted price τ (Corollary 2). The surplus of a server that accepts is τ − c; it counts if the "
        "server is executed. Asks are taken as true costs."
    )
    st.latex(r"a_i = 1\ \text{if}\ c_i \le \tau_i,\qquad u_i = a_i\,(\tau_i - c_i),\qquad u_{buyer} = V\,P - \tau_i")
    st.markdown("##### What if a server stated another cost?")
    server = select(st.container(), state, {}, "server", "Server", [one.server for one in offers], width=320)
    offer = next(one for one in offers if one.server == server)
    cost = st.slider(
        "True cost of a call (m$)", 0.0, round(3e3 * offer.posted_usd, 2) or 1.0, min(round(1e3 * (offer.ask_usd or 0.0), 2), round(3e3 * offer.posted_usd, 2)),
        key=f"whatif.cost.{server}", width=420,
    )  # fmt: skip
    found = payoff(offer.posted_usd, cost / 1e3)
    chart(payoff_chart(found, server), key="whatif:payoff")
    st.markdown(
        f"Theorem 1: the true cost earns **{escaped(units.price(found.truthful_usd))}** if it is executed. No other "
        f"statement earns more, and {'a cost above τ earns nothing' if found.truthful_usd > 0 else 'a lower cost makes a loss' if found.cost_usd > found.posted_usd else 'no statement makes a difference'}."
    )


def _row(one: Offer) -> dict[str, object]:
    return {
        "server": one.server, "answer": "accepts" if one.accepts else "rejects",
        "posted τ": units.price(one.posted_usd), "ask c": "none" if one.ask_usd is None else units.price(one.ask_usd),
        "surplus of the server": units.price(one.server_usd) if one.accepts else "–",
        "surplus of the buyer": units.price(one.buyer_usd) if one.accepts else "–",
        "needed ask": "no change" if one.accepts else f"{units.price(one.posted_usd)} or less", "best tool": one.tool,
    }  # fmt: skip


def curves_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Draw the curves, three in a row. Other routers than EHRR have only the curve of expected value."""
    grid = st.grid(3, min_column_width=330, gap="small")
    for number, curve in enumerate(_curves(app, asked)):
        with grid.cell(), st.container(border=True, gap="xxsmall"):
            chart(curve_chart(curve), key=f"whatif:curve:{number}")
            st.latex(curve.formula)
            if curve.filled:
                st.markdown(f":small[{escaped(curve.filled, 300)}]")


def _curves(app: App, asked: Asked) -> list[Curve]:
    case, found = app.what_if.case(asked), list[Curve]()
    if case is not None:
        strips = app.what_if.strips(asked)
        found += [utilities(case, strips[name]) for name in ("alpha_t", "kappa", "alpha_s")]
        found += [curves.posted(case), curves.time_against_success(case), curves.conservatism(case)]
        found += curves.money_against_cap(case, strips["budget_usd"])
    return [*found, curves.value_against_worth(app.what_if.value_case(asked))]


View = Callable[[App, UrlState, Asked, str], None]
VIEWS: dict[str, View] = {
    "Winners": winners_view, "Two knobs": plane_view, "Cost curves": curves_view, "Auction": auction_view,
    "Over tasks": tasks_view,
}  # fmt: skip
OF_EHRR = ("Auction", "Over tasks")
KEPT = ("x", "y", "tool", "server", "tasks", "bar")  # texts of views in the URL


ASKS = Asks("whatif", of_answer=("tool", "server"))


def page(question: Question) -> None:
    """Draw the view, and write the URL."""
    app, state, query, parameters = question.app, question.state, question.query, question.parameters
    for name in KEPT:
        st.session_state.setdefault(state.key(name), question.linked.get(name, ""))
    view = _choice(state, question.linked)
    own = {name: st.session_state[state.key(name)] for name in KEPT}
    state.end({**question.texts, "view": "" if view == "Winners" else view, **own}, question=question.texts)
    if not query.subtask:
        _empty_page(state, query)
        return
    with errors_shown():
        show_preparing(app, query.catalog, decides=True)
        if view in OF_EHRR and not isinstance(parameters, EhrrParameters):
            st.info("This view needs EHRR, the router with an auction. Choose it above.", icon=":material/alt_route:")
            return
        asked = Asked(query.subtask, parameters, query.catalog, query.router, query.hint, supposed(query.catalog))
        VIEWS[view](app, state, asked, question.prefix)


def _choice(state: UrlState, linked: dict[str, str]) -> str:
    """Draw the choice of a view."""
    key = state.key("view")
    if st.session_state.get(key) not in VIEWS:
        st.session_state[key] = linked["view"] if linked.get("view") in VIEWS else "Winners"
    return st.segmented_control("View", list(VIEWS), key=key, label_visibility="collapsed") or "Winners"


def _empty_page(state: UrlState, query: QueryForm) -> None:
    st.markdown("#### What would change the winner?")
    st.markdown(
        "Enter a sub-task. You see the winner at each value of each knob, the changes that make another tool win, "
        "and the winner over two knobs. All values are exact."
    )
    example_subtasks(state, query.catalog)
