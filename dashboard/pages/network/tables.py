"""The tables and cards of a run of the Network page."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import streamlit as st

from core.domain import units
from core.domain.lab_runs import LIVE
from core.domain.untrusted_text import visible
from core.lab.scenarios.measures import ScenarioRun
from core.network.traces import OUTAGE_S
from dashboard.pages.network.charts.latency import Event, RunTimeline
from dashboard.ui.table import Column, table
from dashboard.ui.text import escaped, injected_badge

SIGNS = (":violet[●]", ":blue[◆]")  # the marks in the charts


def step_cards(timeline: RunTimeline, at: int) -> None:
    query = timeline.subtasks[int(timeline.runs[0].task[at])]
    passed = timedelta(seconds=at * timeline.step_s)
    st.markdown(f":gray[Step {at:,}, {passed} after the first query, asks:] **{escaped(query, 300)}**")
    grid = st.grid(len(timeline.runs), min_column_width=340, gap="small")
    for place in range(len(timeline.runs)):
        with grid.cell(), st.container(border=True, gap="xsmall", height="stretch"):
            _card(timeline, place, at)


def _card(timeline: RunTimeline, place: int, step: int) -> None:
    run, title = timeline.runs[place], f"{SIGNS[place]} **{escaped(timeline.titles[place], 60)}**"
    server = int(run.server[step])
    if server < 0:
        st.markdown(f"{title} :orange[✗ no candidate, no call.]")
        return
    tool = f"{timeline.servers[server]}::{timeline.tools[int(run.tool[step])]}"
    st.markdown(f"{title} → :violet[★] {escaped(tool, 90)}")
    expert = server in timeline.experts[int(run.task[step])]
    st.markdown(
        f"{outcome_text(run, step)} · {latency_text(run, step)} · "
        f"costs **{escaped(units.price(float(run.price_usd[step])))}** · "
        + (":green[✓ an expert server]" if expert else ":orange[✗ not an expert server]")
    )
    if timeline.live and run.injected[step]:
        injected_badge(run.injected[step])
    st.caption(compared_with_last_time(timeline, place, step))
    st.caption(best_tools(timeline, place, step))


def best_tools(timeline: RunTimeline, place: int, at: int) -> str:
    ranking = timeline.rankings[place]
    best = [
        f"{escaped(timeline.tools[int(tool)], 60)} **{units.plain(score)}**"
        for tool, score in zip(ranking.ranked[at], ranking.scores[at], strict=True)
        if tool >= 0
    ]
    return f"By {ranking.score}: {' · '.join(best)}"


def outcome_text(run: ScenarioRun, at: int) -> str:
    if run.ok[at]:
        return ":green[✓ answered]"
    if run.network_s[at] >= OUTAGE_S:
        return (
            ":orange[✗ no answer: the server is down]" if run.mode == LIVE else ":orange[✗ timeout: the server is down]"
        )
    return ":orange[✗ failed: the tool or its server]"


def latency_text(run: ScenarioRun, at: int) -> str:
    """Returns Markdown: the latency of a step and its source. A live call without an answer has a fixed latency."""
    value = f"**{escaped(units.seconds(float(run.network_s[at])))}**"
    if run.mode != LIVE:
        return f"network latency {value}"
    return f"counts as {value}" if run.network_s[at] >= OUTAGE_S else f"measured latency {value}"


def compared_with_last_time(timeline: RunTimeline, place: int, at: int) -> str:
    """Returns Markdown: whether the router chose another server than for the last equal query, and why."""
    run = timeline.runs[place]
    earlier = np.flatnonzero(run.task[:at] == run.task[at])
    if not len(earlier):
        return "The first query of this kind."
    last = int(earlier[-1])
    switch = next((change for change in timeline.changes[place] if change.step == at), None)
    if switch is not None:
        return f"Changed: at step {last:,} this query went to {escaped(switch.left, 60)}. {escaped(switch.why, 200)}"
    if run.server[last] == run.server[at]:
        return f"The same server as at step {last:,}."
    return f"At step {last:,} there was no candidate." if run.server[last] < 0 else ""


NEWEST = 8

SPELLED = {
    "ssr": "right server (SSR)",
    "ee": "expertise (EE)",
    "al": "latency (AL)",
    "sl": "selection (SL)",
    "fr": "outages (FR)",
}
HELPS = {  # NetMCP, section III
    "ssr": "Selection success rate: queries that went to a server that can do them / queries. It judges the choice alone: such a call may "
    "fail nevertheless.",
    "without": "Queries that no call answered: without a candidate, in an outage, or because the tool or its server failed. The same count "
    "as the chart's.",
    "ee": "Expected expertise: mean expertise of the chosen servers, in [0, 1]. It is fixed for a server: how well the words of its right "
    "tools match the questions, against the best match.",
    "al": "Average latency: mean network latency of the calls.",
    "sl": "Selection latency: mean time of a selection with embedding on this machine.",
    "fr": "Failure rate: calls that met an outage (1,000 ms or more) / calls. A call that fails because of the tool or its server is not "
    "in it.",
}

MEASURES = (
    Column("router", width=130),
    Column("ssr", SPELLED["ssr"], help=HELPS["ssr"], format="%.1f", unit="%"),
    Column("without", "without success", help=HELPS["without"]),
    Column("ee", SPELLED["ee"], help=HELPS["ee"], format="%.3f"),
    Column("al_ms", SPELLED["al"], help=HELPS["al"], format="%.1f", unit="ms"),
    Column("sl_ms", SPELLED["sl"], help=HELPS["sl"], format="%.2f", unit="ms"),
    Column("fr", SPELLED["fr"], help=HELPS["fr"], format="%.1f", unit="%"),
    Column(
        "cost", help="Sum of the calls' prices in the catalog. Calls of tools without a price are counted beside it."
    ),
    Column("utility", help="Mean utility of the chosen tools, EHRR (7). Empty for routers without it.", format="%.3f"),
)

LIVE_NOTE = (
    "  :gray[live: latency and outages are measured with the injected network. A call without an answer counts as 1,000 ms, and "
    "results of virtual servers are simulated. The routers learn from these calls only within the run.]"
)

EVENTS = (
    Column("step", width=60),
    Column("who", width=120),
    Column("what", "event", width=430),
    Column("subtask", "sub-task", width=430, help="The query of the step. Empty for events of servers."),
)


def measures_frame(timeline: RunTimeline) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "router": timeline.titles, "ssr": [run.ssr * 100 for run in timeline.runs],
            "without": [int((~run.ok).sum()) for run in timeline.runs],
            "ee": [run.ee for run in timeline.runs], "al_ms": [run.al_ms for run in timeline.runs],
            "sl_ms": [run.sl_ms for run in timeline.runs], "fr": [run.fr * 100 for run in timeline.runs],
            "cost": [run.spent for run in timeline.runs],
            "utility": pd.array([run.utility for run in timeline.runs], dtype="Float64"),
        }
    )  # fmt: skip


def events_frame(events: list[Event], at: int) -> pd.DataFrame:
    """Returns the newest events up to a step, the newest first."""
    past = [event for event in events if event.step <= at][-NEWEST:][::-1]
    return pd.DataFrame(
        {
            "step": [event.step for event in past],
            "who": [visible(event.who) for event in past],
            "what": [visible(event.what) for event in past],
            "subtask": [visible(event.query) for event in past],
        }
    )


def measures_table(timeline: RunTimeline) -> None:
    st.markdown(f"**The whole run, {timeline.steps:,} steps**{LIVE_NOTE if timeline.live else ''}")
    table(measures_frame(timeline), MEASURES, key="network:measures")


def events_table(events: list[Event], at: int) -> None:
    frame = events_frame(events, at)
    if frame.empty:
        st.caption("No events yet: no server went down, and no router changed its server.")
        return
    table(frame, EVENTS, key="network:events")
