"""Sliders, switches and fields made from declared parameters, in groups. Rarely used knobs are behind Advanced.

One component draws them all (`assets/knobs.js`). A knob that differs from its default is marked. While a knob
is turned, it asks the fast lane of the page, if there is one. When it is released, it redraws the fragments that depend on it,
not the whole page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from core.domain.errors import ParameterError
from core.domain.params import TEXT_LIMIT, Knob, Parameters, Value
from core.domain.people import person
from core.domain.untrusted_text import one_line
from dashboard.page_host import StreamlitAPIException, draws_whole_page
from dashboard.ui.chart import component

ADVANCED = "advanced"
LONGEST_LETTER = 5  # p_ofs

# Inline, though the host could serve files: for a file it puts a script into the page and waits for it at every message, and files
# need an installed package with a manifest. A module that is imported by its address made the message 37 kB smaller, and a turn
# no quicker: beside this one 135 to 114 ms until the chart changed and 689 to 685 ms until all was drawn, p50 of 30 presses in turn.
_panel = component(
    "knobs", '<div class="wayfare-knobs"></div>',
    "tips.css", "knobs.css", "dom.js", "tips.js", "strips.js", "lane.js", "control.js", "knobs.js",
)  # fmt: skip


Moved = Callable[[Mapping[str, Any]], bool]
"""Takes a message of the browser whose values are set, and returns whether it led through the history of the console."""


@dataclass(frozen=True, slots=True)
class LaneLink:
    """The fast lane of a page: its address and token, the key of the part that must exist before anything is drawn, the key of the
    chart that stays in sight, a CSS selector of the parts that wait until the change is stored, and the kind of its answers."""

    at: str
    token: str
    shows: str
    chart: str
    waits: str
    kind: str = "decision"


def start_knobs(defaults: Parameters, texts: Mapping[str, str], prefix: str) -> list[str]:
    """Give each knob without a value the value in a link's texts, else its default. Forgets the knobs of another router.

    Returns a sentence for each text that cannot be used. Its knob gets the default.
    """
    session = st.session_state.to_dict()  # once: each look at the session costs as much as a widget
    family = prefix.rpartition(".")[0]
    for key in session:
        if str(key).startswith(f"{family}.") and not str(key).startswith((f"{prefix}.", f"{prefix}:")):
            del st.session_state[key]
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
    session = st.session_state.to_dict()
    return defaults.replaced(
        {info.name: session.get(f"{prefix}.{info.name}", info.default) for info in defaults.knobs()}
    )


def knob_panel(
    defaults: Parameters,
    prefix: str,
    redraws: Sequence[str],
    *,
    elsewhere: Collection[str] = (),
    lane: LaneLink | None = None,
    moved: Moved | None = None,
) -> None:
    """Draw every knob, group by group, the advanced knobs last. Leaves out groups and knobs that the page draws `elsewhere`.

    A change redraws the knobs and the fragments with the keys `redraws`, or the whole page if there are no keys.
    """
    infos = [info for info in defaults.knobs() if not {info.group, info.name} & set(elsewhere)]
    key = f"{prefix}:knobs"
    st.fragment(draw_knobs, key=key)(infos, prefix, [*redraws, key] if redraws else "app", lane, moved)


def reset_knobs(defaults: Parameters, prefix: str) -> None:
    for info in defaults.knobs():
        st.session_state[f"{prefix}.{info.name}"] = info.default


def knob_title(info: Knob) -> str:
    """Returns the plain name of a knob, with its letter in formulas and papers if it has one.

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


def draw_knobs(
    infos: Sequence[Knob],
    prefix: str,
    redraws: list[str] | str,
    lane: LaneLink | None,
    moved: Moved | None = None,
    *,
    title: str = "",
    plays: str = "",
) -> None:
    """Draw these knobs, below one `title` if there is one. A button moves the knob `plays` on by itself. A change redraws `redraws`."""
    session = st.session_state.to_dict()
    key = f"{prefix}:panel"
    groups, locked = _folds(infos), person().refusal("tune")
    if locked and not title:
        st.caption(f":material/lock: {locked}")
    if title:
        groups = [{**groups[0], "title": title, "open": len(infos) > 1}]
    _panel(
        key=key,
        data={
            "prefix": prefix,
            "groups": groups,
            "plays": plays,
            "locked": bool(locked),
            "values": {info.name: session.get(f"{prefix}.{info.name}", info.default) for info in infos},
            "heard": session.get(heard_key(prefix), 0),
            "said": session.get(f"{prefix}:said", ""),
            **({} if lane is None else asdict(lane)),
        },
        on_turned_change=lambda: _turned(st.session_state.get(key, {}).get("turned"), infos, prefix, redraws, moved),
    )


