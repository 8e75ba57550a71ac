"""Refusing, under Why: how likely it is that nothing fits, where the knob puts the limit, and what that costs in wrong refusals."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.domain.feedback import RefusalCurve
from core.domain.params import Parameters
from core.routers.base import RefusingParameters
from dashboard.pages.route.charts.refusal_curve import refusal_curve
from dashboard.ui.chart import chart


def refusing(app: App, decision: Decision, parameters: Parameters) -> None:
    """Folded away; nothing for a router without the knob, or a catalog without tools."""
    if not isinstance(parameters, RefusingParameters) or decision.fit is None or not decision.tools.ids:
        return
    percent = parameters.wrong_refusals
    with st.expander("What if nothing fits?", icon=":material/block:"):
        curve = app.refusals.curve(decision.catalog)
        text, drawing = st.columns([2, 3], gap="medium")
        text.markdown(f"P(nothing fits) **{decision.fit.nothing:.2f}** for this sub-task, {_limit(app, percent)}.")
        text.markdown(f":small[{_point(curve, percent)}]")
        text.caption(
            "P is at even odds, as if half of all sub-tasks were impossible: it orders sub-tasks, and is no share of them. "
            "The knob is *Wrong refusals at most*, under Similarity."
        )
        with drawing:
            chart(refusal_curve(curve, percent), key="route:refusal")


def _limit(app: App, percent: float) -> str:
    if percent <= 0:
        return "and the knob is at 0: nothing is refused"
    return f"refused from **{app.refusals.limit(percent):.2f}** on"


def _point(curve: RefusalCurve, percent: float) -> str:
    here = curve.at(percent)
    where = (
        f":green-badge[measured] on {curve.questions:,} labelled sub-tasks of this catalog, each also asked without its right tools"
        if curve.questions
        else ":gray-badge[shipped] the mean over five catalogs that the fit had not seen; on single ones wrong refusals were between "
        "none and nearly three times what was wished. Label 20 sub-tasks, and it is measured here"
    )
    return (
        f"At {percent:g} %: {100 * here.wrong:.0f} % of what something can do is refused, and {100 * here.refused:.0f} % of what "
        f"nothing can do. {where}."
    )
