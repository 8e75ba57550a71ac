"""The state of the console in one line above every view that asks or measures: what differs from the defaults, who decides with it, what
to compare it with, and its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.domain.params import Parameters
from core.domain.people import person
from core.domain.untrusted_text import one_line
from core.routers.presets import PRESETS, applied
from dashboard.ui.chart import component
from dashboard.ui.knobs import history_of, knob_title, reset_knobs, step, value_text
from dashboard.ui.network import PREFIX as NETWORK
from dashboard.ui.network import chosen_network
from dashboard.ui.presets import offered, without_n
from dashboard.ui.url_state import ask_with, open_page, variant_text

if TYPE_CHECKING:
    from dashboard.ui.question import Question

BAR = "state:bar"
DEFAULTS = "the defaults"
NAMED = 2  # knobs of agents by name
HTML = '<div class="wayfare-state" role="group" aria-label="State of the console"></div>'
_shown = component("state", HTML, "tips.css", "state.css", "tips.js", "state.js")


def state_bar(question: Question) -> None:
    """Draw the bar. It is drawn again when a knob is stored; while one is dragged, the browser keeps it up to date."""
    st.fragment(_bar, key=BAR)(question)


def _bar(question: Question) -> None:
    defaults, prefix, router, state = question.defaults, question.prefix, question.query.router, question.setting
    titles = {one.id: one.title for one in question.app.routing.routers()}
    fixed = {"catalog": state.get("catalog", ""), "router": titles[router] if "router" in state else ""}
    said = _shown(
        key=f"{BAR}:shown",  # the same for all routers and views
        data={
            "locked": bool(person().refusal("tune")), "view": question.view, "prefix": prefix, "state": dict(sorted(state.items())), "ignored": question.ignored,
            "fixed": [_chip(name, f"{name} {text}", f"{name} {text}") for name, text in fixed.items() if text],
            "knobs": {prefix: _chips(question.parameters), NETWORK: _chips(chosen_network())},
            "agents": _agents(question, titles[router]), **_beside(question), **history_of(defaults.knobs(), prefix),
        },
        on_asked_change=lambda: None,
    )  # fmt: skip
    if isinstance(said.asked, dict) and not person().refusal("tune"):
        _act(question, said.asked)


def _act(question: Question, asked: Mapping[str, Any]) -> None:
    """Do what was pressed. The message may be anything."""
    match asked:
        case {"agents": True}:
            question.app.agent_knobs.put(question.query.router, question.parameters)
        case {"reset": True}:
            reset_knobs(question.defaults, question.prefix)
        case {"step": int()} | {"to": int()}:
            step(question.prefix, by=asked.get("step"), to=asked.get("to"))
        case {"drop": str(name)}:
            gone = {name, "at_s"} if name == "network" else {name}
            ask_with({one: text for one, text in question.setting.items() if one not in gone})
        case {"take": dict(texts)}:
            ask_with({str(name): str(text) for name, text in texts.items()})
        case {"beside": str(other), "view": "Compare" | "Lab" as view}:
            own = variant_text(question.query.router, question.parameters.changed())
            beside = {"with": f"{own},{other}"} if view == "Compare" else {"also": other}
            open_page(view.lower(), **{**question.texts, **beside})
        case _:
            return
    st.rerun()


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
    kind, router, own = type(question.defaults), question.query.router, without_n(question.parameters)
    named = {DEFAULTS: question.defaults} | {PRESETS[name].title: applied(kind, name) for name in offered(kind)[1:]}
    named |= {one_line(name, 40): one.parameters for name, one in question.app.saved_presets.of(router).items()}
    same = [name for name, one in named.items() if without_n(one) == own]
    others = [(name, variant_text(router, one.changed())) for name, one in named.items() if name not in same]
    return {"preset": same[0] if same and own != without_n(question.defaults) else "", "others": others}


def _agents(question: Question, title: str) -> dict[str, Any]:
    """Returns who decides with this state, in short and at length."""
    theirs = question.app.agent_knobs.of(question.query.router)
    chips = _chips(question.defaults.replaced(theirs))
    words = ", ".join(chip["text"] for chip in chips[:NAMED]) + (
        f" and {len(chips) - NAMED} more" if len(chips) > NAMED else ""
    )
    about = "; ".join(chip["about"] for chip in chips) or DEFAULTS
    return {
        "same": theirs == question.parameters.changed(),
        "words": words or DEFAULTS,
        "about": f"This window and its links decide with this state. Agents that ask {title} through /mcp decide with its knobs at: {about}; "
        "unless their address names a preset or a knob. Those that you give them count from the next search on, also after a restart.",
    }  # fmt: skip
