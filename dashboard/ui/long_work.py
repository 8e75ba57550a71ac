"""Work that a view needs first, done in the background where it is long: its progress with Stop, or why it ended."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.services.background_jobs import Job
from dashboard.session import known_job, start_job
from dashboard.ui.text import escaped, progress_words

POLL_S = 0.5
AT_ONCE = 5_000  # tools of a catalog: work that grows with them takes more than a moment beyond


def work_first(key: str, work: Callable[[Job], object], *, title: str) -> None:
    """Start the work if nothing is known of it, and draw how far it is, or a button that starts it again.

    A view calls it as long as the result is not there. `key` names the work and its input.
    """

    def start() -> None:
        start_job(key, work, title, title=title)

    job = known_job(key)
    if job is None or job.result is not None:  # of an earlier state of the catalog
        start()
        job = known_job(key)
    if job is not None and job.under_way:
        _progress(key, job)
    elif job is not None:
        st.info(f"{escaped(title, 80)}: {progress_words(job)}.", icon=":material/pending_actions:")
        st.button("Start again", key=f"{key}.again", icon=":material/refresh:", on_click=start)


@st.fragment(run_every=POLL_S)
def _progress(key: str, job: Job) -> None:
    if not job.under_way:
        st.rerun()
    share = job.done / job.of if job.of else 0.0
    left = f", about {job.left_s:.0f} s left" if job.left_s is not None else ""
    st.progress(share, f"{escaped(job.title, 80)}: {share:.0%}{left}. You can leave this page meanwhile.")
    st.button("Stop", key=f"{key}.stop", icon=":material/stop:", on_click=job.stop.set)
