"""Sliders, switches and fields made from declared parameters, grouped, with a mark on what differs from its default.

Each group is a fragment: moving a slider redraws its group and the fragments that show the decision, not the whole page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from core.domain.params import TEXT_LIMIT, Knob, Parameters, Value
from core.errors import ParameterError

OPEN_GROUPS = {"similarity", "reliability and time", "auction", "budget"}


def start_knobs(defaults: Parameters, texts: Mapping[str, str], prefix: str) -> list[str]:
    """Give each knob that has no value yet the one its text says (a shared link), else its default.

    Returns a sentence for each text that cannot be used; its knob begins at the default.
    """
    held = st.session_state.to_dict()  # once: each look at the session costs as much as a widget
    problems: list[str] = []
    for info in defaults.knobs():
        if f"{prefix}.{info.name}" in held:
            continue
        value = info.default
        if info.name in texts:
            try:
                value = info.parse(texts[info.name])
            except ParameterError as error:
                problems.append(str(error))
        st.session_state[f"{prefix}.{info.name}"] = value
    return problems


def read_knobs(defaults: Parameters, prefix: str) -> Parameters:
    """The parameters as the knobs stand."""
    held = st.session_state.to_dict()
    return defaults.replaced({info.name: held.get(f"{prefix}.{info.name}", info.default) for info in defaults.knobs()})


def knob_panel(defaults: Parameters, prefix: str, redraws: str | None, *, elsewhere: Collection[str] = ()) -> None:
    """Draw every knob, group by group. A change redraws its group and the fragment with the key `redraws`; None: the page.

    Groups and knobs that the page draws `elsewhere` are left out.
    """
    groups: dict[str, list[Knob]] = {}
    for info in defaults.knobs():
        if info.group not in elsewhere and info.name not in elsewhere:
            groups.setdefault(info.group, []).append(info)
    for group, infos in groups.items():
        key = f"{prefix}:{group}"
        st.fragment(_group, key=key)(group, infos, prefix, [redraws, key] if redraws else "app")


def _group(group: str, infos: Sequence[Knob], prefix: str, redraws: list[str] | str) -> None:
    held = st.session_state.to_dict()
    now = {info.name: held.get(f"{prefix}.{info.name}", info.default) for info in infos}
    changed = sum(now[info.name] != info.default for info in infos)
    title = f"{group.capitalize()} · :violet[{changed} changed]" if changed else group.capitalize()
    with st.expander(title, expanded=group in OPEN_GROUPS, key=f"{prefix}:group:{group}"):
        for info in infos:
            _widget(info, now[info.name], f"{prefix}.{info.name}", redraws)


def reset_knobs(defaults: Parameters, prefix: str) -> None:
    """Put every knob back to its default."""
    for info in defaults.knobs():
        st.session_state[f"{prefix}.{info.name}"] = info.default


def _widget(info: Knob, value: Value, key: str, redraws: list[str] | str) -> None:
    mark = " :violet[●]" if value != info.default else ""
    unit = f" ({_plain(info.unit)})" if info.unit else ""
    text = f"**{_plain(info.symbol)}**{unit}{mark}"
    help_text = (
        f"{_plain(info.help)} Parameter `{info.name}`, default {'off' if info.default is None else info.default}."
    )
    if info.kind is bool:
        st.toggle(text, key=key, help=help_text, on_change=st.rerun, args=(redraws,))
    elif info.choices:
        st.selectbox(text, info.choices, key=key, help=help_text, on_change=st.rerun, args=(redraws,))
    elif info.free_text:
        st.text_input(text, key=key, help=help_text, max_chars=TEXT_LIMIT, on_change=st.rerun, args=(redraws,))
    elif info.optional:
        st.number_input(
            text, value=None, min_value=info.low, max_value=info.high, step=info.step, key=key, help=help_text,
            placeholder="off", format=_format(info), on_change=st.rerun, args=(redraws,),
        )  # fmt: skip
    else:
        number = int if info.kind is int else float
        low, high, step = (number(x or 0) for x in (info.low, info.high, info.step))
        st.slider(
            text, min_value=low, max_value=high, step=step, key=key, help=help_text,
            format=_format(info), on_change=st.rerun, args=(redraws,),
        )  # fmt: skip


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
