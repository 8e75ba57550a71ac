"""Tasks one by one: a run against a baseline, and the tasks that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.app import App
from core.domain.lab_runs import LabRun
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.lab.benchmark import MEASURES
from core.lab.stored_runs import STAGES as GROUPS
from core.lab.stored_runs import TaskChange, Why, failures, stage, task_changes
from dashboard.pages.lab.run import (
    MEASURE_WORDS,
    STAGES,
    ShownRuns,
    changed,
    compare_link,
    measure_name,
    route_link,
)
from dashboard.ui.table import Column, frame_of, table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select

ALL, FAILED, EVERY_REASON = "all", "failed", "any reason"
ORDER = ("lost", "won", "same")
SIGNS = {"won": "▲ won", "lost": "▼ lost", "same": "= same"}
Results = Mapping[str, Mapping[str, Any]]


def task_by_task(shown: ShownRuns) -> dict[str, str]:
    if len(shown.runs) < 2:
        st.info("One run has no baseline. Measure another router or other knobs first.", icon=":material/science:")
        return {}
    ids = [run.id for run in shown.runs]
    start = shown.present or ids[1]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    base = select(
        row, shown.state, shown.linked, "base", "Baseline", ids, start=start, show=shown.names.__getitem__, width=235
    )
    other = select(
        row, shown.state, shown.linked, "against", "Run", ids, start=next(id_ for id_ in ids if id_ != start),
        show=shown.names.__getitem__, width=235,
    )  # fmt: skip
    measure = select(
        row, shown.state, shown.linked, "measure", "Measure", list(MEASURE_WORDS), show=measure_name, width=330,
        note="A task is won if this measure is higher. An impossible task is won if it is refused now.",
    )  # fmt: skip
    runs = {id_: next(run for run in shown.runs if run.id == id_) for id_ in dict.fromkeys((base, other))}
    results = {id_: run.result for id_, run in runs.items()}
    changes = task_changes(shown.tasks, results[base], results[other], MEASURES[measure])
    show, why, text = _filters(shown.state, shown.linked, changes, shown.tasks, results[other])
    _reasons(shown.tasks, [(shown.names[id_], results[id_]) for id_ in runs])
    rows = [case for case in changes if _admitted(case, results[other], show, why)]
    rows = [case for case in rows if text.lower() in f"{case.task.id} {case.task.subtask} {case.task.relevant}".lower()]
    _table(shown.app, sorted(rows, key=lambda row: ORDER.index(row.change)), (runs[base], runs[other]), results[other])
    return {"base": base, "against": other, "measure": measure, "show": "" if show == ALL else show}


def _filters(
    state: UrlState,
    linked: Mapping[str, str],
    changes: Sequence[TaskChange],
    tasks: Sequence[Task],
    result: Mapping[str, Any],
) -> tuple[str, str, str]:
    failed = failures(tasks, result)
    counts = {ALL: len(changes), FAILED: sum(map(len, failed.values()))}
    counts |= {change: sum(entry.change == change for entry in changes) for change in ("won", "lost", "same")}
    options = (ALL, "won", "lost", "same", FAILED)
    linked_show = linked.get("show", ALL)
    st.session_state.setdefault(state.key("show"), linked_show if linked_show in options else ALL)
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    show = row.segmented_control(
        "Tasks of the run", options, key=state.key("show"), required=True,
        format_func=lambda option: f"{option} {counts[option]:,}",
    )  # fmt: skip
    why = EVERY_REASON
    if show == FAILED:
        why = select(row, state, {}, "why", "Why", [EVERY_REASON, *map(str, failed)], width=280)
    text = row.text_input("Find", key=state.key("find"), placeholder="in sub-task, id or tool", width=220)
    return show or ALL, why, text


def _admitted(entry: TaskChange, result: Mapping[str, Any], show: str, why: str) -> bool:
    if show == FAILED:
        stage_id = stage(entry.task, result)
        return bool(stage_id) and why in (EVERY_REASON, GROUPS.get(stage_id))
    return show in (ALL, entry.change)


def _reasons(tasks: Sequence[Task], runs: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    failed = [failures(tasks, result) for _, result in runs]
    reasons = list(dict.fromkeys(why for groups in failed for why in groups))
    if not reasons:
        return
    lines = [
        f"**{escaped(name, 80)}**: "
        + (", ".join(f"{len(groups[why]):,} × {why}" for why in reasons if why in groups) or "none")
        for (name, _), groups in zip(runs, failed, strict=True)
    ]
    st.caption("Tasks without a right tool on top, by the fate of the most similar right tool  \n" + "  \n".join(lines))


def _table(app: App, rows: Sequence[TaskChange], runs: tuple[LabRun, LabRun], result: Mapping[str, Any]) -> None:
    if not rows:
        st.info("No task meets the filter. Choose another one.", icon=":material/filter_alt_off:")
        return
    values = {run: changed(app, run) for run in runs}
    base, run = runs
    columns = (
        Column("", cell=lambda entry: SIGNS[entry.change]),
        Column("sub-task", width=300, cell=lambda entry: one_line(entry.task.subtask, 200)),
        Column("baseline rank", cell=lambda entry: _rank(entry, entry.was, entry.before)),
        Column("run rank", cell=lambda entry: _rank(entry, entry.now, entry.after)),
        _link("base", "baseline", lambda entry: route_link(base, values[base], entry.task)),
        _link("run", "run", lambda entry: route_link(run, values[run], entry.task)),
        _link("both", "both", lambda entry: compare_link(values, entry.task)),
        Column("right", width=170, cell=lambda entry: _right(entry.task)),
        Column("baseline first", width=170, cell=lambda entry: _first(entry.before)),
        Column("run first", width=170, cell=lambda entry: _first(entry.after)),
        Column("why it failed", width=170, cell=lambda entry: STAGES.get(id_ := stage(entry.task, result), id_)),
    )
    table(frame_of(rows, columns), columns, key="lab:tasks")


def _link(name: str, title: str, cell: Callable[[Any], str]) -> Column:
    return Column(name, title, "small", "Makes the decision again in a new tab", link="open ↗", cell=cell)


def _right(task: Task) -> str:
    return one_line(", ".join(task.relevant) or "no tool can do it", 120)


def _first(candidates: Iterable[str]) -> str:
    return one_line(next(iter(candidates), "–"), 80)


def _rank(entry: TaskChange, rank: int | None, candidates: Sequence[str]) -> str:
    if not entry.possible:
        return "not refused" if candidates else "refused"
    return "–" if rank is None else str(rank)


WHY_WORDS = {
    Why.NOT_IN_INDEX: "no right tool is in the catalog, or among the tools that the router ranks",
    Why.WRONG_SERVER: "the right tool's server was not short-listed",
    Why.OUT_RANKED: "other tools were ranked before the right one",
    Why.PRICED_OUT: "the ask was above the posted price, the tool was too dear, or the call was not worth its price",
    Why.GATED: "the right tool did not pass the router's gate or threshold",
    Why.REFUSED_WRONGLY: "the router refused a task that a tool can do",
    Why.NOT_REFUSED: "the router proposed a tool for an impossible task",
    Why.UNKNOWN: "the run has no stored stage",
}


def failed_tasks(shown: ShownRuns) -> dict[str, str]:
    """Draw the failures of a run in groups, and the tasks of one group. Returns the texts for the URL."""
    st.markdown("**Why tasks failed**")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    ids = [run.id for run in shown.runs]
    id_ = select(row, shown.state, shown.linked, "failed", "Run", ids, show=shown.names.__getitem__, width=235)
    run = shown.runs[ids.index(id_)]
    groups = failures(shown.tasks, run.result)
    if not groups:
        st.success(f"None of its {len(shown.tasks):,} tasks failed.", icon=":material/check:")
        return {"failed": "" if id_ == ids[0] else id_}
    key, linked_group = shown.state.key("group"), shown.linked.get("group", "")
    if st.session_state.get(key) not in groups:
        st.session_state[key] = Why(linked_group) if linked_group in groups else next(iter(groups))
    chosen = row.segmented_control(
        f"{sum(map(len, groups.values())):,} of {len(shown.tasks):,} tasks have no right tool on top", list(groups), key=key,
        required=True, format_func=lambda reason: f"{reason} {len(groups[reason]):,}",
    )  # fmt: skip
    why = chosen or next(iter(groups))
    st.caption(f"{why}: {WHY_WORDS[why]}.")
    _failure_table(shown.app, run, groups[why])
    return {"failed": "" if id_ == ids[0] else id_, "group": "" if why is next(iter(groups)) else str(why)}


def _failure_table(app: App, run: LabRun, failed: Sequence[tuple[Task, str]]) -> None:
    values, entries = changed(app, run), run.result["tasks"]
    columns = (
        Column("sub-task", width=340, cell=lambda row: one_line(row[0].subtask, 200)),
        _link("decision", "decision", lambda row: route_link(run, values, row[0])),
        Column("right", width=230, cell=lambda row: _right(row[0])),
        Column("first", width=230, cell=lambda row: _first(entries[row[0].id]["candidates"])),
        Column(
            "stage", help="The stage of the router that dropped the most similar right tool",
            cell=lambda row: STAGES.get(row[1], row[1]),
        ),
    )  # fmt: skip
    table(frame_of(failed, columns), columns, key="lab:failed")
