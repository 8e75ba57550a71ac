"""Undo and redo of knobs: what they were during a visit, one step a gesture, with a list to return to.

The panel of the knobs tells the page host to step (`assets/history.js` asks it), so that what was not stored yet is a step too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import streamlit as st
from streamlit.components.v2 import component

from core.domain.params import Knob, Value
from core.shared.untrusted_text import one_line

MOST = 50
NAMED = 3  # knobs of one step
Values = Mapping[str, Value]

ASSETS = Path(__file__).parent.parent / "assets"

_buttons = component(
    "wayfare.history",
    html='<div class="wayfare-history"></div>',
    css=(ASSETS / "history.css").read_text(encoding="utf-8"),
    js=(ASSETS / "history.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True, slots=True)
class History:
    """The values that the knobs had one after the other, the oldest first, and which of them they have.

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
        """What the knobs are."""
        return self.states[self.at]

    def noted(self, values: Values) -> Self:
        """With these values as the newest step; what was undone before is forgotten. The same values are no step."""
        if values == self.values:
            return self
        states = (*self.states[: self.at + 1], values)[-MOST:]
        return type(self)(states, len(states) - 1)

    def stepped(self, by: int) -> Self:
        """So many steps back (below 0) or forth, as far as there are any."""
        return self.returned(self.at + by)

    def returned(self, to: int) -> Self:
        """With the values of this step, from 0 on."""
        return type(self)(self.states, min(max(to, 0), len(self.states) - 1))


def note(infos: Sequence[Knob], prefix: str) -> None:
    """Write down what these knobs are now, where the page has a history and that is another state than before."""
    history: History | None = st.session_state.get(_key(prefix))
    if history is not None:
        st.session_state[_key(prefix)] = history.noted({**history.values, **_now(infos, prefix)})


def step(prefix: str, *, by: object = None, to: object = None) -> None:
    """Set the knobs to what they were so many steps before (below 0) or after, or at one step; what is no number is passed over."""
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
    """The key of the fragment with the buttons, to be redrawn when a knob has changed."""
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
    """What one step changed, from what to what.

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
    """Outside the page's own keys, which a link from elsewhere clears: to follow a link is a step, too."""
    return f"history:{prefix}"
