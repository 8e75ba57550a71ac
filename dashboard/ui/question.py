"""The frame of a question: its text, catalog, router, preset and knobs, the same over every view that asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.decisions.routing import Asked
from core.domain.params import Parameters
from core.routers.tool_attention import STATE
from dashboard.session import current_app, first_catalog
from dashboard.theme import WinnerColours
from dashboard.ui.knob_history import history_key
from dashboard.ui.knobs import LaneLink, knob_panel, knob_title, read_knobs, reset_and_history, start_knobs
from dashboard.ui.presets import preset_choice
from dashboard.ui.query_form import QueryForm, query_row
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, open_page

PRESET, AGENTS, COLOURS = "ask:preset", "ask:agents", "ask:colours"


@dataclass(frozen=True, slots=True)
class Asks:
    """What a view adds to the frame.

    `of_answer` are its texts in the URL that belong to the answer. A turned knob redraws the fragments `redraws`, or the whole view if
    there are none, and asks the `lane` of its knobs meanwhile.
    """

    view: str
    of_answer: tuple[str, ...] = ()
    redraws: tuple[str, ...] = ()
    lane: Callable[[str], LaneLink] | None = None


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


def ask(asks: Asks) -> Question | None:
    """Draw the frame above a view. Returns the question, or None if its catalog has no tools: then the frame says so and has no knobs."""
    app, state = current_app(), UrlState(asks.view, asks=True, of_answer=asks.of_answer)
    linked = state.begin()
    query = query_row(app, state, linked, first_catalog())
    before = linked.get("q", "").strip(), linked.get("hint", "").strip(), linked.get("catalog", first_catalog())
    if before != (query.subtask, query.hint, query.catalog):
        for name in asks.of_answer:
            linked.pop(name, None)
            st.session_state.pop(state.key(name), None)
    defaults, prefix = app.routing.parameters(query.router), f"{state.key('knob')}.{query.router}"
    for problem in start_knobs(defaults, linked, prefix):
        st.warning(f"A part of the link was not used: {escaped(problem)}", icon=":material/link_off:")
    question = Question(app, state, linked, query, defaults, prefix)
    if _no_tools(question):
        kept = {name: text for name, text in linked.items() if name not in asks.of_answer}  # for when a tool is there
        state.end({**kept, **query.texts(first_catalog())}, question=question.texts)
        return None
    redraws = (*asks.redraws, PRESET, AGENTS, history_key(prefix)) if asks.redraws else ()
    with st.sidebar:
        reset_and_history(defaults, prefix)
        st.fragment(preset_choice, key=PRESET)(defaults, prefix)
        st.fragment(agents_scope, key=AGENTS)(app, query.router, defaults, prefix)
        knob_panel(defaults, prefix, redraws, elsewhere={STATE}, lane=None if asks.lane is None else asks.lane(prefix))
    return question


def _no_tools(question: Question) -> bool:
    """Tells whether the catalog has no tools. If so, draws why, and a button to the Catalog page."""
    why = question.app.catalogs.without_tools(question.query.catalog)
    if why:
        st.info(escaped(why), icon=":material/inventory_2:")
        if st.button("Open the Catalog page", key="ask:no tools"):
            open_page("catalog", catalog=question.query.catalog)
    return bool(why)


def agents_scope(app: App, router: str, defaults: Parameters, prefix: str) -> None:
    """Draw whose knobs these are: the operator's in this window. Agents have their own, which can be set to these."""
    own, theirs = read_knobs(defaults, prefix), app.agent_knobs.of(router)
    same = own.changed() == theirs
    said = "the defaults" if not theirs else "the same" if same else f"{len(theirs)} changed"
    with st.expander(f"Agents: {said}", icon=":material/smart_toy:", key=f"{AGENTS}:box"):
        titles = {info.name: knob_title(info) for info in defaults.knobs()}
        values = "; ".join(f"{titles[name]} {'off' if value is None else value}" for name, value in theirs.items())
        st.caption(
            "The knobs here are yours, in this window and its links. Agents that ask through /mcp decide with "
            f"{escaped(values, 600) if values else 'the defaults'}, unless their address names a preset or a knob."
        )
        if st.button(
            "Use mine for agents", key=f"{AGENTS}:use", width="stretch", disabled=same,
            help="Agents decide with these knobs already." if same else "From the next search on, also after a restart.",
        ):  # fmt: skip
            app.agent_knobs.put(router, own)
            st.rerun()
        if theirs and st.button("Agents back to the defaults", key=f"{AGENTS}:reset", width="stretch"):
            app.agent_knobs.put(router, defaults.replaced({info.name: info.default for info in defaults.knobs()}))
            st.rerun()
