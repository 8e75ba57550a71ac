"""The run in the background: its progress, the button that stops it, and its result, stored for this visitor."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import streamlit as st

from core.app import App
from core.services.lab.scenarios import Cancelled
from core.shared import units
from dashboard.pages.network.charts.live_calls import LiveCall, calls_so_far
from dashboard.pages.network.choice import Choice
from dashboard.pages.network.mode import live_confirmed
from dashboard.pages.network.run_both import run_both
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.ui.chart import chart
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.text import escaped

JOB = "network:job"
POLL_S = 0.1
PREPARING = "Laying out the network and reading the queries."


@dataclass(eq=False)
class Job:
    """A run under way or done; `done` is (steps, of steps), `calls` those of a live run so far."""

    choice: Choice
    cancel: threading.Event = field(default_factory=threading.Event)
    done: tuple[int, int] = (0, 0)
    calls: list[LiveCall] = field(default_factory=list[LiveCall])
    future: Future[RunTimeline] = field(default_factory=Future)

    def start(self, app: App) -> None:
        """Begin, in a thread of its own."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-network")
        self.future = pool.submit(run_both, app, self.choice, self._report, self.cancel, self.calls.append)
        pool.shutdown(wait=False)

    def _report(self, done: int, of: int) -> None:
        self.done = (done, of)


def finished_timeline(app: App, choice: Choice) -> RunTimeline | None:
    """The result for a choice: at once where it was run last, else after its progress; None where it was stopped.

    Raises WayfareError as the catalog and the planner do.
    """
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.choice != choice:
        if job is not None:
            job.cancel.set()  # its result is not wanted any more
        if choice.live and not live_confirmed(choice, choice.steps * len(choice.routers)):
            return None
        show_preparing(app, choice.catalog, decides=True)
        job = st.session_state[JOB] = Job(choice)
        job.start(app)
    try:
        if not job.future.done():
            _show_progress(job)
        return job.future.result()
    except Cancelled:
        calls = f" {len(job.calls):,} calls were made; they are on the Activity page." if choice.live else ""
        st.info(f"The {'run' if choice.live else 'simulation'} was stopped.{calls}", icon=":material/stop_circle:")
        st.button("Run it again", key="network:again", icon=":material/replay:", on_click=forget)
        return None


def forget() -> None:
    """Have the simulation run anew."""
    st.session_state.pop(JOB, None)


def _show_progress(job: Job) -> None:
    """A bar, a button that stops it, and the calls of a live run as they are made; until the job is done."""
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, PREPARING)
        st.button("Stop", key="network:stop", icon=":material/stop:", on_click=job.cancel.set)
    calls = st.empty()
    drawn = 0
    while not wait([job.future], POLL_S).done:
        done, of = job.done
        bar.progress(done / max(1, of), _progress_text(job) if of else PREPARING)
        if len(job.calls) > drawn:
            drawn = len(job.calls)
            figure = calls_so_far(job.calls[:drawn], job.choice.titles, job.choice.steps)
            with calls.container():  # a key is good for one element of a run
                chart(figure, key=f"network:live:{drawn}")
    calls.empty()
    place.empty()


def _progress_text(job: Job) -> str:
    done, of = job.done
    if not job.choice.live:
        return f"Simulating: {done:,} of {of:,} decisions. It goes on when you leave this page."
    last = f" The last one: {escaped(_call_text(job.calls[-1]), 120)}." if job.calls else ""
    return f"Calling: {done:,} of {of:,} calls.{last} It goes on when you leave this page."


def _call_text(call: LiveCall) -> str:
    return f"{call.server}, {units.seconds(call.network_s)} ({call.injected})"
