"""The tools that are left out because of the agent's state, and what each of them lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core.domain.preconditions import Precondition
from core.routers.attention import HeldBack, StateView
from dashboard.ui.text import escaped

SHOWN = 4


def gated_tools(views: Sequence[StateView], grant: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """One line for each tool, best first, with a button that gives the state what the tool lacks.

    The views are those of a decision, or of a plan's steps in order: there a tool is listed once, for the first step that
    leaves it out. `grant` is called with the arguments and the preconditions.
    """
    if not views[0].checked:
        st.caption("Preconditions are switched off: no tool is left out for the state.")
        return
    found: dict[str, tuple[HeldBack, str]] = {}
    for step, view in enumerate(views, start=1):
        for tool in view.held_back:
            found.setdefault(tool.tool, (tool, f"step {step}: " if len(views) > 1 else ""))
    if not found:
        st.caption("No tool above the threshold is left out for the state.")
        return
    first, rest = list(found.values())[:SHOWN], list(found)[SHOWN:]
    grid = st.grid(2, min_column_width=430, gap="xxsmall")
    for tool, step in first:
        with grid.cell():
            _line(tool, step, grant, arguments)
    if rest:
        st.caption(f"And {len(rest)} more: {', '.join(escaped(name, 90) for name in rest[:20])}.")


def _line(tool: HeldBack, step: str, grant: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    lacks = " ".join(f":orange-badge[{escaped(lack_in_words(text), 120)}]" for text in tool.lacks)
    place = "would be outranked" if tool.rank is None else f"would be candidate {tool.rank}"
    row.markdown(
        f":material/lock: **{escaped(tool.tool, 90)}** lacks {lacks}  \n:small[:gray[{step}ISO {tool.iso:.3f}, {place}]]",
        width="content",
    )
    row.button("Grant", key=f"route:grant:{tool.tool}", type="tertiary", on_click=grant, args=(*arguments, tool.lacks))


def lack_in_words(precondition: str) -> str:
    """A precondition as a phrase; as it stands where it cannot be read.

    >>> lack_in_words('is_authenticated(scope="mail:write")'), lack_in_words("a gate")
    ('scope mail:write', 'a gate')
    """
    try:
        return Precondition.parse(precondition).in_words()
    except ValueError:
        return precondition
