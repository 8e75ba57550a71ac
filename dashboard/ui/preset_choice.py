"""Presets in the sidebar: one choice that sets the knobs, with the sentence that says what it is for."""

from __future__ import annotations

import streamlit as st

from core.domain.params import Parameters
from core.routers.presets import DEFAULT_PRESET, PRESETS, applied, preset_of, preset_values
from core.shared.untrusted_text import one_line
from dashboard.ui.knobs import read_knobs
from dashboard.ui.preset_file import own_preset, preset_files
from dashboard.ui.text import escaped

OWN = "own"


def preset_choice(defaults: Parameters, prefix: str) -> None:
    """The preset that the knobs are, and a way to another; nothing for a router that no preset changes."""
    offered = [name for name in PRESETS if name == DEFAULT_PRESET or preset_values(type(defaults), name).keys() - {"n"}]
    if len(offered) == 1:
        return
    parameters = read_knobs(defaults, prefix)
    current = preset_of(parameters) or OWN
    key = _key(prefix, current)
    st.session_state[key] = current
    own = own_preset(parameters, prefix)
    title = one_line(own.name, 40) if own and own.name else "Your own"
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="bottom", wrap=False):
        st.selectbox(
            "Preset",
            [*offered, *([OWN] if current == OWN else [])],
            key=key,
            format_func=lambda name: PRESETS[name].title if name in PRESETS else title,
            on_change=_apply,
            args=(defaults, prefix, key, current),
            help="Named sets of parameters. Choosing one sets the knobs below.",
        )
        preset_files(defaults, prefix)
    by_hand = (own and own.note) or "The knobs below are set by hand."
    st.caption(escaped(PRESETS[current].sentence if current in PRESETS else by_hand, 200))


def _apply(defaults: Parameters, prefix: str, key: str, shown: str) -> None:
    name = st.session_state[key]
    if name == shown or name not in PRESETS:
        return
    before = read_knobs(defaults, prefix).values()
    chosen = applied(type(defaults), name, {"n": before["n"]} if "n" in before else {})
    for parameter, value in chosen.values().items():
        st.session_state[f"{prefix}.{parameter}"] = value
    st.rerun()


def _key(prefix: str, current: str) -> str:
    """The key of the choice: another one whenever the knobs have become `current` in another way than by it. What the browser says
    while it still shows what they were before is then said of a choice that is no more, and changes no knob."""
    turns = st.session_state.get(f"{prefix}:preset turns", 0)
    if st.session_state.get(f"{prefix}:preset.{turns}", current) != current:
        turns += 1
        st.session_state[f"{prefix}:preset turns"] = turns
    return f"{prefix}:preset.{turns}"
