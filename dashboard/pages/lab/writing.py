"""Tasks that the Lab writes for a catalog by rules: the button, what it did, and the file."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.importers import tasks_text
from core.lab.lab_runs import STORED
from dashboard.page_host import DeltaGenerator
from dashboard.pages.lab.run import begin, result, start_button
from dashboard.pages.lab.tasks import TaskSet
from dashboard.ui.text import escaped, file_name
from dashboard.ui.url_state import UrlState

WRITE, SHOWN = "write tasks", "lab:written"


def choose_written(state: UrlState, catalog: str) -> None:
    """Choose tasks that were just written, once."""
    written = result(WRITE, catalog)
    if written is not None and st.session_state.get(SHOWN) != written:
        st.session_state[SHOWN], st.session_state[state.key("tasks")] = written, written[0]


def write_tasks(app: App, where: DeltaGenerator, catalog: str, chosen: TaskSet | None) -> None:
    """Draw the button, and below it what is known of generated tasks."""
    with where.popover(
        "Write tasks", icon=":material/edit_note:", help="Write labelled tasks for this catalog, by rules."
    ):
        st.caption(
            "ETOM's five levels from example requests and definitions: direct, in context, chains on one server and across, impossible."
        )
        count = int(st.number_input("Tasks of each level", 1, 1000, 20, key="lab:write-count"))
        seed = int(st.number_input("Seed", 0, 10_000, 0, key="lab:write-seed"))
        start_button(
            st.container(),
            "Write tasks for this catalog",
            partial(_start, app, catalog, count, seed),
            key="lab:write",
            type="primary",
        )
    generated = [] if chosen is None else [task for task in chosen.tasks if task.provenance]
    if not generated:
        return
    said = result(WRITE, catalog)
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(
        f"Generated: {len(generated):,} of {len(chosen.tasks if chosen else ()):,} tasks. Nobody has checked their labels.",
        width="content",
    )
    if said is not None and chosen is not None and chosen.option == said[0]:
        row.popover("How it went").markdown("\n".join(f"- {escaped(line, 300)}" for line in said[1]))
    row.download_button(
        "Download", tasks_text(generated), file_name(f"{catalog}.tasks.jsonl", "tasks"), "application/jsonl", key="lab:write-save",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _start(app: App, catalog: str, count: int, seed: int) -> None:
    def work(job: Job) -> tuple[str, tuple[str, ...]]:
        written = app.task_writing.write(catalog, count=count, seed=seed, progress=job.report)
        return f"{STORED}{app.task_writing.keep(catalog, written.tasks)}", tuple(written.summary())

    begin(WRITE, "Writing tasks", 1, work, catalog)
