"""The simulation in the background: progress, a button that stops it, and its story kept for this visitor."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import streamlit as st

from core.console import Console
from core.scenarios import Cancelled
from dashboard.charts.network_base import Story
from dashboard.widgets.network_choice import Choice
from dashboard.widgets.network_story import tell
from dashboard.widgets.preparing import show_preparing

JOB = "network:job"
LOOK_S = 0.1
WORLD = "Laying out the network and reading the queries."


@dataclass(eq=False)
class Job:
    """A simulation under way or done; `done` is (steps, of steps)."""

    choice: Choice
    cancel: threading.Event = field(default_factory=threading.Event)
    done: tuple[int, int] = (0, 0)
    future: Future[Story] = field(default_factory=Future)

    def start(self, console: Console) -> None:
        """Begin."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-network")
        self.future = pool.submit(tell, console, self.choice, self._report, self.cancel)
        pool.shutdown(wait=False)

    def _report(self, done: int, of: int) -> None:
        self.done = (done, of)


def ready_story(console: Console, chosen: Choice) -> Story | None:
    """The story of a choice: at once where it was run last, else after its progress; None where it was stopped.

    Raises WayfareError as the catalog and the planner do.
    """
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.choice != chosen:
        show_preparing(console, chosen.catalog)
        if job is not None:
            job.cancel.set()  # nobody waits for it any more
        job = st.session_state[JOB] = Job(chosen)
        job.start(console)
    try:
        if not job.future.done():
            _wait(job)
        return job.future.result()
    except Cancelled:
        st.info("The simulation was stopped.", icon=":material/stop_circle:")
        st.button("Run it again", key="network:again", icon=":material/replay:", on_click=forget)
        return None


def forget() -> None:
    """Have the simulation run anew."""
    st.session_state.pop(JOB, None)


def _wait(job: Job) -> None:
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, WORLD)
        st.button("Stop", key="network:stop", icon=":material/stop:", on_click=job.cancel.set)
    while not wait([job.future], LOOK_S).done:
        done, of = job.done
        said = f"Simulating: {done:,} of {of:,} decisions. It goes on when you leave this page." if of else WORLD
        bar.progress(done / max(1, of), said)
    place.empty()
