"""The auction of the sub-task: bits, prices and surpluses, what each server would have to ask, and Theorem 1 by trying."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.services.decide.whatif import Asked
from core.shared import units
from core.whatif.auction import Offer, auction_of, payoff
from dashboard.pages.whatif.charts.payoff import payoff_chart
from dashboard.ui.chart import chart
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

WORTH = 0.10


def auction_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """The table of offers, then one server's pay-off over what it asks."""
    case = app.what_if.case(asked)
    if case is None:
        return
    if not case.parameters.auction:
        st.info("The auction is off: no price is posted.", icon=":material/gavel:")
        return
    worth = st.number_input(
        "What a solved sub-task is worth to the buyer, V ($)", 0.0, 10.0, WORTH, 0.01, key="whatif.worth", width=320,
        help="The buyer's surplus is the chance that one call solves the sub-task, times V, less the posted price.",
    )  # fmt: skip
    offers = auction_of(case, worth)
    st.dataframe(
        pd.DataFrame([_row(one) for one in offers]), hide_index=True, height=table_height(len(offers)), row_height=32,
    )  # fmt: skip
    st.caption(
        "Payment is exactly the posted price τ (Corollary 2). Surplus of a server: τ − c where it accepts; it counts where the "
        "server is executed. The asks are taken as true costs."
    )
    st.latex(r"a_i = 1\ \text{if}\ c_i \le \tau_i,\qquad u_i = a_i\,(\tau_i - c_i),\qquad u_{buyer} = V\,P - \tau_i")
    key = state.key("server")
    names = [one.server for one in offers]
    if st.session_state.get(key) not in names:
        st.session_state[key] = names[0]
    st.markdown("##### What if a server said something else?")
    server = st.selectbox("Server", names, key=key, width=320)
    offer = next(one for one in offers if one.server == server)
    cost = st.slider(
        "Its true cost of a call (m$)", 0.0, round(3e3 * offer.posted_usd, 2) or 1.0, min(round(1e3 * (offer.ask_usd or 0.0), 2), round(3e3 * offer.posted_usd, 2)),
        key=f"whatif.cost.{server}", width=420,
    )  # fmt: skip
    found = payoff(offer.posted_usd, cost / 1e3)
    chart(payoff_chart(found, server), key="whatif:payoff")
    st.markdown(
        f"Theorem 1: to tell the truth earns **{escaped(units.price(found.truthful_usd))}** when it is executed; no other "
        f"answer earns more, and {'to overstate beyond τ earns nothing' if found.truthful_usd > 0 else 'to understate makes a loss' if found.cost_usd > found.posted_usd else 'none makes a difference'}."
    )


def _row(one: Offer) -> dict[str, object]:
    return {
        "server": one.server,
        "bit": "1 accepts" if one.accepts else "0 rejects",
        "posted τ": units.price(one.posted_usd),
        "ask c": "none" if one.ask_usd is None else units.price(one.ask_usd),
        "surplus of the server": units.price(one.server_usd) if one.accepts else "–",
        "surplus of the buyer": units.price(one.buyer_usd) if one.accepts else "–",
        "would have to ask": "nothing less" if one.accepts else f"{units.price(one.posted_usd)} or less",
        "best tool": one.tool,
    }
