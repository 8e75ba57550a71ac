"""The run in the background: progress, a button that stops it, and its story kept for this visitor."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import streamlit as st

from core import units
from core.console import Console
from core.scenarios import Cancelled
from dashboard.charts.network_base import Story
from dashboard.charts.network_live import Made, calls_so_far
from dashboard.widgets.chart import chart
from dashboard.widgets.network_choice import Choice
from dashboard.widgets.network_mode import asked_for
from dashboard.widgets.network_story import tell
from dashboard.widgets.preparing import show_preparing
from dashboard.widgets.text import escaped

JOB = "network:job"
LOOK_S = 0.1
WORLD = "Laying out the network and reading the queries."


@dataclass(eq=False)
class Job:
    """A run under way or done; `done` is (steps, of steps), `made` the calls of a live one so far."""

    choice: Choice
    cancel: threading.Event = field(default_factory=threading.Event)
    done: tuple[int, int] = (0, 0)
    made: list[Made] = field(default_factory=list[Made])
    future: Future[Story] = field(default_factory=Future)

    def start(self, console: Console) -> None:
        """Begin."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-network")
        self.future = pool.submit(tell, console, self.choice, self._report, self.cancel, self.made.append)
        pool.shutdown(wait=False)

    def _report(self, done: int, of: int) -> None:
        self.done = (done, of)


def ready_story(console: Console, chosen: Choice) -> Story | None:
    """The story of a choice: at once where it was run last, else after its progress; None where it was stopped.

    Raises WayfareError as the catalog and the planner do.
    """
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.choice != chosen:
        if job is not None:
            job.cancel.set()  # nobody waits for it any more
        if chosen.live and not asked_for(chosen, chosen.steps * len(chosen.routers)):
            return None
        show_preparing(console, chosen.catalog)
        job = st.session_state[JOB] = Job(chosen)
        job.start(console)
    try:
        if not job.future.done():
            _wait(job)
        return job.future.result()
    except Cancelled:
        said = f" {len(job.made):,} calls were made; they are on the Activity page." if chosen.live else ""
        st.info(f"The {'run' if chosen.live else 'simulation'} was stopped.{said}", icon=":material/stop_circle:")
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
    calls = st.empty()
    shown = 0
    while not wait([job.future], LOOK_S).done:
        done, of = job.done
        bar.progress(done / max(1, of), _said(job) if of else WORLD)
        if len(job.made) > shown:
            shown = len(job.made)
            drawn = calls_so_far(job.made[:shown], job.choice.titles, job.choice.steps)
            with calls.container():  # a key is good for one element of a run
                chart(drawn, key=f"network:live:{shown}")
    calls.empty()
    place.empty()


def _said(job: Job) -> str:
    done, of = job.done
    if not job.choice.live:
        return f"Simulating: {done:,} of {of:,} decisions. It goes on when you leave this page."
    last = f" The last one: {escaped(_last(job.made[-1]), 120)}." if job.made else ""
    return f"Calling: {done:,} of {of:,} calls.{last} It goes on when you leave this page."


def _last(call: Made) -> str:
    return f"{call.server}, {units.seconds(call.network_s)} ({call.injected})"
