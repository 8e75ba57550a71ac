"""The long runs of this console and of commands: what is under way, how far, what has ended, and where its result stands."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from dashboard.ui.text import escaped, progress_words, visitor_zone

POLL_S = 1.0
NOTHING = (
    "No long run yet. Runs, sweeps and searches of the Lab, tasks that Compare plays, runs of the Network page, embedding, maps, "
    "discovery, calibration and estimates appear here while they are under way, with Stop, and afterwards with their result; so do "
    "wayfare bench, sweep, scenario, replay, calibrate, findable and lint."
)
COMMANDS = (
    "Commands run in this console while it is up. One that began before it works in a process of its own, and is listed when it has "
    "ended. The last commands are kept in the store, the other runs until the console ends."
)


def runs_body(app: App) -> None:
    """Draw every run with its progress, the newest first. It is drawn again while one is under way."""
    jobs = app.background.listed()
    if not jobs:
        st.info(NOTHING, icon=":material/pending_actions:")
        return
    polls = any(job.under_way for job in jobs)
    st.fragment(_list, run_every=POLL_S if polls else None)(app, polls=polls)
    st.caption(COMMANDS)


def runs_title(app: App) -> str:
    """Returns the title of the view, with the number of runs under way."""
    count = app.background.listed_under_way
    return f"Runs ({count:,})" if count else "Runs"


def _list(app: App, *, polls: bool) -> None:
    jobs = app.background.listed()
    if polls and not any(job.under_way for job in jobs):
        st.rerun()  # the last one has ended: nothing moves any more
    for number, job in enumerate(jobs):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            with st.container(width="stretch", gap="xxsmall"):
                _progress(app, job)
            if job.link:
                words = "Show it" if job.under_way else "Show its result" if job.error is None else "Go there"
                st.link_button(words, job.link, icon=":material/open_in_new:")
            if job.under_way and job.of:  # what counts its steps ends at the next one
                st.button(
                    "Stop", key=f"activity.runs.stop.{number}", icon=":material/stop:", on_click=job.stop.set,
                    disabled=job.stop.is_set(), help="It stops after the current step.",
                )  # fmt: skip


def _progress(app: App, job: Job) -> None:
    name = escaped(job.title, 240)
    if job.under_way and job.of:
        st.progress(min(1.0, job.done / job.of), f"**{name}**: {progress_words(job)}")
    else:
        ended = app.settings.now() - timedelta(seconds=job.ended_ago_s)
        when = "" if job.under_way else f" · {ended.astimezone(ZoneInfo(visitor_zone())):%Y-%m-%d %H:%M}"
        st.markdown(f"**{name}**: {progress_words(job)}{when}")
