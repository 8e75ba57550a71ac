"""The frame above a view: the bar with the state of the console, the question with its catalog and router, and the sidebar with preset, network and knobs.

The bar shows the differences from the defaults, the users of the state, settings to compare, and the history. The network is as calls measured
it, or a profile at a moment that can be dragged or played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import streamlit as st

from core.app import App
from core.domain.params import AS_MEASURED, MEASURED, WITH_SIMULATED, Knob, Parameters
from core.domain.people import person
from core.domain.untrusted_text import one_line
from core.routers.presets import PRESETS, applied
from core.routers.tool_attention import STATE
from dashboard.session import current_app, first_catalog
from dashboard.ui.chart import component
from dashboard.ui.knobs import (
    LaneLink,
    draw_knobs,
    heard_key,
    knob_panel,
    knob_title,
    reset_knobs,
    start_knobs,
    value_text,
)
from dashboard.ui.presets import DEFAULT_ROUTER, offered, preset_choice, without_n
from dashboard.ui.question import (
    KIND,
    NETWORK,
    Asks,
    QueryForm,
    Question,
    chosen_network,
    knob_prefix,
    query_row,
    start_network,
)
from dashboard.ui.text import escaped, not_used
from dashboard.ui.url_state import UrlState, ask_with, open_page, variant_text

MOST = 50
NAMED = 3  # changes in the title of a step
HISTORY = "history"
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class History:
    """The states, the oldest first, and the place of the present one.

    >>> history = History(({"k": "5"},)).noted({"k": "7"}).noted({"router": "sonar"})
    >>> history.stepped(-2).state, history.stepped(-2).stepped(1).state, history.stepped(9).state
    ({'k': '5'}, {'k': '7'}, {'router': 'sonar'})
    >>> history.stepped(-1).noted({}).states
    ({'k': '5'}, {'k': '7'}, {})
    """

    states: tuple[Texts, ...]
    at: int = 0

    @property
    def state(self) -> Texts:
        return self.states[self.at]

    def noted(self, state: Texts) -> Self:
        """Returns the history with a new state, without undone states. The present state is not added again."""
        if state == self.state:
            return self
        states = (*self.states[: self.at + 1], state)[-MOST:]
        return type(self)(states, len(states) - 1)

    def stepped(self, by: int) -> Self:
        """Returns the history `by` steps later, or earlier if negative, within its ends."""
        return self.returned(self.at + by)

    def returned(self, to: int) -> Self:
        """Returns the history at step `to`, counted from 0."""
        return type(self)(self.states, min(max(to, 0), len(self.states) - 1))


def noted(state: Texts | None = None) -> History:
    """Returns the history of this visit, with its present state if it is given."""
    history: History | None = st.session_state.get(HISTORY)
    if history is None:
        return keep(History((state or {},)))
    return history if state is None else keep(history.noted(state))


def keep(history: History) -> History:
    st.session_state[HISTORY] = history
    return history


def step_words(knobs: Iterable[Knob], usual: Texts, titles: Texts, before: Texts, after: Texts) -> str:
    """Returns the changes of one step, with old and new values. `usual` has the defaults of other settings; some have `titles`.

    >>> from core.routers.ehrr import EhrrParameters
    >>> before, after = {"budget_usd": "0.1"}, {"alpha_t": "0.5", "router": "sonar"}
    >>> step_words(EhrrParameters.knobs(), {"router": "ehrr"}, {"sonar": "SONAR"}, before, after)
    'router ehrr → SONAR, αt 0.02 → 0.5 1/s, B 0.1 → off $'
    """
    changes = list[str]()
    for name, text in usual.items():
        old, new = (texts.get(name, text) for texts in (before, after))
        if old != new:
            changes.append(f"{name} {titles.get(old, old)} → {titles.get(new, new)}")
    for info in knobs:
        old, new = (value_text(info.parse(texts.get(info.name, info.default))) for texts in (before, after))
        if old != new:
            changes.append(f"{info.symbol} {old} → {new} {info.unit}".strip())
    rest = len(changes) - NAMED
    return one_line(", ".join([*changes[:NAMED], *([f"{rest} more"] if rest > 0 else [])]), 200)


def network_choice(question: Question, redraws: Sequence[str], lane: LaneLink | None) -> None:
    """Draw the choice, and the moment of a simulated network. A change redraws the fragments with these keys, or the whole page."""
    key = f"{NETWORK}:knobs"
    lane = None if lane is None else replace(lane, kind=KIND)
    st.fragment(_choice, key=key)(question, [*redraws, key] if redraws else "app", lane)


def _choice(question: Question, redraws: list[str] | str, lane: LaneLink | None) -> None:
    choice, moment = AS_MEASURED.knobs()
    choice = replace(choice, choices=(MEASURED, WITH_SIMULATED, *question.app.networks.names()))
    name = chosen_network().network
    infos = [choice] if name in {MEASURED, WITH_SIMULATED} else [choice, moment]
    plays = "" if lane is None else moment.name
    draw_knobs(infos, NETWORK, redraws, lane, partial(moved, question), title=f"Network: {name}", plays=plays)


PRESET, BAR = "ask:preset", "state:bar"
DEFAULTS = "the defaults"
NAMED_KNOBS = 2  # knobs of agents by name
HTML = '<div class="wayfare-state" role="group" aria-label="State of the console"></div>'
_shown = component("state", HTML, "tips.css", "state.css", "dom.js", "tips.js", "state.js")


def state_bar(question: Question) -> None:
    """Draw the bar. It is drawn again when a knob is stored; while a knob is dragged, the browser keeps it up to date."""
    st.fragment(_bar, key=BAR)(question)


def _bar(question: Question) -> None:
    prefix, router, state = question.prefix, question.form.router, question.setting
    titles = {info.id: info.title for info in question.app.routing.routers()}
    fixed = {"catalog": state.get("catalog", ""), "router": titles[router] if "router" in state else ""}
    key = f"{BAR}:shown"  # one key for all routers and views
    _shown(
        key=key,
        data={
            "locked": bool(person().refusal("tune")), "view": question.view, "prefix": prefix, "state": dict(sorted(state.items())), "ignored": question.ignored,
            "fixed": [_chip(name, f"{name} {text}", f"{name} {text}") for name, text in fixed.items() if text],
            "knobs": {prefix: _chips(question.parameters), NETWORK: _chips(chosen_network())},
            "agents": _agents(question, titles[router]), **_beside(question),
            "heard": st.session_state.get(heard_key(prefix), 0), **_steps(question, titles),
        },
        on_asked_change=lambda: _act(question, st.session_state.get(key, {}).get("asked")),  # also if a question came with it
    )  # fmt: skip


def _act(question: Question, message: Any) -> None:
    """Handle a pressed button. The message may be anything."""
    if person().refusal("tune"):
        return
    match message:
        case {"agents": True}:
            question.app.agent_knobs.put(question.form.router, question.parameters)
        case {"reset": True}:
            reset_knobs(question.defaults, question.prefix)
        case {"step": int()} | {"to": int()}:
            moved(question, message)
        case {"drop": str(name)}:
            dropped = {name, "at_s"} if name == "network" else {name}
            ask_with({key: text for key, text in question.setting.items() if key not in dropped})
        case {"take": dict(texts)}:
            ask_with({str(name): str(text) for name, text in texts.items()})
        case {"beside": str(other), "view": "Compare" | "Lab" as view}:
            variant = variant_text(question.form.router, question.parameters.changed())
            beside = {"with": f"{variant},{other}"} if view == "Compare" else {"also": other}
            open_page(view.lower(), **{**question.texts, **beside})
        case _:
            return
    st.rerun()


def moved(question: Question, message: Mapping[str, Any]) -> bool:
    """Note the state if the message `{"values", "step" or "to"}` has set values, and take the state that it leads to. Returns whether it
    leads to one."""
    history = noted(question.setting if message.get("values") else None)
    match message:
        case {"step": int(by)}:
            history = keep(history.stepped(by))
        case {"to": int(to)}:
            history = keep(history.returned(to))
        case _:
            return False
    ask_with(history.state)
    start_knobs(question.defaults, history.state, question.prefix)  # for further messages
    start_knobs(AS_MEASURED, history.state, NETWORK)
    return True


def _steps(question: Question, titles: Mapping[str, str]) -> dict[str, Any]:
    """Returns the steps of this visit for undo, redo and their list."""
    history, usual = noted(question.setting), {"catalog": first_catalog(), "router": DEFAULT_ROUTER}

    def words(old: Mapping[str, str], new: Mapping[str, str]) -> str:
        knobs, router = AS_MEASURED.knobs(), new.get("router", DEFAULT_ROUTER)
        if router == old.get("router", DEFAULT_ROUTER):  # another router has other knobs
            knobs = (*question.app.routing.parameters(router).knobs(), *knobs)
        return step_words(knobs, usual, titles, old, new)

    return {"steps": [words(*pair) for pair in pairwise(history.states)], "at": history.at}


def _chips(parameters: Parameters) -> list[dict[str, str]]:
    """Returns the changed parameters, in the words of the knobs' panel."""
    chips = list[dict[str, str]]()
    for info in parameters.knobs():
        value, unit = getattr(parameters, info.name), f" {info.unit}" if info.unit else ""
        if value != info.default:
            title = knob_title(info)
            about = f"{title}: {value_text(info.default)} → {value_text(value)}{unit}"
            chips.append(_chip(info.name, f"{title.rpartition(', ')[2]} {value_text(value)}{unit}", about))
    return chips


