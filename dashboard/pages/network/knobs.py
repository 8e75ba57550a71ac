"""The parameters of the page's two routers, each behind a button of its own: one router can meet itself with others.

Owns the keys `network.knob.*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from core.app import App
from core.domain.params import Value
from core.lab.scenarios.measures import Setting, parameters_under
from dashboard.ui.knobs import knob_panel, read_knobs, reset_knobs, start_knobs
from dashboard.ui.text import escaped

SIDES = ("one", "other")
Changed = tuple[tuple[str, Value], ...]  # in the order of the parameters


def router_knobs(app: App, place: int, router: str, title: str, setting: Setting, linked: Mapping[str, str]) -> Changed:
    """The button of the first or second router with its knobs; returns what differs from the defaults.

    What the setting gives (s and t, or k) and the planner are no knobs here: both routers have them in common.
    """
    defaults, prefix = app.routing.parameters(router), f"network.knob.{place}.{router}"
    names = [knob.name for knob in defaults.knobs()]
    shared = {*parameters_under(setting, names), "planner"}
    texts = dict(parse_qsl(linked.get(SIDES[place], "")))
    for problem in start_knobs(defaults, {name: texts[name] for name in texts if name not in shared}, prefix):
        st.warning(escaped(problem), icon=":material/link_off:")
    changed = {n: v for n, v in read_knobs(defaults, prefix).changed().items() if n not in shared}
    label = f"{escaped(title, 40)}{f' · :violet[{len(changed)} changed]' if changed else ''}"
    with st.popover(label, icon=":material/tune:", key=f"network:knobs:{place}"):
        st.button(
            "Reset", icon=":material/restart_alt:", key=f"network:knobs:reset:{place}", disabled=not changed,
            on_click=reset_knobs, args=(defaults, prefix), help=None if changed else "Every knob is at its default.",
        )  # fmt: skip
        knob_panel(defaults, prefix, (), elsewhere=shared)
    return tuple(changed.items())


def title_with_mark(title: str, changed: Changed) -> str:
    """A router's name, marked where a parameter differs from its default."""
    return f"{title}, changed" if changed else title


def link_text(changed: Changed) -> str:
    """What the URL carries of one router's knobs."""
    return urlencode(changed)
