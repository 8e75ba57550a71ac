"""The chosen step of a story, and Play, which moves it on. A fragment: a move draws the charts, and simulates nothing.

Owns the keys `network.step`, `network.scale` and `network.playing`.
"""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from dashboard.charts.network_base import Story
from dashboard.charts.network_curves import latency_curves
from dashboard.charts.network_events import event_strip
from dashboard.charts.network_standing import held
from dashboard.charts.network_totals import TOTALS, accumulated
from dashboard.widgets.chart import chart
from dashboard.widgets.network_cards import SIGNS, cards
from dashboard.widgets.network_choice import whole_number
from dashboard.widgets.network_story import events
from dashboard.widgets.network_tables import events_table, measures_table
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState

STEP, SCALE, PLAYING = "network.step", "network.scale", "network.playing"
EVERY_S, TICKS = 1.0, 60  # a run plays in about a minute
SCALES = ("log", "linear")


def stride(steps: int) -> int:
    """How many steps a tick of Play goes on.

    >>> stride(20), stride(300), stride(2000)
    (1, 5, 33)
    """
    return max(1, steps // TICKS)


def told(state: UrlState, story: Story, texts: Mapping[str, str], kept: Mapping[str, str]) -> None:
    """Draw the story at its step, which is the kept one at first; every second another while it plays."""
    st.session_state.setdefault(STEP, whole_number(kept.get("step", ""), 0, 0, story.steps - 1))
    st.session_state[STEP] = min(st.session_state[STEP], story.steps - 1)
    st.session_state.setdefault(SCALE, SCALES[1] if kept.get("scale") == SCALES[1] else SCALES[0])
    every = EVERY_S if st.session_state.get(PLAYING, False) else None
    st.fragment(_moment, run_every=every, key="network:moment")(state, story, dict(texts))


def _moment(state: UrlState, story: Story, texts: dict[str, str]) -> None:
    playing, last = st.session_state.get(PLAYING, False), story.steps - 1
    if playing:
        st.session_state[STEP] = min(st.session_state[STEP] + stride(story.steps), last)
        if st.session_state[STEP] == last:
            st.session_state[PLAYING] = False
            st.rerun()
    at = _controls(story, playing)
    if not playing:  # each write is a page of the browser's Back
        state.end({**texts, "step": str(at), "scale": "" if st.session_state[SCALE] == SCALES[0] else SCALES[1]})
    _chart(latency_curves(story, at, logarithmic=st.session_state[SCALE] == SCALES[0]), "curves")
    st.caption(
        "Shown are the servers that were called most and those that can do what is asked. Shaded: a server is down, "
        "at 1,000 ms or more (dashed). Dotted: the chosen step; the rings are the servers that the routers call there."
    )
    cards(story, at)
    _held(story, at)
    _sums(story, at)
    _chart(event_strip(story, at), "events")
    st.caption(
        f"Calls have the colours of the curves, grey for other servers; a cross had no success. A change of mind: the same "
        f"sub-task goes to another server than the last time; each of the {len(story.subtasks):,} is asked once before any "
        "is asked again. Faint: still to come."
    )
    events_table(events(story), at)


def _controls(story: Story, playing: bool) -> int:
    """Play, the step, and the scale of the curves."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button(
            "Pause" if playing else "Play",
            key="network:play",
            icon=":material/pause:" if playing else ":material/play_arrow:",
            type="primary",
            on_click=_play_or_pause,
            args=(story.steps - 1,),
        )
        at = st.slider("Step", 0, story.steps - 1, key=STEP, width="stretch")
        st.segmented_control("Latency axis", SCALES, key=SCALE, required=True)
    return int(at)


def _play_or_pause(last: int) -> None:
    playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING] = playing
    if playing and st.session_state[STEP] >= last:
        st.session_state[STEP] = 0
    st.rerun()  # the whole page: only there a clock begins or ends


def _held(story: Story, at: int) -> None:
    """What moves each router's mind; a sentence for one that the network does not reach."""
    for place, standing in enumerate(story.standings):
        if standing.held is not None:
            _chart(held(story, place, at), f"held:{place}")
        else:
            st.caption(
                f"{escaped(story.titles[place], 60)} goes by words: nothing that happens in the network reaches it."
            )


def _sums(story: Story, at: int) -> None:
    names = "  ·  ".join(
        f"{sign} {escaped(title, 60)}{' (dashed)' if place else ''}"
        for place, (sign, title) in enumerate(zip(SIGNS, story.titles, strict=True))
    )
    st.markdown(f"**Up to this step**  {names}")
    grid = st.grid(len(TOTALS), min_column_width=225, gap="small")
    for name in TOTALS:
        with grid.cell():
            _chart(accumulated(story, name, at), name)
    measures_table(story)


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network:chart:{name}")
