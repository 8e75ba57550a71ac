"""Undo and redo of knobs: their values during a visit, one step for each gesture.

`assets/history.js` asks the knob panel to send the step, so that values that are not stored yet become a step too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import streamlit as st

from core.domain.params import Knob, Value
from core.domain.untrusted_text import one_line
from dashboard.ui.chart import component

MOST = 50
NAMED = 3  # knobs in the title of a step
Values = Mapping[str, Value]


_buttons = component("history", '<div class="wayfare-history"></div>', "history.css", "history.js")


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
        """The current values."""
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


def history_key(prefix: str) -> str:
    """Returns the key of the fragment with the buttons. It is redrawn when a knob changes."""
    return f"{prefix}:steps"


def history_buttons(infos: Sequence[Knob], prefix: str) -> None:
    """Undo, redo, and the list of steps of this visit."""
    if _key(prefix) not in st.session_state:
        st.session_state[_key(prefix)] = History((_now(infos, prefix),))
    note(infos, prefix)
    history: History = st.session_state[_key(prefix)]
    steps = [_said(infos, *pair) for pair in zip(history.states, history.states[1:], strict=False)]
    _buttons(
        key=f"{prefix}:history",
        data={"prefix": prefix, "steps": steps, "at": history.at, "heard": st.session_state.get(f"{prefix}:heard", 0)},
        width="content",
    )


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
        f"{info.symbol} {_shown(before[info.name])} → {_shown(after[info.name])} {info.unit}".strip()
        for info in changed[:NAMED]
    ]
    rest = len(changed) - len(words)
    return ", ".join([*words, *([f"{rest} more"] if rest else [])])


def _shown(value: Value) -> str:
    if value is None:
        return "off"
    if isinstance(value, bool):
        return "on" if value else "off"
    return one_line(value, 24) if isinstance(value, str) else f"{value:g}"


def _key(prefix: str) -> str:
    """Returns a key that a link to the page does not clear, because following a link is a step, too."""
    return f"history:{prefix}"
