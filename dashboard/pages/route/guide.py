"""The first minute: three steps, ask, turn and call, in one line above the decision.

Which of them are done, and that somebody wants to see it no more, is kept in the browser alone.
"""

from __future__ import annotations

from pathlib import Path

from streamlit.components.v2 import component

ASSETS = Path(__file__).parents[2] / "assets"
STEPS = (
    ("Ask", "type what is needed, or take an example."),
    ("Turn", "a knob at the side: every chart follows your hand."),
    ("Call", "a candidate: what its call teaches counts from then on."),
)

_guide = component(
    "wayfare.guide",
    html='<div class="wayfare-guide" role="note" aria-label="The first minute" hidden></div>',
    css=(ASSETS / "guide.css").read_text(encoding="utf-8"),
    js=(ASSETS / "guide.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def guide(*, asked: bool, calls: str) -> None:
    """The three steps; the first is done where something was `asked`. `calls`: a CSS selector of the buttons that call."""
    _guide(key="route:guide", data={"steps": STEPS, "asked": asked, "calls": calls})