def _chip(name: str, text: str, about: str) -> dict[str, str]:
    return {"name": name, "text": one_line(text, 60), "about": one_line(about, 200)}


def _beside(question: Question) -> dict[str, Any]:
    """Returns the preset with these values, and the settings to compare: names, and routers with their knobs."""
    kind, router, values = type(question.defaults), question.form.router, without_n(question.parameters)
    settings = {DEFAULTS: question.defaults} | {PRESETS[name].title: applied(kind, name) for name in offered(kind)[1:]}
    settings |= {one_line(name, 40): entry.parameters for name, entry in question.app.saved_presets.of(router).items()}
    same = [name for name, knobs in settings.items() if without_n(knobs) == values]
    others = [(name, variant_text(router, knobs.changed())) for name, knobs in settings.items() if name not in same]
    return {"preset": same[0] if same and values != without_n(question.defaults) else "", "others": others}


def _agents(question: Question, title: str) -> dict[str, Any]:
    """Returns who decides with this state, in short and at length."""
    agent_values = question.app.agent_knobs.of(question.form.router)
    chips = _chips(question.defaults.replaced(agent_values))
    words = ", ".join(chip["text"] for chip in chips[:NAMED_KNOBS]) + (
        f" and {len(chips) - NAMED_KNOBS} more" if len(chips) > NAMED_KNOBS else ""
    )
    about = "; ".join(chip["about"] for chip in chips) or DEFAULTS
    return {
        "same": agent_values == question.parameters.changed(),
        "words": words or DEFAULTS,
        "about": f"This window and its links decide with this state. Agents that ask {title} through /mcp decide with its knobs at: {about}; "
        "unless their address names a preset or a knob. Those that you give them count from the next search on, also after a restart.",
    }  # fmt: skip