def heard_key(prefix: str) -> str:
    """Returns the session key of the newest message's count. A link to the page does not clear it: messages may be on the way."""
    return f"heard:{prefix}"


def _turned(
    messages: object, infos: Sequence[Knob], prefix: str, redraws: list[str] | str, moved: Moved | None
) -> None:
    redrawn = "app" if take_turned(messages, infos, prefix, moved) else redraws
    if draws_whole_page():  # another change came with it, such as a question, which fragments would lose
        return
    try:
        st.rerun(redrawn)
    except StreamlitAPIException:  # a run was interrupted above these fragments, so the host does not know them
        st.rerun("app")


def take_turned(said: object, infos: Sequence[Knob], prefix: str, moved: Moved | None = None) -> bool:
    """Apply the browser's messages `{"count", "values", "step" or "to"}`, the oldest first, and skip messages applied before. Returns
    whether a message led through the history.

    A message sets values and is passed to `moved`. Its content may be anything: an unusable value changes nothing and gives a sentence.
    """
    stepped = False
    for item in said if isinstance(said, list) else []:
        message: dict[str, Any] = item if isinstance(item, dict) else {}
        count, values = message.get("count"), message.get("values")
        if not isinstance(count, int) or count <= st.session_state.get(heard_key(prefix), 0):
            continue
        locked = person().refusal("tune")
        problems = [locked] if locked else _set(values if isinstance(values, dict) else {}, infos, prefix)
        st.session_state[heard_key(prefix)], st.session_state[f"{prefix}:said"] = count, " ".join(problems)
        if moved is not None and not locked:
            stepped = moved(message) or stepped
    return stepped


def _set(values: Mapping[str, object], infos: Sequence[Knob], prefix: str) -> list[str]:
    """Set the knobs in `values`. Returns a sentence for each unusable value."""
    problems: list[str] = []
    for info in infos:
        if info.name in values:
            try:
                st.session_state[f"{prefix}.{info.name}"] = info.parse(values[info.name])
            except ParameterError as error:
                problems.append(one_line(str(error), 300))
    return problems


def _folds(infos: Sequence[Knob]) -> list[dict[str, Any]]:
    """Returns the groups as the browser draws them: a fold for each, and one fold with headings for all advanced knobs."""
    everyday, advanced = ([info for info in infos if info.advanced is kind] for kind in (False, True))
    folds = [
        {"name": group, "title": group.capitalize(), "open": True, "parts": [{"title": "", "knobs": specs}]}
        for group, specs in _grouped(everyday).items()
    ]
    if advanced:
        parts = [{"title": group.capitalize(), "knobs": specs} for group, specs in _grouped(advanced).items()]
        folds.append({"name": ADVANCED, "title": ADVANCED.capitalize(), "open": False, "parts": parts})
    return folds


def _grouped(infos: Sequence[Knob]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for info in infos:
        groups.setdefault(info.group, []).append(_spec(info))
    return groups


def _spec(info: Knob) -> dict[str, Any]:
    default = "off" if info.default is None else info.default
    kinds = {bool: "switch", str: "text"}
    number = "optional" if info.optional else "slider"
    return {
        "name": info.name, "kind": "choice" if info.choices else kinds.get(info.kind, number), "title": knob_title(info), "unit": info.unit,
        "help": f"{info.help} Parameter {info.name}, default {default}.", "default": info.default, "choices": info.choices,
        "longest": TEXT_LIMIT, "low": info.low, "high": info.high, "step": info.step, "scale": info.scale, "whole": info.kind is int,
        "digits": _digits(info),
    }  # fmt: skip


def _digits(info: Knob) -> int:
    """Returns the decimal places that one step needs.

    >>> from dataclasses import replace
    >>> info = Knob("x", float, 0.1, "", "", 0.0, 1.0, 0.0005, "", "")
    >>> _digits(info), _digits(replace(info, kind=int, step=1))
    (4, 0)
    """
    if info.kind is int:
        return 0
    return max(1, len(f"{info.step:.6f}".rstrip("0").split(".")[1])) if info.step else 2


def value_text(value: Value) -> str:
    if value is None:
        return "off"
    if isinstance(value, bool):
        return "on" if value else "off"
    return one_line(value, 24) if isinstance(value, str) else f"{value:g}"
