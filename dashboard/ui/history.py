"""The states of the console during a visit, for undo and redo. A state has the link texts that differ from the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import streamlit as st

from core.domain.params import Knob
from core.domain.untrusted_text import one_line
from dashboard.ui.knobs import value_text

MOST = 50
NAMED = 3  # changes in the title of a step
HISTORY = "history"
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class History:
    """The states, the oldest first, and the place of the present one.

    >>> history = History(({"k": "5"},)).noted({"k": "7"}).noted({"router": "sonar"})
    >>> history.stepped(-2).state, history.stepped(-2).stepped(1).state, history.stepped(9).state
    ({'k': '5'}, {'k': '7'}, {'router': 'sonar'})
    >>> history.stepped(-1).noted({}).states
    ({'k': '5'}, {'k': '7'}, {})
    """

    states: tuple[Texts, ...]
    at: int = 0

    @property
    def state(self) -> Texts:
        return self.states[self.at]

    def noted(self, state: Texts) -> Self:
        """Returns the history with a new state, without undone states. The present state is not added again."""
        if state == self.state:
            return self
        states = (*self.states[: self.at + 1], state)[-MOST:]
        return type(self)(states, len(states) - 1)

    def stepped(self, by: int) -> Self:
        """Returns the history `by` steps later, or earlier if negative, within its ends."""
        return self.returned(self.at + by)

    def returned(self, to: int) -> Self:
        """Returns the history at step `to`, counted from 0."""
        return type(self)(self.states, min(max(to, 0), len(self.states) - 1))


def noted(state: Texts | None = None) -> History:
    """Returns the history of this visit, with its present state if it is given."""
    history: History | None = st.session_state.get(HISTORY)
    if history is None:
        return keep(History((state or {},)))
    return history if state is None else keep(history.noted(state))


def keep(history: History) -> History:
    st.session_state[HISTORY] = history
    return history


def step_words(knobs: Iterable[Knob], usual: Texts, titles: Texts, before: Texts, after: Texts) -> str:
    """Returns the changes of one step, with old and new values. `usual` has the defaults of other settings; some have `titles`.

    >>> from core.routers.ehrr import EhrrParameters
    >>> before, after = {"budget_usd": "0.1"}, {"alpha_t": "0.5", "router": "sonar"}
    >>> step_words(EhrrParameters.knobs(), {"router": "ehrr"}, {"sonar": "SONAR"}, before, after)
    'router ehrr → SONAR, αt 0.02 → 0.5 1/s, B 0.1 → off $'
    """
    changes = list[str]()
    for name, text in usual.items():
        old, new = (texts.get(name, text) for texts in (before, after))
        if old != new:
            changes.append(f"{name} {titles.get(old, old)} → {titles.get(new, new)}")
    for info in knobs:
        old, new = (value_text(info.parse(texts.get(info.name, info.default))) for texts in (before, after))
        if old != new:
            changes.append(f"{info.symbol} {old} → {new} {info.unit}".strip())
    rest = len(changes) - NAMED
    return one_line(", ".join([*changes[:NAMED], *([f"{rest} more"] if rest > 0 else [])]), 200)
