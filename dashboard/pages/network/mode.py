"""Simulated or live: the control, what it means, and the button before calls are made. Owns the key `network:go`."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.domain.lab_runs import LIVE, SIMULATED
from core.domain.outcome import CallMode
from dashboard.ui.call_mode import MODES
from dashboard.ui.url_state import UrlState

GO = "network:go"
LIVE_HELP = (
    "Every call is made over MCP. The network is injected below the protocol: delays, time-outs after 1 s, dropped connections. "
    "Latencies are measured. Virtual servers are called, whose results are simulated, and of real ones only tools that read."
)
SIMULATED_HELP = (
    "No tool is called: latencies are the network's, outcomes are drawn from the catalog's success rates, by the seed."
)


def mode_control(state: UrlState, linked: Mapping[str, str]) -> bool:
    """Whether the run is live."""
    key = state.key("mode")
    st.session_state.setdefault(key, LIVE if linked.get("mode") == LIVE else SIMULATED)
    return st.segmented_control("Calls", (SIMULATED, LIVE), key=key, required=True) == LIVE


def mode_badge(live: bool) -> None:
    """Whether the numbers on the page are simulated or measured."""
    if live:
        st.badge("live, network injected", icon=":material/network_ping:", color="gray", help=LIVE_HELP)
    else:
        st.badge("simulated", icon=MODES[CallMode.DRAWN].icon, color="violet", help=SIMULATED_HELP)


def calls_wanted(choice: object) -> bool:
    """Whether the visitor has just asked for these calls: opening a link calls nothing."""
    return st.session_state.get(GO) == choice and st.session_state.pop(GO) is not None


def calls_button(choice: object, calls: int, *, again: bool = False) -> None:
    """The button that makes so many calls of a choice, with what they are; `again` beside their result, where that is known."""
    if not again:
        st.info(f"Up to {calls:,} calls, a second each at most. {LIVE_HELP}", icon=":material/network_ping:")
    st.button(
        "Make the calls again" if again else "Make the calls", key="network:make", icon=":material/play_arrow:",
        type="tertiary" if again else "primary", on_click=st.session_state.__setitem__, args=(GO, choice),
    )  # fmt: skip
