"""Failed tasks of a run grouped by why, each with its decision one click away."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.lab_runs import LabRun
from core.lab.stored_runs import Failed, Why, failures
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.fields import select
from dashboard.pages.lab.links import changed, route_link
from dashboard.pages.lab.names import STAGES
from dashboard.pages.lab.shown_runs import ShownRuns
from dashboard.ui.choice_table import ROW_PX, table_height

WHY_WORDS = {
    Why.NOT_IN_INDEX: "no right tool is in the catalog, or in what the router looks at",
    Why.WRONG_SERVER: "the right tool's server was not short-listed",
    Why.OUT_RANKED: "other tools of the servers that were looked at came before the right one",
    Why.PRICED_OUT: "the server asked more than was offered, the tool costs more, or a call is not worth its price",
    Why.GATED: "the right tool did not pass the router's gate or threshold",
    Why.REFUSED_WRONGLY: "the router judged that nothing can do it, and something can",
    Why.NOT_REFUSED: "nothing can do it, and a tool was proposed",
    Why.UNKNOWN: "the run was stored without the stage",
}


def failed_tasks(shown: ShownRuns) -> dict[str, str]:
    """A run, its groups with their sizes, and the tasks of one group; what it puts into the URL."""
    st.markdown("**Why tasks failed**")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    ids = [run.id for run in shown.runs]
    id_ = select(row, shown.state, shown.linked, "failed", "Run", ids, show=shown.names.__getitem__, width=235)
    run = shown.runs[ids.index(id_)]
    groups = failures(shown.tasks, run.result)
    if not groups:
        st.success(f"None of its {len(shown.tasks):,} tasks failed.", icon=":material/check:")
        return {"failed": "" if id_ == ids[0] else id_}
    key, wanted = shown.state.key("group"), shown.linked.get("group", "")
    if st.session_state.get(key) not in groups:
        st.session_state[key] = Why(wanted) if wanted in groups else next(iter(groups))
    chosen = row.segmented_control(
        f"{sum(map(len, groups.values())):,} of {len(shown.tasks):,} tasks have no right tool on top", list(groups), key=key,
        required=True, format_func=lambda one: f"{one} {len(groups[one]):,}",
    )  # fmt: skip
    why = chosen or next(iter(groups))
    st.caption(f"{why}: {WHY_WORDS[why]}.")
    _table(shown.app, run, groups[why])
    return {"failed": "" if id_ == ids[0] else id_, "group": "" if why is next(iter(groups)) else str(why)}


def _table(app: App, run: LabRun, failed: Sequence[Failed]) -> None:
    values, entries = changed(app, run), run.result["tasks"]
    frame = pd.DataFrame(
        {
            "sub-task": [one_line(one.task.subtask, 200) for one in failed],
            "decision": [route_link(run, values, one.task) for one in failed],
            "right": [one_line(", ".join(one.task.relevant) or "nothing can do it", 120) for one in failed],
            "first": [one_line(next(iter(entries[one.task.id]["candidates"]), "–"), 80) for one in failed],
            "stage": [STAGES.get(one.stage, one.stage) for one in failed],
        }
    )
    column = st.column_config
    st.dataframe(
        frame,
        hide_index=True,
        key="lab:failed",
        height=table_height(len(frame)),
        row_height=ROW_PX,
        column_config={
            "sub-task": column.TextColumn(width=340),
            "decision": column.LinkColumn(
                display_text="open ↗", width="small", help="The decision, made again, in a new tab"
            ),
            "right": column.TextColumn(width=230),
            "first": column.TextColumn(width=230),
            "stage": column.TextColumn(help="The stage of the router that dropped the most similar right tool"),
        },
    )
