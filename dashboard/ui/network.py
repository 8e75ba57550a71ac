"""The network of a question, beside its preset and knobs: as calls measured it, or a profile at a moment that can be dragged or played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from core.app import App
from core.domain.network_moment import AS_MEASURED, MEASURED, WITH_SIMULATED, NetworkMoment
from dashboard.ui.knobs import LaneLink, draw_knobs, read_knobs, start_knobs
from dashboard.ui.text import escaped

PREFIX = "ask.network.of"
KIND = "network"
"""The kind of its answers in the fast lane of a page."""


def chosen_network() -> NetworkMoment:
    """Returns the network of the visitor's question."""
    found = read_knobs(AS_MEASURED, PREFIX)
    return found if isinstance(found, NetworkMoment) and found.simulated else AS_MEASURED


def network_texts() -> dict[str, str]:
    """Returns the network as texts of a link."""
    moment = chosen_network()
    return {"network": moment.network, "at_s": f"{moment.at_s:g}"} if moment.simulated else {}


def start_network(app: App, linked: Mapping[str, str]) -> None:
    """Take the network of a link. Warns about an unknown one, which is then as measured."""
    problems = start_knobs(AS_MEASURED, linked, PREFIX)
    name = chosen_network().network
    if name not in (MEASURED, WITH_SIMULATED, *app.networks.names()):
        st.session_state[f"{PREFIX}.network"] = MEASURED
        problems.append(f"there is no network {name}; it is as measured")
    for problem in problems:
        st.warning(f"A part of the link was not used: {escaped(problem, 300)}", icon=":material/link_off:")


def network_choice(app: App, redraws: Sequence[str], lane: LaneLink | None) -> None:
    """Draw the choice, and the moment of a simulated network. A change redraws the fragments with these keys, or the whole page."""
    key = f"{PREFIX}:knobs"
    lane = None if lane is None else replace(lane, kind=KIND)
    st.fragment(_choice, key=key)(app, [*redraws, key] if redraws else "app", lane)


def _choice(app: App, redraws: list[str] | str, lane: LaneLink | None) -> None:
    choice, moment = AS_MEASURED.knobs()
    choice = replace(choice, choices=(MEASURED, WITH_SIMULATED, *app.networks.names()))
    name = chosen_network().network
    infos = [choice] if name in {MEASURED, WITH_SIMULATED} else [choice, moment]
    draw_knobs(infos, PREFIX, redraws, lane, title=f"Network: {name}", plays="" if lane is None else moment.name)
