"""The run in the background: its progress, the button that stops it, and its result.

A simulation is its visitor's alone. The calls of a live run cost something, so the console has one at a time: every page shows it,
and it is found again after a reload.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.app import App
from core.services.background_jobs import Job, Stopped
from core.shared import units
from dashboard.pages.network.charts.live_calls import LiveCall, calls_so_far
from dashboard.pages.network.choice import Choice
from dashboard.pages.network.mode import calls_button, calls_wanted
from dashboard.pages.network.run_both import run_both
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.ui.chart import chart
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped

JOB, LIVE_RUN = "network:job", "live network run"
POLL_S, OTHER_S = 0.1, 2.0
STOPPING = "It is being stopped: what is under way ends first."
PREPARING = "Laying out the network and reading the queries."


def finished_timeline(app: App, choice: Choice) -> RunTimeline | None:
    """The result for a choice: at once where there is one, else after its progress; None where it was stopped, or where its calls
    are not wanted yet.

    Raises WayfareError as the catalog and the planner do.
    """
    offer = st.empty()  # there in every run: what was offered goes as soon as it was taken
    run = _begun(app, choice) if choice.live and calls_wanted(choice) else _found(app, choice)
    if run is None and choice.live:
        with offer.container():
            _offer_calls(app, choice)
        return None
    run = _begun(app, choice) if run is None else run
    st.session_state[JOB] = run
    try:
        if run.under_way:
            _show_progress(run)
        timeline: RunTimeline = run.future.result()
    except Stopped:
        with offer.container():
            _stopped(app, run)
        return None
    if choice.live:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(run.reported):,} calls were made.", width="content")
            _offer_calls(app, choice, again=True)
    return timeline


def forget(app: App) -> None:
    """Have what the page showed last run anew; for `on_click`."""
    run: Job | None = st.session_state.pop(JOB, None)
    if run is not None:
        app.background.forget(run)


def other_live_run(app: App, choice: Choice) -> None:
    """A line about a live run under way that is not the one of this page, with the way to it; nothing where there is none."""
    place = st.empty()  # there in every run: what is below it keeps its place when it comes or goes
    run = app.background.under_way(LIVE_RUN)
    if run is not None and run.about != choice:
        with place.container():
            _other(run)


@st.fragment(run_every=OTHER_S)
def _other(run: Job) -> None:
    if not run.under_way:
        st.rerun()  # its calls can be made now
    choice: Choice = run.about
    stopping = run.stop.is_set()
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.container(width="stretch").markdown(
            f":material/network_ping: **A live run is {'being stopped' if stopping else 'under way'}**: "
            f"{escaped(' and '.join(choice.titles), 80)} over {escaped(choice.catalog, 60)}. The next one can begin when it has ended."
        )
        if st.button("Show it", key="network:other", icon=":material/visibility:"):
            open_page("network", **{name: text for name, text in choice.texts().items() if text})
        st.button(
            "Stop it", key="network:other:stop", icon=":material/stop:", on_click=run.stop.set, disabled=stopping,
            help=STOPPING if stopping else None,
        )  # fmt: skip


def _found(app: App, choice: Choice) -> Job | None:
    """The run of this choice. A simulation of another one is stopped: its result is not wanted any more."""
    if choice.live:
        return app.background.of(LIVE_RUN, choice)
    run: Job | None = st.session_state.get(JOB)
    if run is None or run.about == choice:
        return run
    if not run.about.live:
        run.stop.set()
    return None


def _begun(app: App, choice: Choice) -> Job:
    show_preparing(app, choice.catalog, decides=True)
    work = partial(run_both, app, choice)
    if not choice.live:
        run = Job(choice)
        run.begin(work)
        return run
    run = app.background.start(LIVE_RUN, work, choice)
    if run.about != choice:
        st.rerun()  # somebody else's began meanwhile: the page says so
    return run


def _offer_calls(app: App, choice: Choice, *, again: bool = False) -> None:
    """The way to the calls, where none are being made."""
    if app.background.under_way(LIVE_RUN) is None:
        calls_button(choice, choice.calls, again=again)


def _stopped(app: App, run: Job) -> None:
    choice: Choice = run.about
    calls = f" {len(run.reported):,} calls were made; they are on the Activity page." if choice.live else ""
    st.info(f"The {'run' if choice.live else 'simulation'} was stopped.{calls}", icon=":material/stop_circle:")
    if choice.live:
        _offer_calls(app, choice)
    else:
        st.button("Run it again", key="network:again", icon=":material/replay:", on_click=forget, args=(app,))


def _show_progress(run: Job) -> None:
    """A bar, a button that stops it, and the calls of a live run as they are made; until the job is done."""
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, PREPARING)
        stopping = run.stop.is_set()
        st.button(
            "Stop", key="network:stop", icon=":material/stop:", on_click=run.stop.set, disabled=stopping,
            help=STOPPING if stopping else None,
        )  # fmt: skip
    calls = st.empty()
    drawn = 0
    while not run.wait(POLL_S):
        bar.progress(run.done / max(1, run.of), _progress_text(run) if run.of else PREPARING)
        if len(run.reported) > drawn:
            drawn = len(run.reported)
            figure = calls_so_far(run.reported[:drawn], run.about.titles, run.about.steps)
            with calls.container():  # a key is good for one element of a run
                chart(figure, key=f"network:live:{drawn}")
    calls.empty()
    place.empty()


def _progress_text(run: Job) -> str:
    if run.stop.is_set():
        return STOPPING
    if not run.about.live:
        return f"Simulating: {run.done:,} of {run.of:,} decisions. It goes on when you leave this page."
    last = f" The last one: {escaped(_call_text(run.reported[-1]), 120)}." if run.reported else ""
    return f"Calling: {run.done:,} of {run.of:,} calls.{last} It goes on when you leave this page."


def _call_text(call: LiveCall) -> str:
    return f"{call.server}, {units.seconds(call.network_s)} ({call.injected})"