def ask(asks: Asks) -> Question | None:
    """Draw the frame above a view. Returns the question, or None if its catalog has no tools. Then the frame says so and has no knobs."""
    app, state = current_app(), UrlState(asks.view, asks=True, of_answer=asks.of_answer)
    linked = state.begin()
    bar = st.container(key="state")
    query, row = query_row(app, state, linked, measures=asks.measures)
    previous = linked.get("q", "").strip(), linked.get("hint", "").strip(), linked.get("catalog", first_catalog())
    if previous != (query.query, query.hint, query.catalog):
        for name in asks.of_answer:
            linked.pop(name, None)
            st.session_state.pop(state.key(name), None)
    defaults, prefix = app.routing.parameters(query.router), knob_prefix(query.router)
    for problem in start_knobs(defaults, linked, prefix):
        not_used(problem)
    start_network(app, linked)
    ignored = ("n", "network", "at_s") if asks.measures else ()
    question = Question(app, state, linked, query, defaults, prefix, asks.view, row, ignored)
    with bar:
        state_bar(question)
    if _no_tools(question):
        texts = {name: text for name, text in linked.items() if name not in asks.of_answer}  # for a catalog with tools
        state.end({**texts, **query.texts(first_catalog())}, question=question.texts)
        return None
    redraws = (*asks.redraws, PRESET, BAR) if asks.redraws else ()
    lane = None if asks.lane is None else asks.lane(prefix)
    with st.sidebar:
        st.fragment(preset_choice, key=PRESET)(defaults, prefix)
        if not asks.measures:
            network_choice(question, (*asks.redraws, BAR) if asks.redraws else (), lane)
        elsewhere = {"n"} if asks.measures else {STATE}
        knob_panel(defaults, prefix, redraws, elsewhere=elsewhere, lane=lane, moved=partial(moved, question))
    return question


def standing_question(app: App, view: str, ignored: tuple[str, ...]) -> Question:
    """Draw the bar above a view with choices of its own. Returns the question of the other views."""
    state = UrlState(view)
    texts, routers = state.question, {info.id for info in app.routing.routers()}
    router = name if (name := texts.get("router", DEFAULT_ROUTER)) in routers else DEFAULT_ROUTER
    query = QueryForm(texts.get("q", ""), texts.get("hint", ""), texts.get("catalog", first_catalog()), router)
    defaults, prefix, place = app.routing.parameters(router), knob_prefix(router), st.container(key="state")
    start_knobs(defaults, texts, prefix)
    start_network(app, texts)
    question = Question(app, state, texts, query, defaults, prefix, view, place, ignored)
    with place:
        state_bar(question)
    return question


def _no_tools(question: Question) -> bool:
    """Tells whether the catalog has no tools. If so, draws why, and a button to the Catalog page."""
    why = question.app.catalogs.without_tools(question.form.catalog)
    if why:
        st.info(escaped(why), icon=":material/inventory_2:")
        if st.button("Open the Catalog page", key="ask:no tools"):
            open_page("catalog", catalog=question.form.catalog)
    return bool(why)
