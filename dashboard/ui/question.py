"""The frame of a question: its text, catalog, router, preset and knobs, the same over every view that asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.params import Parameters
from core.routers.tool_attention import STATE
from core.services.decide.whatif import Asked
from dashboard.session import current_app, first_catalog
from dashboard.theme import WinnerColours
from dashboard.ui.knob_history import history_key
from dashboard.ui.knobs import LaneLink, knob_panel, read_knobs, reset_and_history, start_knobs
from dashboard.ui.presets import preset_choice
from dashboard.ui.query_form import QueryForm, query_row
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

PRESET, COLOURS = "ask:preset", "ask:colours"


@dataclass(frozen=True, slots=True)
class Asks:
    """What a view adds to the frame.

    `of_answer` are its texts in the URL that belong to the answer. A turned knob redraws the fragments `redraws`, or the whole view if
    there are none, and asks the `lane` meanwhile.
    """

    view: str
    of_answer: tuple[str, ...] = ()
    redraws: tuple[str, ...] = ()
    lane: Callable[[], LaneLink] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a view, and the state of the view in its address. `prefix` is that of the knobs in the session."""

    app: App
    state: UrlState
    linked: dict[str, str]
    query: QueryForm
    defaults: Parameters
    prefix: str

    @property
    def parameters(self) -> Parameters:
        """The present values of the knobs. In a fragment they may be newer than the frame."""
        return read_knobs(self.defaults, self.prefix)

    @property
    def texts(self) -> dict[str, str]:
        """The question as texts of a link."""
        texts = {
            **self.query.texts(first_catalog()),
            **{name: str(value) for name, value in self.parameters.changed().items()},
        }
        return {name: text for name, text in texts.items() if text}


def winner_colours(asked: Asked) -> WinnerColours:
    """Returns the colours of a question's winners, the same on every view while it is asked."""
    text = (asked.catalog, asked.subtask, asked.hint)
    known, colours = st.session_state.get(COLOURS, (None, None))
    if colours is None or known != text:
        colours = WinnerColours()
        st.session_state[COLOURS] = text, colours
    return colours


def ask(asks: Asks) -> Question:
    """Draw the frame above a view. Returns the question."""
    app, state = current_app(), UrlState(asks.view, asks=True, of_answer=asks.of_answer)
    linked = state.begin()
    query = query_row(app, state, linked, first_catalog())
    defaults, prefix = app.routing.parameters(query.router), f"{state.key('knob')}.{query.router}"
    for problem in start_knobs(defaults, linked, prefix):
        st.warning(f"A part of the link was not used: {escaped(problem)}", icon=":material/link_off:")
    redraws = (*asks.redraws, PRESET, history_key(prefix)) if asks.redraws else ()
    with st.sidebar:
        reset_and_history(defaults, prefix)
        st.fragment(preset_choice, key=PRESET)(defaults, prefix)
        knob_panel(defaults, prefix, redraws, elsewhere={STATE}, lane=None if asks.lane is None else asks.lane())
    return Question(app, state, linked, query, defaults, prefix)
