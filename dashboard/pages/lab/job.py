"""The lab's background job, one at a time for an operator: progress, time left, the button that stops it, its result.

Owns the key `lab:job`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.services.background_jobs import Job, Stopped
from core.shared.errors import WayfareError
from dashboard.session import known_job, start_job
from dashboard.ui.text import escaped

JOB = "lab:job"
POLL_S = 0.3
RUN, SWEEP, CHANGE = "run", "sweep", "change"


def start_button(
    place: DeltaGenerator, label: str, start: Callable[[], None], *, disabled: bool = False, **looks: Any
) -> None:
    """A button that starts work with the present choices: a callback would use the choices of the last drawing. It is disabled while
    other work is under way, and says so."""
    if busy():
        looks["help"] = "Other work is under way: stop it, or wait for its end."
    if place.button(label, disabled=disabled or busy(), **looks):
        start()
        st.rerun()  # the progress stands above the button


def begin(kind: str, title: str, of: int, work: Callable[[Job], object], about: object = None) -> None:
    """Start work, unless other work is under way."""
    if not busy():
        start_job(JOB, work, (kind, about), title=title, of=max(1, of))


def busy() -> bool:
    """Whether work of this operator is under way."""
    job = known_job(JOB)
    return job is not None and job.under_way


def result(kind: str, about: object = None) -> Any:
    """The result of finished work of this kind and about this. Returns None without one."""
    job = known_job(JOB)
    return job.result if job is not None and job.about == (kind, about) else None


def taken(kind: str) -> Any:
    """The same, once: the page forgets the work."""
    found = result(kind)
    if found is not None:
        st.session_state.pop(JOB)
    return found


def job_panel() -> None:
    """The work under way, or the reason why it ended without a result."""
    job = known_job(JOB)
    if job is None:
        return
    if job.under_way:
        _progress(job)
    elif isinstance(job.error, Stopped):
        st.info(
            "Stopped. What was finished before is stored, and the same button goes on from there.",
            icon=":material/stop_circle:",
        )
    elif isinstance(job.error, WayfareError):
        st.error(escaped(str(job.error), 600), icon=":material/error:")
    elif job.error is not None:
        st.error(f"The work ended unexpectedly ({type(job.error).__name__}); start it again.", icon=":material/error:")


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    left = "" if job.left_s is None else f", about {job.left_s:,.0f} s left"
    text = f"{job.title}: {job.done:,} of {job.of:,}{left}. It goes on when you leave this page."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.done / job.of), text)
        st.button("Stop", key="lab:stop", icon=":material/stop:", on_click=job.stop.set)
