"""Live: a heartbeat that asks for the newest sequence number and has the page redrawn where it moved."""

from __future__ import annotations

import time

import streamlit as st

from core.app import App

LIVE = "activity.live"
EVERY_S = 2.0


def live_switch(linked: str) -> bool:
    """The switch; on unless it was turned off."""
    st.session_state.setdefault(LIVE, linked != "off")
    return st.toggle(
        "Live",
        key=LIVE,
        help=f"New decisions, calls and refusals appear within {EVERY_S:g} s. Turn it off to read in peace.",
    )


def heartbeat(app: App, seen: int) -> None:
    """Draw nothing, and have the page drawn anew once there is more than `seen`."""
    _beat(app, seen, time.monotonic())


def moved(newest: int, seen: int, drawn_ago_s: float) -> bool:
    """Whether to redraw: something is new, and the page was not drawn just now.

    >>> moved(8, 7, 2.0), moved(8, 8, 2.0), moved(8, 7, 0.1)
    (True, False, False)
    """
    return newest != seen and drawn_ago_s >= EVERY_S / 2


@st.fragment(run_every=EVERY_S)
def _beat(app: App, seen: int, drawn_s: float) -> None:
    if moved(app.store.activity.latest_sequence(), seen, time.monotonic() - drawn_s):
        st.rerun()
