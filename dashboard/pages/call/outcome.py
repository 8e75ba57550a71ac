"""How a call ended: the word and its colour, times, price, attempts, and the error as the server wrote it."""

from __future__ import annotations

import streamlit as st

from core.domain.outcome import CallMode, Outcome, OutcomeKind
from core.shared import units
from core.shared.untrusted_text import visible
from core.virtual import SENTENCE
from dashboard.pages.call.run import Run
from dashboard.ui.call_mode import MODES
from dashboard.ui.navigation import open_page
from dashboard.ui.text import Colour

WORDS: dict[OutcomeKind, tuple[str, Colour, str, str]] = {
    OutcomeKind.OK: ("success", "green", ":material/check_circle:", "The tool answered."),
    OutcomeKind.TOOL_ERROR: (
        "tool error",
        "orange",
        ":material/report:",
        "The tool was reached and answered with an error.",
    ),
    OutcomeKind.INVALID_ARGUMENTS: (
        "invalid arguments",
        "orange",
        ":material/rule:",
        "The server did not accept the arguments.",
    ),
    OutcomeKind.TIMEOUT: ("timeout", "red", ":material/timer_off:", "The tool gave no answer within the time limit."),
    OutcomeKind.CRASH: ("crash", "red", ":material/power_off:", "The server was lost before it answered."),
    OutcomeKind.NOT_CONNECTED: (
        "not connected",
        "red",
        ":material/link_off:",
        "The server could not be reached, so nothing was called.",
    ),
    OutcomeKind.CANCELLED: (
        "cancelled",
        "gray",
        ":material/stop_circle:",
        "You cancelled the call; nothing is learnt from it.",
    ),
}

SIMULATED = {
    CallMode.VIRTUAL: f"{SENTENCE} Nothing is learnt from it.",
    CallMode.DRAWN: "No tool was called: the outcome was drawn at random from the known success rate and call time.",
}


def outcome_head(run: Run, outcome: Outcome) -> None:
    """The outcome in a line and five metrics; where something is missing, the way to it."""
    word, colour, icon, sentence = WORDS[outcome.kind]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(word, icon=icon, color=colour)
        if outcome.simulated:
            st.badge("simulated", icon=MODES[outcome.mode].icon, color="violet", help="No real tool had a part in it.")
        st.markdown(SIMULATED.get(outcome.mode, sentence))
    _metrics(outcome)
    if outcome.error:
        text = visible(outcome.error)
        st.code(text, language=None, wrap_lines=True, height=300 if len(text) > 1500 else "content")
    missing = outcome.kind is OutcomeKind.NOT_CONNECTED and not outcome.simulated
    if missing and st.button("Open the Catalog page to connect it", icon=":material/inventory_2:", key="call.connect"):
        open_page("catalog", catalog=outcome.call.catalog, server=outcome.call.server)
    _arguments(run, outcome)


def _metrics(outcome: Outcome) -> None:
    connected = "open session" if outcome.connect_s is None else units.seconds(outcome.connect_s)
    if outcome.mode is CallMode.DRAWN or (outcome.connect_s is None and outcome.kind is OutcomeKind.NOT_CONNECTED):
        connected = "none"
    charged = outcome.price_usd
    metrics = (
        ("Call time", units.seconds(outcome.latency_s), "The tool call alone, without connecting to the server."),
        ("Connection", connected, "Time to connect to the server; an open session costs none."),
        (
            "Would cost" if outcome.simulated else "Charged",
            units.price(charged),
            "The declared price where the tool answered, nothing where it was not reached.",
        ),
        (
            "Attempts",
            "1" if outcome.attempts == 1 else f"{outcome.attempts}, retried",
            "A lost connection is tried once more where the tool says that this is safe.",
        ),
        ("Protocol", outcome.protocol_version or "none", "The MCP version that both sides agreed on."),
    )
    with st.grid(len(metrics), min_column_width=112):
        for label, value, help_text in metrics:
            st.metric(label, value, help=help_text)


def _arguments(run: Run, outcome: Outcome) -> None:
    """What was sent; values of secret fields are masked."""
    sent = {name: "•••" if name in run.secret else value for name, value in outcome.call.arguments.items()}
    if sent:
        with st.expander("Arguments of this call"):
            st.json(sent)
