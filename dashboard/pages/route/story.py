"""The Decision view without a sub-task begins in the middle of a story: a decision whose winner changes with one knob.

The charts are those of the decision, and the fast lane moves them. The knob moves by itself once (`assets/story.js`); nothing of that is
stored. What would happen next stands beside it, from `sample_catalog/played.json`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from core.app import App
from core.decisions.routing import Asked
from core.decisions.strips import Segment, Strip
from core.domain import units
from core.domain.params import Knob
from core.importers.shipped_catalogs import played
from core.routers.ehrr import EhrrParameters
from dashboard.lane import lanes
from dashboard.pages.route.turned import AUCTION, HEADLINE, SERVERS, TOOLS, figures, lane_answers, texts
from dashboard.ui.chart import chart, live
from dashboard.ui.question import winner_colours
from dashboard.ui.text import escaped

ASSETS = Path(__file__).parents[2] / "assets"
KNOBS = ("alpha_t", "kappa")
"""The knobs of a story, the first one that changes the winner."""
BESIDE = 0.4  # how far beyond the change the knob goes, as a share of the change's own value
ROOM = 1.3  # of the track beyond that

_story = component(
    "wayfare.story",
    html='<section class="wayfare-story" aria-label="The winner changes with one knob"></section>',
    css=(ASSETS / "story.css").read_text(encoding="utf-8"),
    js=(ASSETS / "story.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of a knob from its value `now` to a value `to`, beyond the change `at` which another tool wins. Values up to `top` are
    shown."""

    knob: Knob
    now: float
    at: float
    to: float
    top: float
    bands: tuple[Segment, ...]
    winners: tuple[str, str]


def turn_of(strip: Strip, knob: Knob, now: float) -> Turn | None:
    """Returns the turn to the nearest other winner, above the present value if there is one. None if the winner stays the same.

    >>> knob = Knob("alpha_t", float, 0.02, "αt", "1/s", 0.0, 2.0, 0.01, "", "")
    >>> strip = Strip("alpha_t", 0.0, 2.0, (Segment(0.0, 0.06, "a", "", "", 0.1), Segment(0.06, 2.0, "b", "", "", 0.1)))
    >>> found = turn_of(strip, knob, 0.02)
    >>> found.to, found.winners, turn_of(strip, knob, 0.5).winners
    (0.08, ('a', 'b'), ('b', 'a'))
    """
    bands = strip.winners()
    here = max(place for place, band in enumerate(bands) if place == 0 or band.low <= now)
    winner = bands[here].winner
    beside = [*bands[here + 1 :], *reversed(bands[:here])]
    other = next((band for band in beside if band.winner not in {None, winner}), None)
    if winner is None or other is None or not knob.step:
        return None
    ends = (other.low, min(other.high, (1 + 2 * BESIDE) * other.low)) if other.low >= now else (other.low, other.high)
    to = round(round(sum(ends) / 2 / knob.step) * knob.step, 6)
    if not ends[0] < to < ends[1]:
        return None
    top = min(float(knob.high or to), math.ceil(ROOM * max(to, now) / knob.step) * knob.step)
    return Turn(knob, now, ends[0] if other.low >= now else ends[1], to, top, bands, (winner, str(other.winner)))


def story_of(app: App, asked: Asked) -> Turn | None:
    """Returns what changes the winner of this sub-task. None for another router than EHRR, or if no knob of a story does."""
    if not isinstance(asked.parameters, EhrrParameters):
        return None
    strips, knobs = app.what_if.strips(asked), {knob.name: knob for knob in asked.parameters.knobs()}
    turns = (turn_of(strips[name], knobs[name], getattr(asked.parameters, name)) for name in KNOBS if name in strips)
    return next((turn for turn in turns if turn is not None), None)


def story(app: App, asked: Asked, turn: Turn, ask: Callable[[], None], token: str) -> None:
    """Draw the decision on this sub-task with a knob that moves by itself, and what happens next. The button calls `ask`.

    `token` is that of the fast lane. Nothing is recorded.
    """
    decision = app.routing.preview(asked)
    colours = winner_colours(asked)
    shown = colours.of([turn.winners[0], *(band.winner for band in turn.bands)])
    lanes.open(token, lane_answers(app, asked, colours))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:story:question"):
        st.container(width="stretch").markdown(f"For example: **{escaped(asked.subtask, 160)}**")
        if st.button("Ask this", key="route:story:ask", icon=":material/north_east:", on_click=ask):
            st.rerun()  # the filled field is outside the fragment of this button
    _story(key="route:story", data=_data(turn, shown))
    live(texts(decision, asked.supposed)[HEADLINE], key=HEADLINE, lane=token)
    drawn = figures(decision)
    grid = st.container(key="route:columns").grid(4, min_column_width=235, gap="xsmall")
    for part in (SERVERS, AUCTION, TOOLS):
        if part in drawn:
            with grid.cell():
                chart(drawn[part], key=part)
    with grid.cell():
        _next(asked)


def _data(turn: Turn, colours: Mapping[str | None, str]) -> dict[str, Any]:
    knob, (first, second) = turn.knob, turn.winners
    side = "above" if turn.to > turn.now else "below"
    title = knob.label or knob.symbol  # without its letter: the knob at the left has that name
    return {
        "name": knob.name, "title": title, "unit": knob.unit, "low": knob.low, "top": turn.top, "step": knob.step,
        "now": turn.now, "to": turn.to,
        "bands": [[band.low, band.high, colours[band.winner], band.winner or "no tool"] for band in turn.bands if band.low < turn.top],
        "before": f"{first} wins. Watch the knob “{title}”: it moves once, and {second} takes over.",
        "after": f"{second} takes over {side} {turn.at:.3g} {knob.unit}. Move the knob yourself: every chart follows.",
    }  # fmt: skip


def _next(asked: Asked) -> None:
    """Draw what happens after this decision, as it was played once. For another sub-task, what can be done."""
    known = played()
    if (asked.catalog, asked.subtask) != (known["catalog"], known["question"]):
        st.markdown("**What happens next**")
        st.markdown(
            "**Ask this** opens the decision with its candidates. **Call** fills in the form of a candidate and shows the answer. Its "
            "outcome counts in the next decision."
        )
        return
    call, saving = known["call"], known["saving"]
    success, call_s = (
        [show(value) for value in call[name]] for name, show in (("success", units.share), ("call_s", units.seconds))
    )
    form = "  \n".join(
        f":small[{escaped(name, 40)} = {escaped(str(value), 120)}]" for name, value in call["arguments"].items()
    )
    less = f"{escaped(units.seconds(saving['time_s']))} and {escaped(units.price(saving['usd']))}"
    with st.container(border=True, gap="xsmall", key="route:story:next"):
        st.markdown("**What happens next** :gray-badge[simulated]", help=known["about"])
        st.markdown(
            f"**Call** {escaped(call['tool'], 60)}, which takes over: its form is filled from your words.  \n{form}"
        )
        st.markdown(
            f"**Answer** after {escaped(units.seconds(call['took_s']))}.  \n:small[{escaped(call['answer'], 200)}]"
        )
        st.markdown(
            f"**Learnt** for the next decision.  \n:small[success {success[0]} → {success[1]}, call time {escaped(call_s[0])} → "
            f"{escaped(call_s[1])}]"
        )
        st.markdown(
            f"**{saving['calls']} such calls** save {less} :gray-badge[projected]  \n:small[beside {escaped(known['winners'][0], 60)}]"
        )
