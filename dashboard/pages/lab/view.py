"""The Lab page: the choice of catalog, tasks, router and view; tasks of every origin, judgments, and written tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line
from core.importers import tasks_text
from core.lab.judgments import Format
from core.lab.lab import RANKED
from core.lab.lab_runs import STORED
from core.lab.levels import LEVELS
from core.planning.base import Watch, watched
from dashboard.page_host import DeltaGenerator
from dashboard.pages.lab.leaderboard import EXAMPLE, example_runs, leaderboard
from dashboard.pages.lab.run import (
    RUN,
    Chosen,
    ShownRuns,
    TaskSet,
    begin,
    changed,
    example_button,
    job_panel,
    run_form,
    run_names,
    start_button,
    taken,
)
from dashboard.pages.lab.search import searches
from dashboard.pages.lab.snapshots import snapshots
from dashboard.pages.lab.sweep import sweeps
from dashboard.pages.lab.task_by_task import failed_tasks, task_by_task
from dashboard.session import only
from dashboard.ui.calling import set_and_judge
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.text import errors_shown, escaped, file_name
from dashboard.ui.url_state import UrlState, segments, select

RUNS, TASKS, SWEEPS, SEARCHES = "Runs", "Task by task", "Sweep", "Search"
JUDGMENTS, SNAPSHOTS = "Judgments", "Snapshots"  # these need no labelled tasks
VIEWS = (RUNS, TASKS, SWEEPS, SEARCHES, JUDGMENTS, SNAPSHOTS)
OF_VIEWS = ("also", "measure", "runs", "base", "against", "show", "axis1", "axis2", "by", "sweep", "cost", "per", "run", "over", "trials", "seed",
            "search", "objective", "failed", "group", "snapshot",
            "beside")  # fmt: skip

ASKS = Asks("lab", measures=True)


def page(question: Question) -> None:
    app, state, linked, row = question.app, question.state, question.linked, question.row
    catalog, router, n = question.form.catalog, question.form.router, question.parameters.values()["n"]
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
        others = [id_ for id_ in st.session_state.get(state.key("runs"), []) if id_ not in ids]
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
    setting = chosen.router, chosen.parameters.changed()
    present = next((run.id for run in runs if (run.router, changed(app, run)) == setting), "")
    names = run_names(app, runs)
    if present:
        names[present] += " (present knobs)"
    shown_runs = ShownRuns(app, state, linked, runs, names, chosen.tasks.tasks, present)
    if view == RUNS:
        texts |= leaderboard(shown_runs)
        texts |= failed_tasks(shown_runs)
    else:
        texts |= task_by_task(shown_runs)
    return texts


OWN_FILE, LABELS, JUDGED = "a file of mine", "the labels of this catalog", "judgments: "


def choose_tasks(
    app: App, where: DeltaGenerator, state: UrlState, linked: Mapping[str, str], catalog: str
) -> TaskSet | None:
    """Returns the chosen tasks, or None without a file. Raises WayfareError if they cannot be read."""
    shipped = app.lab.task_sets(catalog)
    stored = {f"{STORED}{id_}": source for id_, source in app.lab_runs.task_sets(catalog).items()}
    judged_sets = [f"{JUDGED}{name}" for name in app.judgments.sets(catalog)]
    labels = [LABELS] if app.feedback.queries(catalog) else []

    def shown(option: str) -> str:
        return f"{one_line(stored[option], 60)} (stored)" if option in stored else option

    name = f"tasks:{catalog}"  # another catalog has other tasks, and leaves the choice
    option = select(
        where, state, {name: linked.get("tasks", "")}, name, "Tasks", [*shipped, *judged_sets, *stored, *labels, OWN_FILE], show=shown, width=300,
        note="Labelled tasks are sub-tasks with the tools that can do them. Stored runs keep their tasks.",
    )  # fmt: skip
    if option in shipped:
        return TaskSet(option, option, app.lab.read_tasks(shipped[option]))
    if option in stored:
        tasks = app.lab_runs.stored_tasks(option.removeprefix(STORED), stored[option])
        return TaskSet(option, stored[option], tasks)
    if option in judged_sets:
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
    name = option.removeprefix(JUDGED)
    tasks, left_out = app.judgments.tasks(catalog, name)
    if left_out:
        st.caption(
            f"{left_out:,} judged sub-task{'s have' if left_out > 1 else ' has'} no tool above grade 0 and {'are' if left_out > 1 else 'is'} "
            "left out, because the other tools were not judged."
        )
    return TaskSet(option, app.judgments.source(name), tasks)


TAKEN = "lab:judgments-taken"
FORMATS: dict[Format, tuple[str, str]] = {
    "jsonl": ("JSON Lines: every judgment", "jsonl"),
    "csv": ("CSV: every judgment", "csv"),
    "tasks": ("labelled tasks to measure routers", "tasks.jsonl"),
}


def judgments_view(app: App, catalog: str) -> None:
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    set_name, judge = set_and_judge(row, app, catalog, "lab")
    st.caption(
        "*grade…* on Decision, Compare and Call grades a tool for the sub-task. A set measures routers: choose it as tasks. Of several "
        "judges the median counts. A sub-task without a tool above grade 0 is left out, because the other tools were not judged."
    )
    columns = st.grid(2, min_column_width=360, gap="medium")
    with columns.cell():
        _import(app, catalog, set_name, judge)
    with columns.cell():
        _export(app, catalog, set_name)


def _import(app: App, catalog: str, set_name: str, judge: str) -> None:
    file = st.file_uploader(
        "Judgments: JSON Lines or CSV", key="lab:judgments-file",
        help='JSON Lines: {"subtask": "read a file", "tool": "server::tool", "grade": 3, "judge": "ann"}. CSV: the same names in its '
        "first line.",
    )  # fmt: skip
    st.caption(
        f"The judgments go into “{escaped(set_name, 60)}”. Those without a judge count as those of {escaped(judge, 60)}."
    )
    st.button(
        "Import", key="lab:judgments-import", icon=":material/upload:", **only("tune", disabled=file is None, help="Choose a file first." if file is None else None), on_click=_taken,
                args=(app, catalog, set_name, judge, b"" if file is None else file.getvalue(), "" if file is None else file.name),
    )  # fmt: skip
    message: tuple[bool, str] | None = st.session_state.pop(TAKEN, None)
    if message is not None:
        (st.success if message[0] else st.error)(message[1])


def _taken(app: App, catalog: str, set_name: str, judge: str, data: bytes, name: str) -> None:
    try:
        report = app.judgments.import_(data, source=name, catalog=catalog, set_name=set_name, judge=judge)
    except WayfareError as error:
        st.session_state[TAKEN] = (False, f"Nothing was imported. {escaped(str(error), 400)}")
        return
    absent = f" {report.not_in_catalog:,} are for tools that are not in the catalog." if report.not_in_catalog else ""
    st.session_state[TAKEN] = (True, f"{report.added:,} judgments added, {report.known:,} known.{absent}")


def _export(app: App, catalog: str, set_name: str) -> None:
    if set_name not in app.judgments.sets(catalog):
        st.caption("There are no judgments in this set yet.")
        return
    form: Format = st.selectbox(
        "Export as", list(FORMATS), key="lab:judgments-format", format_func=lambda option: FORMATS[option][0]
    )
    st.download_button(
        "Download judgments", app.judgments.export(catalog, set_name, form), icon=":material/download:",
        file_name=file_name(f"{set_name}.{FORMATS[form][1]}", "judgments"), mime="text/plain", key="lab:judgments-save",
        on_click="ignore",
    )  # fmt: skip


WRITE, SAID = "write tasks", "lab:written"
ABOUT = "ETOM's five levels, from what tools are asked and say: direct, in context, chains on one server and across, impossible."


def choose_written(state: UrlState, catalog: str) -> None:
    result: tuple[str, str, list[str]] | None = taken(WRITE)
    if result is not None:
        st.session_state[SAID] = result
        if result[0] == catalog:
            st.session_state[state.key(f"tasks:{catalog}")] = result[1]


def write_tasks(app: App, where: DeltaGenerator, catalog: str, chosen: TaskSet | None) -> None:
    """Draw the button, and below it the notes on generated tasks."""
    with where.popover("Write tasks", icon=":material/edit_note:"):
        st.caption(ABOUT)
        count = int(st.number_input("Tasks of each level", 1, 1000, 20, key="lab:write-count"))
        seed = int(st.number_input("Seed", 0, 10_000, 0, key="lab:write-seed"))
        planners = app.routing.planners()
        planner = str(
            st.selectbox("Words of", list(planners), format_func=planners.__getitem__, key="lab:write-planner",
                         help="Rules, or the model of WAYFARE_LLM_MODEL: about an answer for each task, each checked as the rules' own.")
        )  # fmt: skip
        start = partial(_start, app, catalog, count, seed, planner)
        start_button(st.container(), "Write tasks for this catalog", start, key="lab:write", type="primary")
    generated = () if chosen is None else tuple(task for task in chosen.tasks if task.provenance)
    if chosen is None or not generated:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    count_of = f"{len(generated):,} of {len(chosen.tasks):,} tasks"
    row.caption(f"Generated: {count_of}. Nobody has checked their labels.", width="content")
    _, option, lines = st.session_state.get(SAID, ("", "", ()))
    if chosen.option == option:
        row.popover("How it went").markdown("\n".join(f"- {escaped(line, 300)}" for line in lines))
    row.download_button(
        "Download", tasks_text(generated), file_name(f"{catalog}.tasks.jsonl", "tasks"), "text/plain", key="lab:write-save",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _start(app: App, catalog: str, count: int, seed: int, planner: str) -> None:
    def work(job: Job) -> tuple[str, str, list[str]]:
        job.reported.append(watch := Watch(job.stop))
        with watched(watch):
            result = app.task_writing.write(catalog, count=count, seed=seed, planner=planner, progress=job.report)
        if not result.tasks:
            raise WayfareError(f"No task could be written. {' '.join(result.remarks)}")
        return catalog, f"{STORED}{app.task_writing.keep(catalog, result.tasks)}", result.summary()

    begin(WRITE, "Writing tasks", len(LEVELS) * count, work)
