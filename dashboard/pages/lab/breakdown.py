"""The compared runs in parts: a line for each level, category or server of the tasks, a column for each run."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.lab.benchmark import MEASURES
from core.lab.stored_runs import BY, NO_GROUP, Part, parts
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.fields import select
from dashboard.pages.lab.names import measure_name
from dashboard.pages.lab.shown_runs import ShownRuns
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

NOTHING_CAN = "nothing can do it"


def breakdown(shown: ShownRuns, measure: str) -> dict[str, str]:
    """All of it; what it puts into the URL."""
    runs, tasks = shown.runs, shown.tasks
    usable = [by for by, groups in BY.items() if len({group for task in tasks for group in groups(task)}) > 1]
    if not usable or not runs:
        return {}
    by = select(
        st.container(), shown.state, shown.linked, "per", "In parts", usable, show=lambda one: f"per {one}", width=180
    )
    found = {run.id: parts(tasks, run.result, MEASURES[measure], by) for run in runs}
    rows = [
        {
            by: _group(some[0].group, by),
            "tasks": f"{some[0].n + some[0].impossible:,}",
            **{shown.names[run.id]: _figure(part) for run, part in zip(runs, some, strict=True)},
        }
        for some in zip(*found.values(), strict=True)
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="lab:parts", height=table_height(len(rows)), row_height=32)
    st.caption(
        f"**{escaped(measure_name(measure))}**, mean and 95 % interval by bootstrap over the tasks of the line; tasks that nothing can do "
        "are counted as refused or not. A task with tools of several servers counts for each of them."
    )
    return {"per": by}


def _group(group: str, by: str) -> str:
    if group == NO_GROUP:
        return NOTHING_CAN if by == "server" else f"no {by}"
    return one_line(group, 80)


def _figure(part: Part) -> str:
    texts = [f"{part.mean:.3f} [{part.low:.2f}, {part.high:.2f}]"] if part.n else []
    if part.impossible:
        texts.append(f"{part.refused:,} of {part.impossible:,} refused")
    return "; ".join(texts)
