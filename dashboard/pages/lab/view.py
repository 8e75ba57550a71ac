"""The Lab page: the choice of catalog, tasks, router and view."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.app import App
from core.lab.lab import RANKED
from dashboard.pages.lab.leaderboard import EXAMPLE, example_runs, leaderboard
from dashboard.pages.lab.run import (
    RUN,
    Chosen,
    ShownRuns,
    changed,
    example_button,
    job_panel,
    run_form,
    run_names,
    taken,
)
from dashboard.pages.lab.search import searches
from dashboard.pages.lab.snapshots import snapshots
from dashboard.pages.lab.sweep import sweeps
from dashboard.pages.lab.task_by_task import failed_tasks, task_by_task
from dashboard.pages.lab.tasks import choose_tasks, choose_written, judgments_view, write_tasks
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.text import errors_shown
from dashboard.ui.url_state import UrlState, segments

RUNS, TASKS, SWEEPS, SEARCHES = "Runs", "Task by task", "Sweep", "Search"
JUDGMENTS, SNAPSHOTS = "Judgments", "Snapshots"  # these need no labelled tasks
VIEWS = (RUNS, TASKS, SWEEPS, SEARCHES, JUDGMENTS, SNAPSHOTS)
OF_VIEWS = ("also", "measure", "runs", "base", "against", "show", "axis1", "axis2", "by", "sweep", "cost", "per", "run", "over", "trials", "seed",
            "search", "objective", "failed", "group", "snapshot",
            "beside")  # fmt: skip

ASKS = Asks("lab", measures=True)


def page(question: Question) -> None:
    app, state, linked, row = question.app, question.state, question.linked, question.row
    catalog, router, n = question.query.catalog, question.query.router, question.parameters.values()["n"]
    parameters = question.parameters.replaced({"n": max(int(RANKED), int(n or 0))})  # the depth of the measures
    texts = question.texts | {name: linked.get(name, "") for name in (*OF_VIEWS, "tasks")}
    with errors_shown():
        without = st.session_state.get(state.key("view"), linked.get("view")) in (JUDGMENTS, SNAPSHOTS)
        choose_written(state, catalog)
        tasks = None if without else choose_tasks(app, row, state, linked, catalog)
        if not without:
            write_tasks(app, row, catalog, tasks)
        view = segments(state, linked, "view", "View", VIEWS)
        texts |= {"view": "" if view == RUNS else view}
        if without:
            with st.container():
                job_panel()
            if view == JUDGMENTS:
                judgments_view(app, catalog)
            else:
                texts |= snapshots(app, state, linked, catalog)
        elif tasks is None:
            st.info("Upload a file of labelled tasks to measure routers.", icon=":material/upload_file:")
        else:
            show_preparing(app, catalog, decides=True)
            with st.container():  # always drawn, so that the parts below keep their place
                job_panel()
            chosen = Chosen(catalog, tasks, router, parameters)
            texts |= {"tasks": tasks.option, **_body(app, state, linked, view, chosen)}
    state.end(texts, question=question.texts)


def _body(app: App, state: UrlState, linked: Mapping[str, str], view: str, chosen: Chosen) -> dict[str, str]:
    if view == SWEEPS:
        return sweeps(app, state, linked, chosen)
    if view == SEARCHES:
        return searches(app, state, linked, chosen)
    texts: dict[str, str] = {}
    if view == RUNS:
        texts |= run_form(app, state, linked, chosen)
    if ids := taken(RUN):
        st.success(f"Stored as {', '.join(id_[:8] for id_ in ids)}.", icon=":material/check:")
        others = [one for one in st.session_state.get(state.key("runs"), []) if one not in ids]
        st.session_state[state.key("runs")] = [*ids, *others]
    runs = app.lab_runs.over(chosen.catalog, chosen.tasks.tasks)
    if not runs:
        st.info(
            "No run over these tasks is stored yet. Choose routers and press Run, or use wayfare bench.",
            icon=":material/science:",
        )
        example_button(app, chosen, [router for router, *_ in EXAMPLE])
        example_runs({router.id: router.title for router in app.routing.routers()})
        return texts
    mine = chosen.router, chosen.parameters.changed()
    present = next((run.id for run in runs if (run.router, changed(app, run)) == mine), "")
    names = run_names(app, runs)
    if present:
        names[present] += " (present knobs)"
    shown = ShownRuns(app, state, linked, runs, names, chosen.tasks.tasks, present)
    if view == RUNS:
        texts |= leaderboard(shown)
        texts |= failed_tasks(shown)
    else:
        texts |= task_by_task(shown)
    return texts
