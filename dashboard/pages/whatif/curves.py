"""Cost curves: each with the equation that it draws, and the current numbers in it."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.services.decide.whatif import Asked
from core.whatif import curves
from core.whatif.curves import Curve, utilities
from dashboard.ui.chart import chart
from dashboard.ui.charts.curve import curve_chart
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState


def curves_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Three to a row; under another router than EHRR only what is not EHRR's."""
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
