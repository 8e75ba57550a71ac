"""The tables of the Network page: measures of the whole run, and the newest events."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn, TextColumn

from core.shared import units
from core.shared.untrusted_text import visible
from dashboard.pages.network.run_timeline import Event, RunTimeline

NEWEST = 8

MEASURES = {
    "router": TextColumn("router", width=130),
    "ssr": NumberColumn("SSR", format="%.1f %%", help="Share of queries that went to a server with a tool that can do them."),
    "ee": NumberColumn("EE", format="%.3f", help="Mean expertise C of the chosen tools, SONAR (5), in [0, 1]."),
    "al_ms": NumberColumn("AL", format="%.1f ms", help="Mean network latency of the calls."),
    "sl_ms": NumberColumn("SL", format="%.2f ms", help="Mean time of a selection, with embedding, as it took on this machine."),
    "fr": NumberColumn("FR", format="%.1f %%", help="Share of calls that met an outage: 1,000 ms or more."),
    "cost": TextColumn("cost", help="Sum of what the calls cost by the catalog's prices."),
    "utility": NumberColumn("utility", format="%.3f", help="Mean utility of the chosen tools, EHRR (7). Empty: the router does not rank by it."),
}  # fmt: skip

LIVE_NOTE = (
    "  :gray[live: AL and FR are measured, with the network injected; a call without an answer counts as 1,000 ms, and "
    "results of virtual servers are simulated. The routers learn from these calls within the run; the statistics of the other pages do not.]"
)

EVENTS = {
    "step": NumberColumn("step", width=60),
    "who": TextColumn("who", width=120),
    "what": TextColumn("what happened", width=430),
    "subtask": TextColumn("sub-task", width=430, help="The query of that step. Empty for what happened to a server."),
}


def measures_frame(timeline: RunTimeline) -> pd.DataFrame:
    """One row a router; shares in percent."""
    return pd.DataFrame(
        {
            "router": timeline.titles,
            "ssr": [run.ssr * 100 for run in timeline.runs],
            "ee": [run.ee for run in timeline.runs],
            "al_ms": [run.al_ms for run in timeline.runs],
            "sl_ms": [run.sl_ms for run in timeline.runs],
            "fr": [run.fr * 100 for run in timeline.runs],
            "cost": [units.price(run.cost_usd) for run in timeline.runs],
            "utility": pd.array([run.utility for run in timeline.runs], dtype="Float64"),
        }
    )


def events_frame(events: list[Event], at: int) -> pd.DataFrame:
    """The newest events up to a step, the newest first."""
    past = [event for event in events if event.step <= at][-NEWEST:][::-1]
    return pd.DataFrame(
        {
            "step": [event.step for event in past],
            "who": [visible(event.who) for event in past],
            "what": [visible(event.what) for event in past],
            "subtask": [visible(event.subtask) for event in past],
        }
    )


def measures_table(timeline: RunTimeline) -> None:
    """The measures of the whole run."""
    st.markdown(f"**The whole run, {timeline.steps:,} steps**{LIVE_NOTE if timeline.live else ''}")
    st.dataframe(
        measures_frame(timeline), hide_index=True, column_config=MEASURES, key="network:measures", placeholder="–"
    )


def events_table(events: list[Event], at: int) -> None:
    """The newest events, or that there are none yet."""
    frame = events_frame(events, at)
    if frame.empty:
        st.caption("Nothing has happened yet: no server went down, and no router went elsewhere than before.")
        return
    st.dataframe(frame, hide_index=True, column_config=EVENTS, key="network:events")
