"""What was learnt from a call, and the decision that the same sub-task would get now."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.app import App
from core.domain.decision import Decision
from core.services.call.calls import CallReport
from core.shared import units
from core.shared.errors import WayfareError
from dashboard.pages.call.run import Run
from dashboard.pages.call.statistics_change import EQUATION, Row, any_change, learning_rows, next_rows, next_sentence
from dashboard.session import visitor
from dashboard.theme import ACCEPTED, REJECTED
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped


def learning(report: CallReport) -> None:
    """Statistics before and after, in units, with the difference marked."""
    outcome = report.outcome
    st.markdown("##### What was learnt", help=EQUATION)
    if not any_change(report):
        why = (
            "it was simulated"
            if outcome.simulated
            else "it was cancelled"
            if not outcome.kind.counts
            else "nothing moved"
        )
        st.caption(f"Nothing is learnt from this call, because {why}: the statistics stay as they are.")
        return
    y, fail = int(outcome.kind.success), int(outcome.kind.post_accept_failure)
    st.caption(f"Folded with y = {y}, fail = {fail}, l = {units.seconds(outcome.latency_s)}, EHRR (8).")
    _table(learning_rows(report), "call.learning")


def next_decision(app: App, run: Run, tool_id: str) -> None:
    """The same sub-task routed once more with what is known now; nothing is recorded."""
    st.markdown(
        "##### The next decision", help="The same sub-task, router and parameters with the statistics after this call."
    )
    before = run.decision
    if before is None:
        st.caption(
            "This call belongs to no decision. Opened from a candidate of the Route page, "
            "this page shows how a call changes the next decision."
        )
        if st.button("Route a sub-task", icon=":material/alt_route:", key="call.route"):
            open_page("route")
        return
    after = _routed(app, run, before)
    if after is None:
        return
    st.markdown(f"For “{escaped(before.subtask, 160)}”: {escaped(next_sentence(before, after, tool_id), 600)}")
    _table(next_rows(before, after, tool_id), "call.next")
    since = after.statistics_version - before.statistics_version
    if since > 1:
        st.caption(f"{since} calls were made on this catalog since that decision; all of them count here.")


def _routed(app: App, run: Run, before: Decision) -> Decision | None:
    if run.next_decision is None:
        try:
            with st.spinner("Routing the sub-task once more…"):
                run.next_decision = app.routing.route(
                    before.subtask,
                    visitor=visitor(),
                    catalog=before.catalog,
                    router=before.router,
                    parameters=app.routing.parameters(before.router, before.parameters),
                    server_hint=before.server_hint,
                    record=False,
                )
        except WayfareError as error:
            st.error(escaped(str(error)), icon=":material/error:")
    return run.next_decision


def _table(rows: Sequence[Row], key: str) -> None:
    columns = ["statistic", "before", "after", "change"]
    frame = pd.DataFrame(
        [(f"{row.of}: {row.statistic}", row.before, row.after, row.change) for row in rows], columns=columns
    )
    st.dataframe(
        _coloured(frame, [row.better for row in rows]),
        hide_index=True,
        height="content",
        key=key,
        column_config={"statistic": st.column_config.TextColumn(width=168)},
    )


def _coloured(frame: pd.DataFrame, better: Sequence[bool | None]) -> Styler:
    """The column of changes in the colours of accepted and rejected; the sign says it too."""
    colours = ["" if good is None else f"color: {ACCEPTED if good else REJECTED}; font-weight: 600" for good in better]
    return frame.style.apply(lambda _: colours, subset=["change"])
