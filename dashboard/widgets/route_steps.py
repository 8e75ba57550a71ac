"""The story of one decision from left to right, and its cost curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from core.console import Console
from core.domain.decision import Decision
from dashboard.charts.auction import auction
from dashboard.charts.posted_price import posted_price
from dashboard.charts.server_ranking import server_ranking
from dashboard.charts.stages import stages
from dashboard.charts.tool_breakdown import tool_breakdown
from dashboard.charts.tool_scores import tool_scores
from dashboard.charts.utility_lines import utility_lines
from dashboard.widgets.candidates import candidate_cards
from dashboard.widgets.chart import chart
from dashboard.widgets.holds import holds
from dashboard.widgets.text import escaped

STORY_PX = 350


def steps(decision: Decision, texts: Mapping[str, str], choose: Callable[[str], None]) -> None:
    """Four columns: servers, what happened between, tools, candidates. A click calls `choose` with a name."""
    story = st.grid(4, min_column_width=235, gap="xsmall")
    with story.cell():
        chart(server_ranking(decision, height=STORY_PX), key="route:servers", choose=choose)
    with story.cell():
        if decision.economic:
            chart(auction(decision, height=STORY_PX), key="route:auction", choose=choose)
        else:
            _stages(decision)
    with story.cell():
        drawn = tool_breakdown if decision.economic else tool_scores
        chart(drawn(decision, height=STORY_PX), key="route:tools", choose=choose)
    with story.cell():
        candidate_cards(decision, texts, height=STORY_PX)


def curves(console: Console, decision: Decision) -> None:
    """From where to where the winner holds; nothing for a router that does not weigh costs."""
    if not decision.economic:
        return
    grid = st.grid(3, min_column_width=235, gap="xsmall")
    for axis in ("alpha_t", "kappa"):
        lines = console.utility_lines(decision, axis)
        with grid.cell():
            chart(utility_lines(lines), key=f"route:{axis}")
            st.caption(holds(lines))
    with grid.cell():
        chart(posted_price(decision, console.posted_price_curve(decision)), key="route:posted")


def _stages(decision: Decision) -> None:
    with st.container(height=STORY_PX, border=False, gap="xsmall"):
        st.markdown("**2 · Stages**", help="What each stage of the router let through.")
        chart(stages(decision.stages), key="route:stages")
        for stage in decision.stages:
            by = f" ({escaped(stage.by, 40)})" if stage.by else ""
            st.markdown(f":small[**{escaped(stage.name, 40)}**{by}: {escaped(stage.note, 240)}]")
