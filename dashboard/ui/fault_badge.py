"""The badge of what an injected network did to a call."""

from __future__ import annotations

import streamlit as st

from dashboard.ui.text import escaped

HELP = "The network was injected into this call on purpose: its latency and its failure say nothing about the server."


def injected_badge(what: str) -> None:
    """What was injected, as a badge."""
    st.badge(f"network injected: {escaped(what, 80)}", icon=":material/network_ping:", color="gray", help=HELP)
