"""Sliders, switches and fields made from declared parameters, grouped, with a mark on what differs from its default."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.domain.params import Knob, Parameters, Value

OPEN_GROUPS = {"similarity", "reliability and time", "auction", "budget"}


def knob_panel(defaults: Parameters, current: Mapping[str, str], prefix: str) -> Parameters:
    """Draw every knob and return the parameters as set. `current` holds texts (from the URL) of what was changed."""
    known = defaults.values()
    start = defaults.replaced({name: text for name, text in current.items() if name in known}).values()
    held = st.session_state.to_dict()  # once: each look at the session costs as much as a widget
    now = {info: held.get(f"{prefix}.{info.name}", start[info.name]) for info in defaults.knobs()}
    groups: dict[str, list[Knob]] = {}
    for info in now:
        groups.setdefault(info.group, []).append(info)
    chosen: dict[str, Value] = {}
    for group, infos in groups.items():
        changed = sum(now[info] != info.default for info in infos)
        title = f"{group.capitalize()} · :violet[{changed} changed]" if changed else group.capitalize()
        with st.expander(title, expanded=group in OPEN_GROUPS, key=f"{prefix}:group:{group}"):
            for info in infos:
                key = f"{prefix}.{info.name}"
                if key not in held:
                    st.session_state[key] = now[info]
                chosen[info.name] = _widget(info, now[info], key)
    return defaults.replaced(chosen)


def reset_knobs(defaults: Parameters, prefix: str) -> None:
    """Put every knob back to its default."""
    for info in defaults.knobs():
        st.session_state[f"{prefix}.{info.name}"] = info.default


def _widget(info: Knob, value: Value, key: str) -> Value:
    mark = " :violet[●]" if value != info.default else ""
    unit = f" ({_plain(info.unit)})" if info.unit else ""
    text = f"**{_plain(info.symbol)}**{unit}{mark}"
    help_text = (
        f"{_plain(info.help)} Parameter `{info.name}`, default {'off' if info.default is None else info.default}."
    )
    if info.kind is bool:
        return st.toggle(text, key=key, help=help_text)
    if info.choices:
        return st.selectbox(text, info.choices, key=key, help=help_text)
    if info.optional:
        return st.number_input(
            text, min_value=info.low, max_value=info.high, step=info.step, key=key, help=help_text,
            placeholder="off", format=_format(info),
        )  # fmt: skip
    whole = info.kind is int
    low, high, step = (int(x or 0) if whole else float(x or 0) for x in (info.low, info.high, info.step))
    return st.slider(text, min_value=low, max_value=high, step=step, key=key, help=help_text, format=_format(info))


def _format(info: Knob) -> str:
    """Digits enough for one step.

    >>> from dataclasses import replace
    >>> info = Knob("x", float, 0.1, "", "", 0.0, 1.0, 0.0005, "", "")
    >>> _format(info), _format(replace(info, kind=int, step=1))
    ('%.4f', '%d')
    """
    if info.kind is int:
        return "%d"
    digits = len(f"{info.step:.6f}".rstrip("0").split(".")[1]) if info.step else 2
    return f"%.{max(digits, 1)}f"


def _plain(text: str) -> str:
    return text.replace("$", r"\$").replace("_", r"\_")
