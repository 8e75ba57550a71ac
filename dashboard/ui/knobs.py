"""Sliders, switches and fields made from declared parameters, in groups; what few people change stands behind Advanced.

A knob that differs from its default is marked. Each group is a fragment: moving a slider redraws its group and the
fragments that show the decision, not the whole page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from core.domain.params import TEXT_LIMIT, Knob, Parameters, Value
from core.shared.errors import ParameterError

ADVANCED = "advanced"
LONGEST_LETTER = 5  # p_ofs
Groups = dict[str, list[Knob]]


def start_knobs(defaults: Parameters, texts: Mapping[str, str], prefix: str) -> list[str]:
    """Give each knob that has no value yet the one in a link's texts, else its default.

    Returns a sentence for each text that cannot be used; its knob begins at the default.
    """
    session = st.session_state.to_dict()  # once: each look at the session costs as much as a widget
    problems: list[str] = []
    for info in defaults.knobs():
        if f"{prefix}.{info.name}" in session:
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
    """The parameters as the knobs are set."""
    session = st.session_state.to_dict()
    return defaults.replaced(
        {info.name: session.get(f"{prefix}.{info.name}", info.default) for info in defaults.knobs()}
    )


def knob_panel(defaults: Parameters, prefix: str, redraws: str | None, *, elsewhere: Collection[str] = ()) -> None:
    """Draw every knob, group by group, the advanced ones last. A change redraws its group and the fragment with the key
    `redraws`; None: the whole page.

    Groups and knobs that the page draws `elsewhere` are left out.
    """
    infos = [info for info in defaults.knobs() if not {info.group, info.name} & set(elsewhere)]
    everyday, advanced = (_grouped([info for info in infos if info.advanced is kind]) for kind in (False, True))
    panels = [(group, {group: of_group}) for group, of_group in everyday.items()]
    panels += [(ADVANCED, advanced)] if advanced else []
    for name, groups in panels:
        key = f"{prefix}:{name}"
        st.fragment(_panel, key=key)(name, groups, prefix, [redraws, key] if redraws else "app")


def reset_knobs(defaults: Parameters, prefix: str) -> None:
    """Put every knob back to its default."""
    for info in defaults.knobs():
        st.session_state[f"{prefix}.{info.name}"] = info.default


def knob_title(info: Knob) -> str:
    """A knob's plain name, with the letter that formulas and papers use where it has one.

    >>> from dataclasses import replace
    >>> info = Knob("alpha_t", float, 0.1, "αt", "1/s", 0.0, 1.0, 0.1, "", "", label="Time matters")
    >>> knob_title(info), knob_title(replace(info, symbol="alpha_t")), knob_title(replace(info, label=""))
    ('Time matters, αt', 'Time matters', 'αt')
    """
    if not info.label:
        return info.symbol
    is_word = re.fullmatch("[a-z ]{4,}", info.symbol) or (
        info.symbol == info.name and len(info.symbol) > LONGEST_LETTER
    )
    return info.label if is_word else f"{info.label}, {info.symbol}"


def _grouped(infos: Sequence[Knob]) -> Groups:
    groups: Groups = {}
    for info in infos:
        groups.setdefault(info.group, []).append(info)
    return groups


def _panel(name: str, groups: Groups, prefix: str, redraws: list[str] | str) -> None:
    """One fold: a group, or all groups of the advanced knobs under headings of their own."""
    session = st.session_state.to_dict()
    infos = [info for of_group in groups.values() for info in of_group]
    now = {info.name: session.get(f"{prefix}.{info.name}", info.default) for info in infos}
    changed = sum(now[info.name] != info.default for info in infos)
    title = f"{name.capitalize()} · :violet[{changed} changed]" if changed else name.capitalize()
    with st.expander(title, expanded=name != ADVANCED, key=f"{prefix}:group:{name}"):
        for group, of_group in groups.items():
            if name == ADVANCED:
                st.caption(f"**{group.capitalize()}**")
            for info in of_group:
                _widget(info, now[info.name], f"{prefix}.{info.name}", redraws)


def _widget(info: Knob, value: Value, key: str, redraws: list[str] | str) -> None:
    mark = " :violet[●]" if value != info.default else ""
    unit = f" ({_plain(info.unit)})" if info.unit else ""
    text = f"{_plain(knob_title(info))}{unit}{mark}"
    default = "off" if info.default is None else info.default
    help_text = f"{_plain(info.help)} Parameter `{info.name}`, default {default}."
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
