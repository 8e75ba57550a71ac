"""How a tool is called: really, through a virtual server, or with a simulated outcome. Owns the keys `call.run.mode.*`."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.domain.catalog import Server
from core.domain.outcome import CallMode


class Words(NamedTuple):
    """How a mode is called in the choice and on the button, its icon, and what it does."""

    choice: str
    button: str
    icon: str
    help: str


MODES = {
    CallMode.REAL: Words("Real call", "Call", ":material/play_arrow:", "**Real call**: the server itself is called."),
    CallMode.VIRTUAL: Words(
        "Virtual server",
        "Call virtually",
        ":material/theater_comedy:",
        "**Virtual server**: a server of this name is started that answers over real MCP with simulated results, after "
        "the declared time and with the declared failures.",
    ),
    CallMode.DRAWN: Words(
        "Simulate",
        "Simulate",
        ":material/casino:",
        "**Simulate**: nothing is called, an outcome is drawn from the known success rate and call time.",
    ),
}


def mode_choice(line: DeltaGenerator, server: Server) -> CallMode:
    """The chosen way of calling a server. One that is virtual and has no connection has no real calls."""
    modes = modes_of(server)
    key = f"call.run.mode.{len(modes)}"
    st.session_state.setdefault(key, modes[0])
    chosen = line.segmented_control(
        "How", modes, key=key, required=True, persist_state="session", format_func=lambda mode: MODES[mode].choice,
        help=" ".join(MODES[mode].help for mode in modes) + " Nothing is learnt from simulated results.",
    )  # fmt: skip
    return chosen or modes[0]


def modes_of(server: Server) -> tuple[CallMode, ...]:
    """The ways in which a server can be called, the usual one first.

    >>> [mode.value for mode in modes_of(Server("a", virtual=True))]
    ['virtual', 'drawn']
    """
    modes = tuple(MODES)
    return modes[1:] if server.virtual and server.connection is None else modes
