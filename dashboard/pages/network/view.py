"""The Network page: a profile, its player, live runs and stored runs."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from core.domain.errors import WayfareError
from dashboard.pages.network.charts.latency import RunTimeline, latency_curves
from dashboard.pages.network.charts.runs import TOTALS, event_strip, server_history, totals_so_far
from dashboard.pages.network.choice import IGNORED, choose_run, follow, whole_number
from dashboard.pages.network.job import finished_timeline, forget, other_live_run
from dashboard.pages.network.runs import chosen_runs, earlier_runs
from dashboard.pages.network.tables import SIGNS, events_table, measures_table, step_cards
from dashboard.session import current_app
from dashboard.ui.chart import chart
from dashboard.ui.question import standing_question
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

STEP, SCALE, PLAYING = "network.step", "network.scale", "network.playing"
TICK_S, TICKS = 1.0, 60  # a run plays in about a minute
SCALES = ("log", "linear")


def steps_per_tick(steps: int) -> int:
    """Returns the number of steps in one tick of Play.

    >>> steps_per_tick(20), steps_per_tick(300), steps_per_tick(2000)
    (1, 5, 33)
    """
    return max(1, steps // TICKS)


def player(state: UrlState, timeline: RunTimeline, texts: Mapping[str, str], linked: Mapping[str, str]) -> None:
    """Draw the run at the linked step, else at its first event. While it plays, the step advances."""
    start = whole_number(linked.get("step", ""), timeline.first_step, 0, timeline.steps - 1)
    st.session_state.setdefault(STEP, start)
    st.session_state[STEP] = min(st.session_state[STEP], timeline.steps - 1)
    st.session_state.setdefault(SCALE, SCALES[1] if linked.get("scale") == SCALES[1] else SCALES[0])
    every = TICK_S if st.session_state.get(PLAYING, False) else None
    st.fragment(_at_step, run_every=every, key="network:step")(state, timeline, dict(texts))


def _at_step(state: UrlState, timeline: RunTimeline, texts: dict[str, str]) -> None:
    playing, last = st.session_state.get(PLAYING, False), timeline.steps - 1
    if playing:
        st.session_state[STEP] = min(st.session_state[STEP] + steps_per_tick(timeline.steps), last)
        if st.session_state[STEP] == last:
            st.session_state[PLAYING] = False
            st.rerun()
    at = _controls(timeline, playing)
    if not playing:  # each write adds a page to the browser's history
        state.end({**texts, "step": str(at), "scale": "" if st.session_state[SCALE] == SCALES[0] else SCALES[1]})
    _chart(latency_curves(timeline, at, logarithmic=st.session_state[SCALE] == SCALES[0]), "curves")
    st.caption(
        "Shows the most called servers and those that can do the queries. Shaded: a server is down "
        "(1,000 ms or more, dashed). Dotted: the chosen step. Rings: the servers that the routers call there."
    )
    step_cards(timeline, at)
    _server_histories(timeline, at)
    _totals(timeline, at)
    _chart(event_strip(timeline, at), "events")
    st.caption(
        f"Calls have the colours of the curves, grey for other servers. A cross: no success. A change: the same "
        f"sub-task goes to another server than before. Each of the {len(timeline.subtasks):,} sub-tasks is asked once before any "
        "is repeated. Faint: later steps."
    )
    events_table(timeline.events(), at)


def _controls(timeline: RunTimeline, playing: bool) -> int:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button(
            "Pause" if playing else "Play", key="network:play",
            icon=":material/pause:" if playing else ":material/play_arrow:", type="primary", on_click=_play_or_pause,
            args=(timeline.steps - 1,),
        )  # fmt: skip
        at = st.slider("Step", 0, timeline.steps - 1, key=STEP, width="stretch")
        st.segmented_control("Latency axis", SCALES, key=SCALE, required=True)
    return int(at)


def _play_or_pause(last: int) -> None:
    playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING] = playing
    if playing and st.session_state[STEP] >= last:
        st.session_state[STEP] = 0
    st.rerun()  # only a run of the whole page starts or stops the clock


def _server_histories(timeline: RunTimeline, at: int) -> None:
    """Draw each router's view of the servers, or a sentence for a router of texts alone."""
    for place, ranking in enumerate(timeline.rankings):
        if ranking.server_scores is not None:
            _chart(server_history(timeline, place, at), f"held:{place}")
        else:
            st.caption(
                f"{escaped(timeline.titles[place], 60)} compares only texts, so the network does not change its choice."
            )


def _totals(timeline: RunTimeline, at: int) -> None:
    names = "  ·  ".join(
        f"{sign} {escaped(title, 60)}{' (dashed)' if place else ''}"
        for place, (sign, title) in enumerate(zip(SIGNS, timeline.titles, strict=True))
    )
    st.markdown(f"**Up to this step**  {names}")
    grid = st.grid(len(TOTALS), min_column_width=225, gap="small")
    for name in TOTALS:
        with grid.cell():
            _chart(totals_so_far(timeline, name, at), name)
    measures_table(timeline)


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network:chart:{name}")


def page() -> None:
    app, state = current_app(), UrlState("network")
    linked = state.begin()
    follow(state, standing_question(app, "network", IGNORED))
    try:
        choice = choose_run(app, state, linked)
        texts = {**choice.texts(), "runs": chosen_runs(linked)}
        other_live_run(app, choice)
        timeline = finished_timeline(app, choice)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        st.button("Try again", key="network:retry", icon=":material/replay:", on_click=forget, args=(app,))
        return
    if timeline is None:
        state.end({**texts, "step": linked.get("step", "")})
    else:
        player(state, timeline, texts, linked)
    earlier_runs(app, "" if timeline is None else timeline.not_stored)
