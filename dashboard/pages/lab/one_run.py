"""One stored run: all that it is stored with, and the same again over the catalog as it is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.lab_runs import LabRun
from core.services.lab.measuring import Repeated
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.fields import select
from dashboard.pages.lab.job import begin, result, start_button
from dashboard.pages.lab.levels import levels
from dashboard.pages.lab.shown_runs import ShownRuns
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

REPEAT = "repeat"
LISTED = 12
WORDS = {
    "catalog": "catalog",
    "catalog_fingerprint": "fingerprint of the catalog",
    "tasks": "tasks",
    "tasks_fingerprint": "fingerprint of the tasks",
    "hints": "server hints given",
    "router": "router",
    "preset": "preset",
    "outcomes": "calls that the statistics knew",
    "labels": "labels",
    "calibration": "calibration in force",
    "seed": "seed",
    "parameters": "parameters",
    "versions": "versions",
    "played": "played out with",
}


def one_run(shown: ShownRuns) -> dict[str, str]:
    """All of it; what it puts into the URL."""
    st.markdown("**One run: what it follows from, and the same again**")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    id_ = select(
        row,
        shown.state,
        shown.linked,
        "run",
        "Run",
        [run.id for run in shown.runs],
        show=shown.names.__getitem__,
        width=330,
    )
    run = next(one for one in shown.runs if one.id == id_)
    start_button(
        row, "Repeat", partial(_start, shown.app, run), key="lab:repeat", icon=":material/replay:",
        help="Measures the same again, with the catalog and the labels of today, and shows the differences. Nothing is "
        "stored.",
    )  # fmt: skip
    repeated: Repeated | None = result(REPEAT, id_)
    if repeated is not None:
        _repeated(repeated)
    rows = [{"what": WORDS.get(name, name), "value": _text(value)} for name, value in run.to_json().items()]
    with st.expander("What it is stored with"):
        st.dataframe(
            pd.DataFrame(rows), hide_index=True, key="lab:conditions", height=table_height(len(rows)), row_height=32
        )
    levels(shown.app, run, shown.tasks)
    return {"run": id_ if id_ != shown.runs[0].id else ""}


def _start(app: App, run: LabRun) -> None:
    tasks = app.lab_runs.tasks(run)
    played = sum(bool(task.relevant) for task in tasks) if run.played else 0
    begin(REPEAT, "Repeating", len(tasks) + played, lambda job: app.measuring.repeat(run, job.report), run.id)


def _repeated(found: Repeated) -> None:
    if not found.other:
        st.success(
            "The same to the last byte, but for the times of decisions, which no clock gives twice.",
            icon=":material/check:",
        )
    else:
        st.warning(
            f"Not the same: {escaped(_listed(found.other), 300)}. Tasks whose first right tool has another rank: "
            f"{escaped(_listed(found.moved) or 'none', 600)}.",
            icon=":material/difference:",
        )
    if found.differing:
        words = ", ".join(WORDS.get(name, name) for name in found.differing)
        st.caption(f"Other than then: {escaped(words, 300)}.")
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
