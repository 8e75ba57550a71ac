"""Work in the background on a page: its progress with Stop, what ended it, and a button that starts it again."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from dashboard.session import current_app, here, known_job, start_job
from dashboard.ui.text import escaped, progress_words

POLL_S = 0.5
AT_ONCE = 5_000  # tools of a catalog: work that grows with them takes more than a moment beyond


def work_first(key: str, work: Callable[[Job], object], *, title: str) -> None:
    """Start the work if nothing is known of it, and draw how far it is, or a button that starts it again.

    A view calls it as long as the result is not there. `key` names the work and its input.
    """

    def start() -> None:
        start_job(key, work, title, title=title)

    def words(job: Job) -> str:
        # texts without a vector are embedded first, which may take much longer than the work
        step = current_app().startup.step
        before = f" {escaped(str(step))}" if step is not None and step.total else ""
        return f"{escaped(job.title, 80)}: {share_of(job):.0%}{units.time_left(job.left_s)}.{before} You can leave this page meanwhile."

    job = known_job(key)
    if job is None or job.result is not None:  # of an earlier state of the catalog
        start()
        job = known_job(key)
    if job is not None and job.under_way:
        job_progress(job, lambda job: (share_of(job), words(job)), stop=f"{key}.stop")
    elif job is not None:
        _ended(f"{escaped(title, 80)}: {progress_words(job)}.", key, start)


def by_words_first(app: App, catalog: str) -> None:
    """Begin to make the vectors of a catalog that has none, and draw how far they are while words alone decide. The page is drawn anew when
    they are there. Draws nothing for a catalog that is ready, or soon is."""
    place = st.container()  # drawn in every run: charts below an element that comes and goes would be made anew
    job = app.readiness.soon(catalog, link=here())
    if job is None:
        return

    def told(_: Job) -> tuple[float, str]:
        embedding, step = app.catalogs.embedding(catalog), app.startup.step
        # before the first text the encoder is made or opened
        before = f" {escaped(str(step))}" if step is not None and not embedding.of else ""
        return embedding.share, f"{embedding}{before}"

    with place:
        if job.under_way:
            job_progress(job, told, stop="by-words.stop")
        else:
            ended = (
                f"By words alone, because the vectors are not there. {escaped(job.title, 80)}: {progress_words(job)}."
            )
            _ended(ended, "by-words", lambda: app.background.forget(job))


def share_of(job: Job) -> float:
    """Returns the finished share of a job, in [0, 1]."""
    return min(job.done / job.of, 1.0) if job.of else 0.0


@st.fragment(run_every=POLL_S)
def job_progress(job: Job, told: Callable[[Job], tuple[float, str]], *, stop: str = "") -> None:
    """Draw the share and the words that a job is `told` by until it ends; then the page is drawn anew. `stop` is the key of a button that
    stops it, "" for none."""
    if not job.under_way:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(*told(job))
        if stop:
            st.button("Stop", key=stop, icon=":material/stop:", on_click=job.stop.set)


def _ended(words: str, key: str, again: Callable[[], None]) -> None:
    st.info(words, icon=":material/pending_actions:")
    st.button("Start again", key=f"{key}.again", icon=":material/refresh:", on_click=again)
