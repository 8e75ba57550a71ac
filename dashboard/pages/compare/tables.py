"""Where each router would go, and how two of them differ."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.domain.feedback import AskedQuery
from core.lab.stored_runs import ComparedTool, Placing, compared_tools
from core.routers.why import why
from dashboard.ui.drop_words import DROPPED
from dashboard.ui.judging import judge_popover
from dashboard.ui.text import escaped
from dashboard.ui.variants import Variant


def places_table(app: App, variants: tuple[Variant, ...], decisions: tuple[Decision, ...]) -> None:
    """Every tool that is a candidate somewhere, and its rank or the stage that dropped it, router by router; each may be graded."""
    found = compared_tools(decisions)
    frame = pd.DataFrame(
        [[tool.tool, *(_place(placing) for placing in tool.placings)] for tool in found],
        columns=["tool", *(variant.name for variant in variants)],
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Where each would go**", width="content")
        if found:
            asked = decisions[0]
            judge_popover(
                app, AskedQuery(asked.subtask, asked.server_hint), sorted(tool.tool for tool in found), "compare",
                catalog=asked.catalog,
            )  # fmt: skip
    st.dataframe(frame, hide_index=True, key="compare:placings")


def difference(variants: tuple[Variant, ...], decisions: tuple[Decision, ...]) -> None:
    """Two of them side by side: what only one keeps, and why the other does not."""
    names = [variant.name for variant in variants]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**What differs between**", width="content")
        one = st.selectbox("First", range(len(names)), key="compare.one", format_func=names.__getitem__, width=260)
        other = st.selectbox(
            "Second", range(len(names)), index=1, key="compare.other", format_func=names.__getitem__, width=260
        )
    pair = (decisions[one], decisions[other])
    differing = [tool for tool in compared_tools(pair) if tool.placings[0].rank != tool.placings[1].rank]
    if not differing:
        st.success("Both have the same candidates in the same order.", icon=":material/equal:")
        return
    for tool in differing:
        _differing(tool, pair, (names[one], names[other]))


def _differing(tool: ComparedTool, pair: tuple[Decision, Decision], names: tuple[str, str]) -> None:
    lines = [
        f":small[:gray[{escaped(name, 60)}:] {escaped(why(decision, tool.tool), 300)}]"
        for name, decision in zip(names, pair, strict=True)
    ]
    st.markdown("  \n".join([f"**{escaped(tool.tool, 80)}**", *lines]))


def _place(placing: Placing) -> str:
    if placing.rank is not None:
        return f"{'★ ' if placing.rank == 1 else ''}{placing.rank}"
    return DROPPED[placing.dropped_by] if placing.dropped_by is not None else "not in its catalog"
