"""Tasks that the Lab writes for a catalog by rules: the button, what it did, and the file."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.errors import WayfareError
from core.importers import tasks_text
from core.lab.lab_runs import STORED
from dashboard.page_host import DeltaGenerator
from dashboard.pages.lab.run import begin, start_button, taken
from dashboard.pages.lab.tasks import TaskSet
from dashboard.ui.text import escaped, file_name
from dashboard.ui.url_state import UrlState

WRITE, SAID = "write tasks", "lab:written"
LEVELS = "ETOM's five levels by rules, from what tools are asked and say: direct, in context, chains on one server and across, impossible."


def choose_written(state: UrlState, catalog: str) -> None:
    """Choose tasks that were just written, once."""
    written: tuple[str, str, list[str]] | None = taken(WRITE)
    if written is not None:
        st.session_state[SAID] = written
        if written[0] == catalog:
            st.session_state[state.key("tasks")] = written[1]


def write_tasks(app: App, where: DeltaGenerator, catalog: str, chosen: TaskSet | None) -> None:
    """Draw the button, and below it what is known of generated tasks."""
    with where.popover("Write tasks", icon=":material/edit_note:"):
        st.caption(LEVELS)
        count = int(st.number_input("Tasks of each level", 1, 1000, 20, key="lab:write-count"))
        seed = int(st.number_input("Seed", 0, 10_000, 0, key="lab:write-seed"))
        start = partial(_start, app, catalog, count, seed)
        start_button(st.container(), "Write tasks for this catalog", start, key="lab:write", type="primary")
    generated = () if chosen is None else tuple(task for task in chosen.tasks if task.provenance)
    if chosen is None or not generated:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    count_of = f"{len(generated):,} of {len(chosen.tasks):,} tasks"
    row.caption(f"Generated: {count_of}. Nobody has checked their labels.", width="content")
    _, option, said = st.session_state.get(SAID, ("", "", ()))
    if chosen.option == option:
        row.popover("How it went").markdown("\n".join(f"- {escaped(line, 300)}" for line in said))
    row.download_button(
        "Download", tasks_text(generated), file_name(f"{catalog}.tasks.jsonl", "tasks"), "text/plain", key="lab:write-save",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _start(app: App, catalog: str, count: int, seed: int) -> None:
    def work(job: Job) -> tuple[str, str, list[str]]:
        written = app.task_writing.write(catalog, count=count, seed=seed, progress=job.report)
        if not written.tasks:
            raise WayfareError(f"No task could be written. {' '.join(written.remarks)}")
        return catalog, f"{STORED}{app.task_writing.keep(catalog, written.tasks)}", written.summary()

    begin(WRITE, "Writing tasks", 1, work)
