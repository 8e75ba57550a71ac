"""The value of the compared routers: labelled tasks are played, and success is drawn against money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.tasks import Task
from core.lab.execution import ROUNDS, ExecutionRun, Interval
from core.lab.sweep import unbeaten
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import frontier
from dashboard.ui.table import table
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.variants import Variant

PLAYED = "compare.played"
OWN_FILE, LABELS = "a file of mine", "the labels of this catalog"
SEEDS = 20
UPDATED_EVERY = 5  # tasks


@dataclass(frozen=True)
class Played:
    """The tasks that were played last, their catalog, and the results."""

    catalog: str
    tasks: str
    names: tuple[str, ...]
    runs: tuple[ExecutionRun, ...]


@st.fragment(key="compare:outcomes")
def outcomes(app: App, catalog: str, variants: Sequence[Variant]) -> None:
    """Draw the choice of tasks, the button, and the last results."""
    st.markdown("##### Value of each router")
    st.caption(
        f"Plays labelled tasks without a model. The router decides, and at most {ROUNDS} candidates are tried in order. A wrong tool "
        f"costs its time and price, a right one succeeds with its declared reliability. {SEEDS} seeds; nothing is called or recorded."
    )
    shipped = app.lab.task_sets(catalog)
    labels = len(app.feedback.queries(catalog))
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen: str = row.selectbox(
        "Tasks to play", [*shipped, *([LABELS] if labels else []), OWN_FILE], key="compare.tasks", width=320
    )
    file = st.file_uploader("Labelled tasks, JSON Lines", key="compare.file") if chosen == OWN_FILE else None
    ready = chosen != OWN_FILE or file is not None
    if row.button(
        "Play the tasks", key="compare:play", icon=":material/play_arrow:", disabled=not ready or not variants
    ):
        with errors_shown():
            if chosen == LABELS:
                tasks = app.lab.parse_tasks(app.feedback.export(catalog).encode(), source=LABELS)
            elif file is not None:
                tasks = app.lab.parse_tasks(file.getvalue(), source=file.name)
            else:
                tasks = app.lab.read_tasks(shipped[chosen])
            st.session_state[PLAYED] = _play(app, catalog, f"{chosen if file is None else file.name}", tasks, variants)
    played: Played | None = st.session_state.get(PLAYED)
    if played is not None:
        _show(played, current=(catalog, tuple(variant.name for variant in variants)))


def _play(app: App, catalog: str, source: str, tasks: Sequence[Task], variants: Sequence[Variant]) -> Played:
    """Play all variants in turn, with a bar. Raises WayfareError if no task has a right tool."""
    bar, runs = st.progress(0.0, "Playing"), list[ExecutionRun]()
    possible = sum(bool(task.relevant) for task in tasks)
    try:
        for variant in variants:

            def shown(done: int, variant: Variant = variant) -> None:
                if done % UPDATED_EVERY == 0:
                    share = (len(runs) + done / possible) / len(variants)
                    bar.progress(share, f"Playing: {escaped(variant.name, 60)}, {done:,} of {possible:,} tasks")

            runs.append(
                app.lab.execute(
                    tasks, catalog=catalog, router=variant.router, parameters=variant.parameters, seeds=SEEDS,
                    progress=shown,
                )
            )  # fmt: skip
    finally:
        bar.empty()
    return Played(catalog, source, tuple(variant.name for variant in variants), tuple(runs))


def _show(played: Played, *, current: tuple[str, tuple[str, ...]]) -> None:
    if current != (played.catalog, played.names):
        st.info(
            "These results are for another catalog or other routers. Play the tasks again.", icon=":material/history:"
        )
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
        "m$ each": _with_interval(run.usd_per_solved, 1e3, 2), "s each": _with_interval(run.s_per_solved, 1, 2),
        "tokens each": _with_interval(run.tokens_per_solved, 1, 0),
        "invalid route calls": f"{run.invalid_route_calls.mean:.2f}",
        "invalid tool calls": f"{run.invalid_tool_calls.mean:.2f}",
    }  # fmt: skip


def _with_interval(found: Interval, times: float, digits: int, unit: str = "") -> str:
    if found.mean != found.mean:
        return "–"
    return f"{times * found.mean:,.{digits}f}{unit} ± {times * (found.high - found.mean):,.{digits}f}"
