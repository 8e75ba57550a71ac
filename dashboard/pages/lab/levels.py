"""ETOM's measures of one router over the tasks that have a level, with the catalog's equal function sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.lab_runs import LabRun
from core.domain.tasks import Task
from core.lab.levels import LEVELS, LevelRun
from core.services.background_jobs import Job
from dashboard.pages.lab.job import begin, result, start_button
from dashboard.ui.choice_table import table_height

ETOM = "levels"
WORDS = {
    "L1": "the platform is named",
    "L2": "it is not; any equal tool is right",
    "L3": "a chain inside one server",
    "L4": "a chain across servers",
    "L5": "nothing can do it",
}


def levels(app: App, run: LabRun, tasks: Sequence[Task]) -> None:
    """The button and the table; nothing where no task has a level."""
    if not any(task.level in LEVELS for task in tasks):
        return
    about = (run.id, app.equal_sets.sets(run.catalog))
    found: tuple[LevelRun, ...] | None = result(ETOM, about)
    if found is None:
        start_button(
            st.container(), "ETOM's levels", partial(_start, app, run, tasks, about), key="lab:levels", icon=":material/stairs:",
            help="Each task is asked again as a person would, without a hint, and scored as its level asks.",
        )  # fmt: skip
        return
    frame = pd.DataFrame([_line(one) for one in found])
    st.dataframe(frame, hide_index=True, key="lab:levels-table", height=table_height(len(frame)), row_height=32)
    sets = len(app.equal_sets.sets(run.catalog))
    st.caption(
        f"ETOM's measures over the catalog as it is now: exact match, F1 of the needed tools for chains. What one of the catalog's {sets:,} "
        "equal function sets says is equal counts as right; Catalog, Equal, makes them."
    )


def _start(app: App, run: LabRun, tasks: Sequence[Task], about: object) -> None:
    def work(job: Job) -> tuple[LevelRun, ...]:
        parameters = app.routing.parameters(run.router, run.parameters)
        return app.lab.levels(tasks, catalog=run.catalog, router=run.router, parameters=parameters, progress=job.report)

    begin(ETOM, "Asking", sum(task.level in LEVELS for task in tasks), work, about)


def _line(one: LevelRun) -> dict[str, str]:
    return {
        "level": one.level,
        "what it asks": WORDS[one.level],
        "tasks": f"{one.n:,}",
        "exact match": f"{one.scores['em']:.3f}",
        "F1": f"{one.scores['f1']:.3f}" if "f1" in one.scores else "–",
        "median": f"{one.latency_ms_p50:.1f} ms",
    }
