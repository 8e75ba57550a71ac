"""The story of one decision from left to right, and its cost curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from core.console import Console
from core.domain.decision import Decision
from dashboard.charts.auction import auction
from dashboard.charts.base import CONFIG
from dashboard.charts.posted_price import posted_price
from dashboard.charts.server_ranking import server_ranking
from dashboard.charts.stages import stages
from dashboard.charts.tool_breakdown import tool_breakdown
from dashboard.charts.tool_scores import tool_scores
from dashboard.charts.utility_lines import utility_lines
from dashboard.widgets.candidates import candidate_cards
from dashboard.widgets.clicks import clickable
from dashboard.widgets.holds import holds
from dashboard.widgets.text import escaped

STORY_PX = 350


def steps(decision: Decision, texts: Mapping[str, str], choose: Callable[[str], None]) -> None:
    """Four columns: servers, what happened between, tools, candidates. A click calls `choose` with a name."""
    story = st.grid(4, min_column_width=235, gap="xsmall")
    with story.cell():
        clickable(server_ranking(decision, height=STORY_PX), "route:servers", choose)
    with story.cell():
        if decision.economic:
            clickable(auction(decision, height=STORY_PX), "route:auction", choose)
        else:
            _stages(decision)
    with story.cell():
        drawn = tool_breakdown if decision.economic else tool_scores
        clickable(drawn(decision, height=STORY_PX), "route:tools", choose)
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
            st.plotly_chart(utility_lines(lines), key=f"route:{axis}", config=CONFIG)
            st.caption(holds(lines))
    grid.plotly_chart(posted_price(decision, console.posted_price_curve(decision)), key="route:posted", config=CONFIG)


def _stages(decision: Decision) -> None:
    with st.container(height=STORY_PX, border=False, gap="xsmall"):
        st.markdown("**2 · Stages**", help="What each stage of the router let through.")
        st.plotly_chart(stages(decision.stages), key="route:stages", config=CONFIG)
        for stage in decision.stages:
            by = f" ({escaped(stage.by, 40)})" if stage.by else ""
            st.markdown(f":small[**{escaped(stage.name, 40)}**{by}: {escaped(stage.note, 240)}]")
