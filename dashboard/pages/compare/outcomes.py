"""The value of the compared routers: labelled tasks are played, and success is drawn against money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.errors import WayfareError
from core.domain.tasks import Task
from core.lab.execution import ROUNDS, ExecutionRun, Interval, Playing
from core.lab.sweep import unbeaten
from dashboard.session import job_about, known_job, start_job
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import frontier
from dashboard.ui.table import table
from dashboard.ui.text import errors_shown, escaped, progress_words
from dashboard.ui.variants import Variant

JOB, POLL_S = "compare:job", 0.5
OWN_FILE, LABELS = "a file of mine", "the labels of this catalog"
SEEDS = 20


@dataclass(frozen=True)
class Played:
    """The tasks that were played, their catalog, and the results."""

    catalog: str
    tasks: str
    names: tuple[str, ...]
    runs: tuple[ExecutionRun, ...]


def outcomes(app: App, catalog: str, variants: Sequence[Variant]) -> None:
    """Draw the choice of tasks, the button, and the last results of these routers."""
    st.markdown("##### Value of each router")
    st.caption(
        f"Plays labelled tasks without a model. A task of several steps is split into sub-tasks, and solved if all steps are. The router "
        f"decides for each, and at most {ROUNDS} candidates are tried in order. A wrong tool costs its time and price, a right one succeeds with its declared reliability. {SEEDS} seeds; nothing is called or recorded."
    )
    shipped = app.lab.task_sets(catalog)
    labels = len(app.feedback.queries(catalog))
    about = (catalog, tuple(variant.text for variant in variants))
    job = known_job(JOB)
    going = job is not None and job.under_way
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen: str = row.selectbox(
        "Tasks to play", [*shipped, *([LABELS] if labels else []), OWN_FILE], key="compare.tasks", width=320
    )
    file = st.file_uploader("Labelled tasks, JSON Lines", key="compare.file") if chosen == OWN_FILE else None
    ready = (chosen != OWN_FILE or file is not None) and bool(variants) and not going
    if row.button(
        "Play the tasks", key="compare:play", icon=":material/play_arrow:", disabled=not ready,
        help="Tasks are being played. Stop it, or wait for its end." if going else None,
    ):  # fmt: skip
        with errors_shown():
            if chosen == LABELS:
                tasks = app.lab.parse_tasks(app.feedback.export(catalog).encode(), source=LABELS)
            elif file is not None:
                tasks = app.lab.parse_tasks(file.getvalue(), source=file.name)
            else:
                tasks = app.lab.read_tasks(shipped[chosen])
            source = chosen if file is None else file.name
            start_job(
                JOB, partial(_play, app, catalog, source, tasks, tuple(variants)), about, title=f"Playing {source}",
                of=len(variants) * max(1, len(Playing(0).routed([task for task in tasks if task.relevant]))),
            )  # fmt: skip
            st.rerun()
    if job is not None and going:
        _progress(job)
    elif (job := job_about(JOB, about)) is not None:
        _ended(job)


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"{escaped(job.title, 80)}: {progress_words(job)}. You can leave this page meanwhile."
        st.progress(min(1.0, job.done / job.of), text)
        st.button("Stop", key="compare:stop", icon=":material/stop:", on_click=job.stop.set)


def _ended(job: Job) -> None:
    if job.result is not None:
        _show(job.result)
    elif isinstance(job.error, WayfareError):
        st.error(escaped(str(job.error), 600), icon=":material/error:")
    else:
        st.info(f"{escaped(job.title, 80)}: {progress_words(job)}.", icon=":material/stop_circle:")


def _play(app: App, catalog: str, source: str, tasks: Sequence[Task], variants: Sequence[Variant], job: Job) -> Played:
    """Play the tasks with one router after the other. Raises WayfareError if no task has a right tool."""
    each, runs = job.of // len(variants), list[ExecutionRun]()
    for number, variant in enumerate(variants):

        def routed(done: int, before: int = number * each) -> None:
            job.report(before + done)

        runs.append(
            app.lab.execute(
                tasks, catalog=catalog, router=variant.router, parameters=variant.parameters, seeds=SEEDS,
                progress=routed,
            )
        )  # fmt: skip
    return Played(catalog, source, tuple(variant.name for variant in variants), tuple(runs))


def _show(played: Played) -> None:
    success, money = [run.success_rate for run in played.runs], [run.usd_per_solved for run in played.runs]
    chart(frontier(played.names, success, money), key="compare:frontier")
    st.caption(
        f":gray-badge[simulated] {escaped(played.tasks, 60)} of {escaped(played.catalog, 60)}, {played.runs[0].n:,} answerable tasks. "
        "Outcomes are drawn from declared statistics. ◆: no other router solves as much for less money. Bars are 95 % intervals over seeds, "
        "not over tasks."
    )
    best = unbeaten([(run.success_rate.mean, run.usd_per_solved.mean) for run in played.runs])
    table([_line(*entry) for entry in zip(played.names, played.runs, best, strict=True)], key="compare:outcome-table")


def _line(name: str, run: ExecutionRun, best: bool) -> dict[str, str]:
    return {
        "router": name, "front": "◆" if best else "", "solved": _with_interval(run.success_rate, 100, 1, " %"),
        "steps": _with_interval(run.step_success_rate, 100, 1, " %"),
        "m$ each": _with_interval(run.usd_per_solved, 1e3, 2), "s each": _with_interval(run.s_per_solved, 1, 2),
        "tokens each": _with_interval(run.tokens_per_solved, 1, 0),
        "invalid route calls": f"{run.invalid_route_calls.mean:.2f}",
        "invalid tool calls": f"{run.invalid_tool_calls.mean:.2f}",
    }  # fmt: skip


def _with_interval(found: Interval, times: float, digits: int, unit: str = "") -> str:
    if found.mean != found.mean:
        return "–"
    return f"{times * found.mean:,.{digits}f}{unit} ± {times * (found.high - found.mean):,.{digits}f}"
