"""One stored run: its settings, its levels, and its repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.lab_runs import LabRun
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.lab.execution import Playing
from core.lab.levels import LEVELS, LevelRun
from core.lab.measuring import Repeated, decisions
from dashboard.pages.lab.run import begin, result, start_button
from dashboard.pages.lab.words import ShownRuns
from dashboard.ui.table import table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import select

ETOM = "levels"
LEVEL_WORDS = {
    "L1": "the platform is named", "L2": "no platform is named; any equal tool is right",
    "L3": "a chain inside one server", "L4": "a chain across servers", "L5": "no tool can do it",
}  # fmt: skip


def levels(app: App, run: LabRun, tasks: Sequence[Task]) -> None:
    """Draw the button and the table. Draws nothing if no task has a level."""
    if not any(task.level in LEVELS for task in tasks):
        return
    about = (run.id, app.equal_sets.sets(run.catalog))
    found: tuple[LevelRun, ...] | None = result(ETOM, about)
    if found is None:
        start_button(
            st.container(), "ETOM's levels", partial(_start_levels, app, run, tasks, about), key="lab:levels", icon=":material/stairs:",
            help="Each task is routed again without a hint, and scored by the rule of its level.",
        )  # fmt: skip
        return
    frame = pd.DataFrame([_line(one) for one in found])
    table(frame, key="lab:levels-table")
    sets = len(app.equal_sets.sets(run.catalog))
    st.caption(
        f"ETOM's measures over the current catalog: exact match, and F1 of the needed tools for chains. Tools of one of the catalog's {sets:,} "
        "equal function sets count as equal. The Equal view of the Catalog page makes the sets."
    )


def _start_levels(app: App, run: LabRun, tasks: Sequence[Task], about: object) -> None:
    def work(job: Job) -> tuple[LevelRun, ...]:
        parameters = app.routing.parameters(run.router, run.parameters)
        return app.lab.levels(tasks, catalog=run.catalog, router=run.router, parameters=parameters, progress=job.report)

    begin(ETOM, "Asking", sum(task.level in LEVELS for task in tasks), work, about)


def _line(one: LevelRun) -> dict[str, str]:
    return {
        "level": one.level, "request": LEVEL_WORDS[one.level], "tasks": f"{one.n:,}",
        "exact match": f"{one.scores['em']:.3f}", "F1": f"{one.scores['f1']:.3f}" if "f1" in one.scores else "–",
        "median": f"{one.latency_ms_p50:.1f} ms",
    }  # fmt: skip


REPEAT = "repeat"
LISTED = 12
WORDS = {
    "catalog": "catalog", "catalog_fingerprint": "fingerprint of the catalog", "tasks": "tasks",
    "tasks_fingerprint": "fingerprint of the tasks", "hints": "server hints", "router": "router", "preset": "preset",
    "outcomes": "calls in the statistics", "labels": "labels", "calibration": "calibration in force", "seed": "seed",
    "parameters": "parameters", "versions": "versions", "played": "simulated with",
}  # fmt: skip


def one_run(shown: ShownRuns) -> dict[str, str]:
    """Draw the view. Returns the texts for the URL."""
    st.markdown("**One run: its conditions, and its repetition**")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    id_ = select(
        row, shown.state, shown.linked, "run", "Run", [run.id for run in shown.runs], show=shown.names.__getitem__,
        width=330,
    )  # fmt: skip
    run = next(one for one in shown.runs if one.id == id_)
    start_button(
        row, "Repeat", partial(_start, shown.app, run), key="lab:repeat", icon=":material/replay:",
        help="Measures the same again with the current catalog and labels, and shows the differences. Nothing is "
        "stored.",
    )  # fmt: skip
    repeated: Repeated | None = result(REPEAT, id_)
    if repeated is not None:
        _repeated(repeated)
    rows = [{"condition": WORDS.get(name, name), "value": _text(value)} for name, value in run.to_json().items()]
    with st.expander("Stored conditions"):
        table(rows, key="lab:conditions")
    levels(shown.app, run, shown.tasks)
    return {"run": id_ if id_ != shown.runs[0].id else ""}


def _start(app: App, run: LabRun) -> None:
    tasks = app.lab_runs.tasks(run)
    playing = None if run.played is None else Playing.parse(run.played)
    begin(REPEAT, "Repeating", decisions(tasks, playing), lambda job: app.measuring.repeat(run, job.report), run.id)


def _repeated(found: Repeated) -> None:
    if not found.other:
        st.success("Equal to the last byte, except for the times of decisions.", icon=":material/check:")
    else:
        st.warning(
            f"Different: {escaped(_listed(found.other), 300)}. Tasks with another rank of the first right tool: "
            f"{escaped(_listed(found.moved) or 'none', 600)}.",
            icon=":material/difference:",
        )
    if found.differing:
        words = ", ".join(WORDS.get(name, name) for name in found.differing)
        st.caption(f"Changed conditions: {escaped(words, 300)}.")
    if found.changes:
        named = _listed([f"{one.what} {one_line(one.name, 60)} {one.change}" for one in found.changes])
        st.caption(f"Changed in the catalog: {escaped(named, 900)}.")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return "none" if value in ("", None) else one_line(str(value), 300)
