"""Was this the right tool for the sub-task? What a person says of a call that came from a decision."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.feedback import AskedQuery
from core.domain.outcome import Outcome
from dashboard.pages.call.run import Run
from dashboard.ui.judging import judge_popover
from dashboard.ui.labels import label_bar, label_notice, labelling
from dashboard.ui.text import escaped

CALL = "call"


def judgement(app: App, run: Run, outcome: Outcome) -> None:
    """Right, wrong, or what it should have been; nothing for a call that came from no sub-task."""
    if run.decision is None:
        return
    known = labelling(app, run.decision)

    def changed() -> None:
        run.next_decision = None  # it is decided anew, with the label

    st.markdown("##### Was this the right tool?")
    st.markdown(f"For “{escaped(run.decision.subtask, 160)}”. {_teaches(outcome)}")
    decision, tool = run.decision, f"{outcome.call.server}::{outcome.call.tool}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="content"):
            label_bar(known, tool, CALL, changed=changed)
        judge_popover(
            app, AskedQuery(decision.subtask, decision.server_hint), (tool,), CALL, catalog=decision.catalog,
            decision_id=decision.id,
        )  # fmt: skip
    label_notice(known, CALL, changed=changed)


def _teaches(outcome: Outcome) -> str:
    """What the call says of the tool by itself."""
    if outcome.simulated:
        return "The call was simulated and teaches nothing by itself: what you say here counts as your own judgement."
    how = "ended well" if outcome.kind.success else "failed"
    return f"That the call {how} says nothing of whether the tool fits: what you say here does."
