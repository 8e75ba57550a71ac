"""The lab's work in the background, one at a time for a visitor: progress, time left, a button that stops it, its result.

Owns the key `lab:job`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.shared.errors import WayfareError
from dashboard.ui.text import escaped

JOB = "lab:job"
POLL_S = 0.3
RUN, SWEEP, CHANGE = "run", "sweep", "change"


class Stopped(Exception):
    """The visitor stopped the work."""


@dataclass(eq=False)
class Job:
    """Work under way or done: `of` steps of which `done` are; `about` is what its result is for."""

    kind: str
    title: str
    of: int
    about: object
    started_s: float = field(default_factory=time.monotonic)
    done: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)
    future: Future[Any] = field(default_factory=Future[Any], repr=False)

    def report(self, done: int) -> None:
        """Take over how far it is. Raises Stopped where the visitor has stopped it."""
        if self.cancel.is_set():
            raise Stopped
        self.done = done

    @property
    def text(self) -> str:
        """How far it is, and about how long it still takes."""
        elapsed_s = time.monotonic() - self.started_s
        left = f", about {elapsed_s * (self.of - self.done) / self.done:,.0f} s left" if self.done else ""
        return f"{self.title}: {self.done:,} of {self.of:,}{left}. It goes on when you leave this page."


def start_button(
    place: DeltaGenerator, label: str, start: Callable[[], None], *, disabled: bool = False, **looks: Any
) -> None:
    """A button that starts work with what is chosen now. A callback would start it with what was chosen when the button was drawn
    last: something else, where a choice and the press come close together. Disabled while other work is under way, which it says."""
    if busy():
        looks["help"] = "Other work is under way: stop it, or wait for its end."
    if place.button(label, disabled=disabled or busy(), **looks):
        start()
        st.rerun()  # what stands above the button shows the progress


def begin(kind: str, title: str, of: int, work: Callable[[Job], object], about: object = None) -> None:
    """Start work in a thread of its own. Nothing where other work is under way."""
    if busy():
        return
    job = st.session_state[JOB] = Job(kind, title, max(1, of), about)
    pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-lab")
    job.future = pool.submit(work, job)
    pool.shutdown(wait=False)


def busy() -> bool:
    """Whether work of this visitor is under way."""
    job: Job | None = st.session_state.get(JOB)
    return job is not None and not job.future.done()


def result(kind: str, about: object = None) -> Any:
    """What finished work of this kind and about this gave; None where there is none."""
    job: Job | None = st.session_state.get(JOB)
    if job is None or (job.kind, job.about) != (kind, about) or not job.future.done() or job.future.exception():
        return None
    return job.future.result()


def taken(kind: str) -> Any:
    """The same, once: the work is forgotten."""
    found = result(kind)
    if found is not None:
        st.session_state.pop(JOB)
    return found


def job_panel() -> None:
    """The work under way, or how it ended where it gave nothing."""
    job: Job | None = st.session_state.get(JOB)
    if job is None:
        return
    if not job.future.done():
        _progress(job)
        return
    error = job.future.exception()
    if isinstance(error, Stopped):
        st.info(
            "Stopped. What was finished before is stored, and the same button goes on from there.",
            icon=":material/stop_circle:",
        )
    elif isinstance(error, WayfareError):
        st.error(escaped(str(error), 600), icon=":material/error:")
    elif error is not None:
        st.error(f"The work ended unexpectedly ({type(error).__name__}); start it again.", icon=":material/error:")


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if job.future.done():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.done / job.of), job.text)
        st.button("Stop", key="lab:stop", icon=":material/stop:", on_click=job.cancel.set)
