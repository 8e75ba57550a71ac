"""Sliders, switches and fields made from declared parameters, in groups. Rarely used ones are behind Advanced.

One component draws them all (`assets/knobs.js`). A knob that differs from its default is marked. While a knob
is turned, it asks the fast lane of the page, if there is one. When it is released, it redraws the fragments that depend on it,
not the whole page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import streamlit as st

from core.domain.errors import ParameterError
from core.domain.params import TEXT_LIMIT, Knob, Parameters, Value
from core.domain.people import person
from core.domain.untrusted_text import one_line
from dashboard.page_host import StreamlitAPIException
from dashboard.ui.chart import component

ADVANCED = "advanced"
LONGEST_LETTER = 5  # p_ofs

# Inline, though the host could serve files: for a file it puts a script into the page and waits for it at every message, and files
# need an installed package with a manifest. A module that is imported by its address made the message 37 kB smaller, and a turn
# no quicker: beside this one 135 to 114 ms until the chart changed and 689 to 685 ms until all was drawn, p50 of 30 presses in turn.
_panel = component(
    "knobs", '<div class="wayfare-knobs"></div>',
    "tips.css", "knobs.css", "tips.js", "strips.js", "lane.js", "control.js", "knobs.js",
)  # fmt: skip


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
    """Give each knob without a value the one in a link's texts, else its default. Forgets the knobs of another router.

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
) -> None:
    """Draw every knob, group by group, the advanced ones last. Leaves out groups and knobs that the page draws `elsewhere`.

    A change redraws the knobs and the fragments with the keys `redraws`, or the whole page if there are no keys.
    """
    infos = [info for info in defaults.knobs() if not {info.group, info.name} & set(elsewhere)]
    key = f"{prefix}:knobs"
    st.fragment(draw_knobs, key=key)(infos, prefix, [*redraws, key] if redraws else "app", lane)


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
            "heard": session.get(f"{prefix}:heard", 0),
            "said": session.get(f"{prefix}:said", ""),
            **({} if lane is None else asdict(lane)),
        },
        on_turned_change=lambda: _turned(st.session_state.get(key, {}).get("turned"), infos, prefix, redraws),
    )


def _turned(said: object, infos: Sequence[Knob], prefix: str, redraws: list[str] | str) -> None:
    take_turned(said, infos, prefix)
    try:
        st.rerun(redraws)
    except StreamlitAPIException:  # a run was interrupted above these fragments, so the host does not know them
        st.rerun("app")


def take_turned(said: object, infos: Sequence[Knob], prefix: str) -> None:
    """Apply the browser's messages `{"count", "values", "step" or "to"}`, the oldest first, and skip those applied before.

    A message sets values and moves through the history. Its content may be anything: an unusable value changes nothing and gives a
    sentence.
    """
    for one in said if isinstance(said, list) else []:
        message: dict[str, Any] = one if isinstance(one, dict) else {}
        count, values = message.get("count"), message.get("values")
        if not isinstance(count, int) or count <= st.session_state.get(f"{prefix}:heard", 0):
            continue
        locked = person().refusal("tune")
        problems = [locked] if locked else _set(values if isinstance(values, dict) else {}, infos, prefix)
        st.session_state[f"{prefix}:heard"], st.session_state[f"{prefix}:said"] = count, " ".join(problems)
        if locked:
            continue
        note(infos, prefix)
        step(prefix, by=message.get("step"), to=message.get("to"))


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
    spec: dict[str, Any] = {
        "name": info.name, "kind": _kind(info), "title": knob_title(info), "unit": info.unit,
        "help": f"{info.help} Parameter {info.name}, default {default}.", "default": info.default,
    }  # fmt: skip
    if info.choices:
        return {**spec, "choices": info.choices}
    if info.kind in (bool, str):
        return {**spec, "longest": TEXT_LIMIT}
    numbers = {"low": info.low, "high": info.high, "step": info.step, "scale": info.scale, "whole": info.kind is int}
    return {**spec, **numbers, "digits": _digits(info)}


