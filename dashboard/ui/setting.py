"""The conditions of a decision beside its knobs: the network, and the supposed figures of What if. And the person who is signed in."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from core.app import App
from core.decisions.layer import FIT, LATENCY, PRICE, SUCCESS, Supposed
from core.domain import units
from core.domain.params import AS_MEASURED, MEASURED, WITH_SIMULATED, NetworkMoment
from core.domain.people import person
from core.domain.untrusted_text import visible
from dashboard.ui.knobs import (
    read_knobs,
    start_knobs,
)
from dashboard.ui.text import escaped, not_used

LAYER = "layer:supposed"
MARK = ' <span class="wayfare-badge">what if</span>'
SHOWN = {PRICE: units.price, LATENCY: units.seconds, SUCCESS: units.share, FIT: units.share}
Layers = Mapping[str, tuple[Supposed, ...]]


def supposed(catalog: str) -> tuple[Supposed, ...]:
    """Returns the figures that the visitor supposes for tools of this catalog."""
    return _layers().get(catalog, ())


def suppose(catalog: str, one: Supposed) -> None:
    """Add a figure to the layer and replace an earlier value of it. For `on_click`."""
    others = [other for other in supposed(catalog) if (other.tool, other.figure) != (one.tool, one.figure)]
    st.session_state[LAYER] = {**_layers(), catalog: (*others, one)}


def badge(catalog: str, tool: str | None = None) -> str:
    """Returns the Markdown badge `what if` if a figure of the catalog, or of this tool, is supposed, else ""."""
    marked = any(tool in {None, figure.tool} for figure in supposed(catalog))
    return " :violet-badge[what if]" if marked else ""


def drop_layer() -> None:
    st.session_state.pop(LAYER, None)


def layer_banner() -> None:
    """Lists the supposed figures with a button that drops them. Draws nothing without supposed figures."""
    layers = [(catalog, figure) for catalog, figures in _layers().items() for figure in figures]
    if not layers:
        return
    words = [
        f"{row.figure} {escaped(SHOWN[row.figure](row.value))} of **{escaped(row.tool, 60)}**" for _, row in layers[:4]
    ]
    more = f" and {len(layers) - 4} more" if len(layers) > 4 else ""
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="layer:banner"):
        st.container(width="stretch").markdown(
            f":violet-badge[what if] Supposed, not known: {', '.join(words)}{more}. Decision, Compare and What if decide with "
            "these figures and record nothing. Plans, measures over tasks, calls and all other pages use the real figures."
        )
        st.button("Drop", icon=":material/layers_clear:", key="layer:drop", on_click=drop_layer)


def _layers() -> Layers:
    layers: Layers = st.session_state.get(LAYER, {})
    return layers


def signed_in_bar() -> None:
    user = person()
    if user.name:
        text = f"{escape(visible(user.name))} ({', '.join(user.roles)})"
        st.html(
            f'<div class="wayfare-signed-in">{text} is signed in · <a href="./sign-out" target="_self">Sign out</a></div>'
        )


NETWORK = "ask.network.of"
KIND = "network"
"""The kind of its answers in the fast lane of a page."""


def chosen_network() -> NetworkMoment:
    moment = read_knobs(AS_MEASURED, NETWORK)
    return moment if isinstance(moment, NetworkMoment) and moment.simulated else AS_MEASURED


def network_texts() -> dict[str, str]:
    moment = chosen_network()
    return {"network": moment.network, "at_s": f"{moment.at_s:g}"} if moment.simulated else {}


def start_network(app: App, linked: Mapping[str, str]) -> None:
    """Take the network of a link. Warns about an unknown network, and takes the measured network for it."""
    problems = start_knobs(AS_MEASURED, linked, NETWORK)
    name = chosen_network().network
    if name not in (MEASURED, WITH_SIMULATED, *app.networks.names()):
        st.session_state[f"{NETWORK}.network"] = MEASURED
        problems.append(f"there is no network {name}; it is as measured")
    for problem in problems:
        not_used(problem)
