"""Labels of the tool that Why explains: what they did to its fit, one by one, and the buttons that judge it."""

from __future__ import annotations

import streamlit as st

from core.domain.feedback import AskedQuery
from dashboard.ui.judging import judge_popover
from dashboard.ui.labels import Labelling, label_bar, label_notice
from dashboard.ui.moved import LABELS_HELP, moved_lines

WHY = "why"


def tool_labels(known: Labelling, tool: str) -> None:
    """For any tool of the catalog, a candidate or not."""
    moves = known.moves.get(tool, ())
    if moves:
        bound = known.app.catalogs.learnt(known.decision.catalog).values.bound
        st.markdown(
            f":gray[labels] **{known.learnt(tool):+.2f}** :gray[of at most ±{bound:g}, in logits of fit: the sum of what each says, "
            "the strongest first]",
            help=LABELS_HELP,
        )
        st.markdown("\n".join(f"- :small[{line}]" for line in moved_lines(moves)))
    if known.supposed:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(":gray[Is this the tool for the sub-task?]", width="content")
        with st.container(width="content"):
            label_bar(known, tool, WHY)
        judge_popover(
            known.app, AskedQuery(known.decision.subtask, known.decision.server_hint), (tool,), WHY,
            catalog=known.decision.catalog, decision_id=known.decision.id,
        )  # fmt: skip
    label_notice(known, WHY, now=known.decision)