def _kind(info: Knob) -> str:
    if info.choices:
        return "choice"
    if info.kind in (bool, str):
        return "switch" if info.kind is bool else "text"
    return "optional" if info.optional else "slider"


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


MOST = 50
NAMED = 3  # knobs in the title of a step
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class History:
    """The values of the knobs, the oldest first, and the place of the current ones.

    >>> history = History(({"k": 5},)).noted({"k": 7}).noted({"k": 9})
    >>> history.stepped(-2).values, history.stepped(-2).stepped(1).values, history.stepped(9).values
    ({'k': 5}, {'k': 7}, {'k': 9})
    >>> history.stepped(-1).noted({"k": 1}).states
    ({'k': 5}, {'k': 7}, {'k': 1})
    """

    states: tuple[Values, ...]
    at: int = 0

    @property
    def values(self) -> Values:
        return self.states[self.at]

    def noted(self, values: Values) -> Self:
        """Returns the history with a new step, without undone steps. Equal values add no step."""
        if values == self.values:
            return self
        states = (*self.states[: self.at + 1], values)[-MOST:]
        return type(self)(states, len(states) - 1)

    def stepped(self, by: int) -> Self:
        """Returns the history `by` steps later, or earlier if negative, within its ends."""
        return self.returned(self.at + by)

    def returned(self, to: int) -> Self:
        """Returns the history at step `to`, counted from 0."""
        return type(self)(self.states, min(max(to, 0), len(self.states) - 1))


def note(infos: Sequence[Knob], prefix: str) -> None:
    """Add the current values to the history of the page, if it has one."""
    history: History | None = st.session_state.get(_key(prefix))
    if history is not None:
        st.session_state[_key(prefix)] = history.noted({**history.values, **_now(infos, prefix)})


def step(prefix: str, *, by: object = None, to: object = None) -> None:
    """Set the knobs to their values `by` steps later, or earlier if negative, or at step `to`. Ignores values that are no integers."""
    history: History | None = st.session_state.get(_key(prefix))
    if history is None:
        return
    if isinstance(by, int):
        history = history.stepped(by)
    if isinstance(to, int):
        history = history.returned(to)
    st.session_state[_key(prefix)] = history
    for name, value in history.values.items():
        st.session_state[f"{prefix}.{name}"] = value


def history_of(infos: Sequence[Knob], prefix: str) -> dict[str, Any]:
    """Returns the steps of this visit for undo, redo and their list."""
    if _key(prefix) not in st.session_state:
        st.session_state[_key(prefix)] = History((_now(infos, prefix),))
    note(infos, prefix)
    history: History = st.session_state[_key(prefix)]
    steps = [_said(infos, *pair) for pair in zip(history.states, history.states[1:], strict=False)]
    return {"steps": steps, "at": history.at, "heard": st.session_state.get(f"{prefix}:heard", 0)}


def _now(infos: Sequence[Knob], prefix: str) -> Values:
    session = st.session_state.to_dict()
    return {info.name: session.get(f"{prefix}.{info.name}", info.default) for info in infos}


def _said(infos: Sequence[Knob], before: Values, after: Values) -> str:
    """Returns the changes of one step, with old and new values.

    >>> from core.routers.ehrr import EhrrParameters
    >>> infos = EhrrParameters.knobs()
    >>> _said(infos, EhrrParameters().values(), EhrrParameters(alpha_t=0.5, budget_usd=0.1).values())
    'αt 0.02 → 0.5 1/s, B off → 0.1 $'
    """
    changed = [info for info in infos if before[info.name] != after[info.name]]
    words = [
        f"{info.symbol} {value_text(before[info.name])} → {value_text(after[info.name])} {info.unit}".strip()
        for info in changed[:NAMED]
    ]
    rest = len(changed) - len(words)
    return ", ".join([*words, *([f"{rest} more"] if rest else [])])


def value_text(value: Value) -> str:
    if value is None:
        return "off"
    if isinstance(value, bool):
        return "on" if value else "off"
    return one_line(value, 24) if isinstance(value, str) else f"{value:g}"


def _key(prefix: str) -> str:
    """Returns a key that a link to the page does not clear, because following a link is a step, too."""
    return f"history:{prefix}"
