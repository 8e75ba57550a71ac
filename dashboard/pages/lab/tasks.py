"""The tasks of the Lab: those of a catalog, of its labels, of a judgment set, of a stored run, or of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.lab.lab_runs import STORED
from dashboard.page_host import DeltaGenerator
from dashboard.ui.url_state import UrlState, select

OWN_FILE, LABELS, JUDGED = "a file of mine", "the labels of this catalog", "judgments: "


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Labelled tasks with their name in the URL and their source."""

    option: str
    source: str
    tasks: tuple[Task, ...]


def choose_tasks(
    app: App, where: DeltaGenerator, state: UrlState, linked: Mapping[str, str], catalog: str
) -> TaskSet | None:
    """Returns the chosen tasks, or None without a file. Raises WayfareError if they cannot be read."""
    shipped = app.lab.task_sets(catalog)
    stored = {f"{STORED}{one}": source for one, source in app.lab_runs.task_sets(catalog).items()}
    judged = [f"{JUDGED}{name}" for name in app.judgments.sets(catalog)]
    labels = [LABELS] if app.feedback.queries(catalog) else []

    def shown(option: str) -> str:
        return f"{one_line(stored[option], 60)} (stored)" if option in stored else option

    option = select(
        where, state, linked, "tasks", "Tasks", [*shipped, *judged, *stored, *labels, OWN_FILE], show=shown, width=300,
        note="Labelled tasks are sub-tasks with the tools that can do them. Stored runs keep their tasks.",
    )  # fmt: skip
    if option in shipped:
        return TaskSet(option, option, app.lab.read_tasks(shipped[option]))
    if option in stored:
        tasks = app.lab_runs.stored_tasks(option.removeprefix(STORED), stored[option])
        return TaskSet(option, stored[option], tasks)
    if option in judged:
        return _judged(app, catalog, option)
    if option == LABELS:
        return TaskSet(option, LABELS, app.lab.parse_tasks(app.feedback.export(catalog).encode(), source=LABELS))
    file = st.file_uploader(
        'Labelled tasks, JSON Lines: {"id": "miles", "subtask": "convert 300 miles", "relevant": ["server::tool"]}',
        key="lab:file",
    )
    if file is None:
        return None
    return TaskSet(option, file.name, app.lab.parse_tasks(file.getvalue(), source=file.name))


def _judged(app: App, catalog: str, option: str) -> TaskSet:
    """Returns the tasks of a judgment set."""
    name = option.removeprefix(JUDGED)
    tasks, left_out = app.judgments.tasks(catalog, name)
    if left_out:
        st.caption(
            f"{left_out:,} judged sub-task{'s have' if left_out > 1 else ' has'} no tool above grade 0 and {'are' if left_out > 1 else 'is'} "
            "left out, because the other tools were not judged."
        )
    return TaskSet(option, app.judgments.source(name), tasks)
