"""The state of the console above every view: the bar with what differs from the defaults, the network of the question, the supposed figures of
What if, and the person who is signed in.

The bar also tells who decides with the state and what to compare it with, and has its history. The network is as calls measured it, or a profile at a
moment that can be dragged or played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.app import App
from core.decisions.layer import FIT, LATENCY, PRICE, SUCCESS, Supposed
from core.domain import units
from core.domain.params import AS_MEASURED, MEASURED, WITH_SIMULATED, NetworkMoment, Parameters
from core.domain.people import person
from core.domain.untrusted_text import one_line, visible
from core.routers.presets import PRESETS, applied
from dashboard.session import first_catalog
from dashboard.ui.chart import component
from dashboard.ui.history import keep, noted, step_words
from dashboard.ui.knobs import (
    LaneLink,
    draw_knobs,
    heard_key,
    knob_title,
    read_knobs,
    reset_knobs,
    start_knobs,
    value_text,
)
from dashboard.ui.presets import DEFAULT_ROUTER, offered, without_n
from dashboard.ui.text import escaped
from dashboard.ui.url_state import ask_with, open_page, variant_text

if TYPE_CHECKING:
    from dashboard.ui.question import Question


LAYER = "layer:supposed"
MARK = ' <span class="wayfare-badge">what if</span>'
SHOWN = {PRICE: units.price, LATENCY: units.seconds, SUCCESS: units.share, FIT: units.share}
Layers = Mapping[str, tuple[Supposed, ...]]


def supposed(catalog: str) -> tuple[Supposed, ...]:
    """Returns the figures that the visitor supposes for tools of this catalog."""
    return _layers().get(catalog, ())


def suppose(catalog: str, one: Supposed) -> None:
    """Add a figure to the layer and replace an earlier value of it. For `on_click`."""
    others = [known for known in supposed(catalog) if (known.tool, known.figure) != (one.tool, one.figure)]
    st.session_state[LAYER] = {**_layers(), catalog: (*others, one)}


def badge(catalog: str, tool: str | None = None) -> str:
    """Returns the Markdown badge `what if` if a figure of the catalog, or of this tool, is supposed, else ""."""
    marked = any(tool in {None, one.tool} for one in supposed(catalog))
    return " :violet-badge[what if]" if marked else ""


def drop_layer() -> None:
    st.session_state.pop(LAYER, None)


def layer_banner() -> None:
    """Lists the supposed figures with a button that drops them. Draws nothing without supposed figures."""
    layers = [(catalog, one) for catalog, known in _layers().items() for one in known]
    if not layers:
        return
    words = [
        f"{one.figure} {escaped(SHOWN[one.figure](one.value))} of **{escaped(one.tool, 60)}**" for _, one in layers[:4]
    ]
    more = f" and {len(layers) - 4} more" if len(layers) > 4 else ""
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="layer:banner"):
        st.container(width="stretch").markdown(
            f":violet-badge[what if] Supposed, not known: {', '.join(words)}{more}. Decision, Compare and What if decide with "
            "these figures and record nothing. Plans, measures over tasks, calls and all other pages use the real figures."
        )
        st.button("Drop", icon=":material/layers_clear:", key="layer:drop", on_click=drop_layer)


def _layers() -> Layers:
    found: Layers = st.session_state.get(LAYER, {})
    return found


def signed_in_bar() -> None:
    who = person()
    if who.name:
        shown = f"{escape(visible(who.name))} ({', '.join(who.roles)})"
        st.html(
            f'<div class="wayfare-signed-in">{shown} is signed in · <a href="./sign-out" target="_self">Sign out</a></div>'
        )


NETWORK = "ask.network.of"
KIND = "network"
"""The kind of its answers in the fast lane of a page."""


def chosen_network() -> NetworkMoment:
    found = read_knobs(AS_MEASURED, NETWORK)
    return found if isinstance(found, NetworkMoment) and found.simulated else AS_MEASURED


def network_texts() -> dict[str, str]:
    moment = chosen_network()
    return {"network": moment.network, "at_s": f"{moment.at_s:g}"} if moment.simulated else {}


def start_network(app: App, linked: Mapping[str, str]) -> None:
    """Take the network of a link. Warns about an unknown one, which is then as measured."""
    problems = start_knobs(AS_MEASURED, linked, NETWORK)
    name = chosen_network().network
    if name not in (MEASURED, WITH_SIMULATED, *app.networks.names()):
        st.session_state[f"{NETWORK}.network"] = MEASURED
        problems.append(f"there is no network {name}; it is as measured")
    for problem in problems:
        st.warning(f"A part of the link was not used: {escaped(problem, 300)}", icon=":material/link_off:")


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


BAR = "state:bar"
DEFAULTS = "the defaults"
NAMED_KNOBS = 2  # knobs of agents by name
HTML = '<div class="wayfare-state" role="group" aria-label="State of the console"></div>'
_shown = component("state", HTML, "tips.css", "state.css", "tips.js", "state.js")


def state_bar(question: Question) -> None:
    """Draw the bar. It is drawn again when a knob is stored; while one is dragged, the browser keeps it up to date."""
    st.fragment(_bar, key=BAR)(question)


def _bar(question: Question) -> None:
    prefix, router, state = question.prefix, question.form.router, question.setting
    titles = {one.id: one.title for one in question.app.routing.routers()}
    fixed = {"catalog": state.get("catalog", ""), "router": titles[router] if "router" in state else ""}
    said = _shown(
        key=f"{BAR}:shown",  # the same for all routers and views
        data={
            "locked": bool(person().refusal("tune")), "view": question.view, "prefix": prefix, "state": dict(sorted(state.items())), "ignored": question.ignored,
            "fixed": [_chip(name, f"{name} {text}", f"{name} {text}") for name, text in fixed.items() if text],
            "knobs": {prefix: _chips(question.parameters), NETWORK: _chips(chosen_network())},
            "agents": _agents(question, titles[router]), **_beside(question),
            "heard": st.session_state.get(heard_key(prefix), 0), **_steps(question, titles),
        },
        on_asked_change=lambda: None,
    )  # fmt: skip
    if isinstance(said.asked, dict) and not person().refusal("tune"):
        _act(question, said.asked)


def _act(question: Question, asked: Mapping[str, Any]) -> None:
    """Do what was pressed. The message may be anything."""
    match asked:
        case {"agents": True}:
            question.app.agent_knobs.put(question.form.router, question.parameters)
        case {"reset": True}:
            reset_knobs(question.defaults, question.prefix)
        case {"step": int()} | {"to": int()}:
            moved(question, asked)
        case {"drop": str(name)}:
            gone = {name, "at_s"} if name == "network" else {name}
            ask_with({one: text for one, text in question.setting.items() if one not in gone})
        case {"take": dict(texts)}:
            ask_with({str(name): str(text) for name, text in texts.items()})
        case {"beside": str(other), "view": "Compare" | "Lab" as view}:
            own = variant_text(question.form.router, question.parameters.changed())
            beside = {"with": f"{own},{other}"} if view == "Compare" else {"also": other}
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

    def words(before: Mapping[str, str], after: Mapping[str, str]) -> str:
        knobs, router = AS_MEASURED.knobs(), after.get("router", DEFAULT_ROUTER)
        if router == before.get("router", DEFAULT_ROUTER):  # another router has other knobs
            knobs = (*question.app.routing.parameters(router).knobs(), *knobs)
        return step_words(knobs, usual, titles, before, after)

    return {"steps": [words(*pair) for pair in pairwise(history.states)], "at": history.at}


def _chips(parameters: Parameters) -> list[dict[str, str]]:
    """Returns the changed parameters, as the panel of the knobs tells them while they are turned."""
    found = list[dict[str, str]]()
    for info in parameters.knobs():
        value, unit = getattr(parameters, info.name), f" {info.unit}" if info.unit else ""
        if value != info.default:
            title = knob_title(info)
            about = f"{title}: {value_text(info.default)} → {value_text(value)}{unit}"
            found.append(_chip(info.name, f"{title.rpartition(', ')[2]} {value_text(value)}{unit}", about))
    return found


def _chip(name: str, text: str, about: str) -> dict[str, str]:
    return {"name": name, "text": one_line(text, 60), "about": one_line(about, 200)}


def _beside(question: Question) -> dict[str, Any]:
    """Returns the preset with these values, and what the state can be compared with: names and routers with their knobs."""
    kind, router, own = type(question.defaults), question.form.router, without_n(question.parameters)
    named = {DEFAULTS: question.defaults} | {PRESETS[name].title: applied(kind, name) for name in offered(kind)[1:]}
    named |= {one_line(name, 40): one.parameters for name, one in question.app.saved_presets.of(router).items()}
    same = [name for name, one in named.items() if without_n(one) == own]
    others = [(name, variant_text(router, one.changed())) for name, one in named.items() if name not in same]
    return {"preset": same[0] if same and own != without_n(question.defaults) else "", "others": others}


def _agents(question: Question, title: str) -> dict[str, Any]:
    """Returns who decides with this state, in short and at length."""
    theirs = question.app.agent_knobs.of(question.form.router)
    chips = _chips(question.defaults.replaced(theirs))
    words = ", ".join(chip["text"] for chip in chips[:NAMED_KNOBS]) + (
        f" and {len(chips) - NAMED_KNOBS} more" if len(chips) > NAMED_KNOBS else ""
    )
    about = "; ".join(chip["about"] for chip in chips) or DEFAULTS
    return {
        "same": theirs == question.parameters.changed(),
        "words": words or DEFAULTS,
        "about": f"This window and its links decide with this state. Agents that ask {title} through /mcp decide with its knobs at: {about}; "
        "unless their address names a preset or a knob. Those that you give them count from the next search on, also after a restart.",
    }  # fmt: skip
