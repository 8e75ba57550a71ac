"""Two knobs: who wins over the plane of any two parameters; a click, or the cross dragged, sets both."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from core.app import App
from core.domain.params import Knob
from core.routers.expected_value import ExpectedValueParameters
from core.services.decide.whatif import Asked
from dashboard.pages.whatif.charts.colours import winner_colours
from dashboard.pages.whatif.charts.plane import plane_chart
from dashboard.pages.whatif.winners import legend
from dashboard.ui.chart import chart
from dashboard.ui.knobs import knob_title
from dashboard.ui.url_state import UrlState

AXES = ("alpha_t", "kappa", "alpha_s", "p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd", "k", "n")
AXES_OF_VALUE = ("worth_usd", "wrong_usd", "kappa", "unsafe_usd", "n")


def plane_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:
    """The choice of both parameters, and the map."""
    by_value = isinstance(asked.parameters, ExpectedValueParameters)
    axes = AXES_OF_VALUE if by_value else AXES
    infos = {knob.name: knob for knob in asked.parameters.knobs()}
    knobs = {name: infos[name] for name in axes if name in infos}
    if len(knobs) < len(axes):
        st.info("The map is of EHRR and Expected value; choose one of them above.", icon=":material/alt_route:")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        x, y = (_axis(state, name, other, knobs) for name, other in (("x", axes[0]), ("y", axes[1])))
        whole = st.toggle("Whole ranges", key="whatif.whole", help="Off: up to five times the current values.")
    if x == y:
        st.info("Choose two different knobs.", icon=":material/tune:")
        return
    plane = app.what_if.plane(asked, x, y, near=not whole)
    if plane is None:
        return
    winners = [plane.tools[row] if row >= 0 else None for row in sorted(set(plane.winner.ravel().tolist()))]
    today = app.what_if.decision(asked).winner
    colours = winner_colours(None if today is None else today.tool, winners)
    at = (_number(asked, knobs[x]), _number(asked, knobs[y]))
    chart(
        plane_chart(plane, knobs[x], knobs[y], at, colours, in_usd=by_value), key=f"whatif:plane:{x}:{y}",
        choose=partial(set_both, prefix=prefix, x=knobs[x], y=knobs[y]),
    )  # fmt: skip
    legend({name: colours[name] for name in winners})
    lead = "1 m\\$" if by_value else "0.1 in utility"
    st.caption(
        f"Full colour: the winner leads by {lead} or more, paler: by less. The cross is where the knobs are: drag it, or click, to "
        "set both."
    )


def _axis(state: UrlState, name: str, otherwise: str, knobs: dict[str, Knob]) -> str:
    key = state.key(name)
    if st.session_state.get(key) not in knobs:
        st.session_state[key] = otherwise
    return st.selectbox(
        "Across" if name == "x" else "Up",
        list(knobs),
        key=key,
        format_func=lambda one: knob_title(knobs[one]),
        width=320,
    )


def _number(asked: Asked, knob: Knob) -> float:
    value = getattr(asked.parameters, knob.name)
    return float(knob.high or 1.0) if value is None else float(value)


def set_both(name: str, *, prefix: str, x: Knob, y: Knob) -> None:
    """Turn both knobs to the cell that was clicked, `x|y`; what the browser sends may be anything."""
    first, _, second = name.partition("|")
    try:
        values = float(first), float(second)
    except ValueError:
        return
    for knob, value in zip((x, y), values, strict=True):
        if math.isfinite(value) and knob.low is not None and knob.high is not None and knob.low <= value <= knob.high:
            st.session_state[f"{prefix}.{knob.name}"] = knob.kind(value)
