"""One step of both routers side by side: where the query went, what came of it, and why not where it went last time."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import streamlit as st

from core.domain.lab_runs import LIVE
from core.lab.scenarios.measures import ScenarioRun
from core.network.traces import OUTAGE_S
from core.shared import units
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.ui.fault_badge import injected_badge
from dashboard.ui.text import escaped

SIGNS = (":violet[●]", ":blue[◆]")  # the marks in the charts


def step_cards(timeline: RunTimeline, at: int) -> None:
    """The query of a step, and a card for each router."""
    subtask = timeline.subtasks[int(timeline.runs[0].task[at])]
    passed = timedelta(seconds=at * timeline.step_s)
    st.markdown(f":gray[Step {at:,}, {passed} after the first query, asks:] **{escaped(subtask, 300)}**")
    grid = st.grid(len(timeline.runs), min_column_width=340, gap="small")
    for place in range(len(timeline.runs)):
        with grid.cell(), st.container(border=True, gap="xsmall", height="stretch"):
            _card(timeline, place, at)


def _card(timeline: RunTimeline, place: int, at: int) -> None:
    run, title = timeline.runs[place], f"{SIGNS[place]} **{escaped(timeline.titles[place], 60)}**"
    server = int(run.server[at])
    if server < 0:
        st.markdown(f"{title} :orange[✗ found no candidate: the query went nowhere.]")
        return
    tool = f"{timeline.servers[server]}::{timeline.tools[int(run.tool[at])]}"
    st.markdown(f"{title} → :violet[★] {escaped(tool, 90)}")
    expert = server in timeline.experts[int(run.task[at])]
    st.markdown(
        f"{outcome_text(run, at)} · {latency_text(run, at)} · "
        f"costs **{escaped(units.price(float(run.price_usd[at])))}** · "
        + (":green[✓ an expert server]" if expert else ":orange[✗ not a server that can do this]")
    )
    if timeline.live and run.injected[at]:
        injected_badge(run.injected[at])
    st.caption(compared_with_last_time(timeline, place, at))
    st.caption(best_tools(timeline, place, at))


def best_tools(timeline: RunTimeline, place: int, at: int) -> str:
    """Markdown: the best tools of a step by the router's own score."""
    ranking = timeline.rankings[place]
    best = [
        f"{escaped(timeline.tools[int(tool)], 60)} **{score:.3f}**"
        for tool, score in zip(ranking.ranked[at], ranking.scores[at], strict=True)
        if tool >= 0
    ]
    return f"By {ranking.score}: {' · '.join(best)}"


def outcome_text(run: ScenarioRun, at: int) -> str:
    """What came of the call at a step, with its sign."""
    if run.ok[at]:
        return ":green[✓ answered]"
    if run.network_s[at] >= OUTAGE_S:
        return (
            ":orange[✗ no answer: the server is down]" if run.mode == LIVE else ":orange[✗ timeout: the server is down]"
        )
    return ":orange[✗ failed: the tool or its server]"


def latency_text(run: ScenarioRun, at: int) -> str:
    """Markdown: the latency of a step, and where it comes from. A live call without an answer has none of its own."""
    value = f"**{escaped(units.seconds(float(run.network_s[at])))}**"
    if run.mode != LIVE:
        return f"network latency {value}"
    return f"counts as {value}" if run.network_s[at] >= OUTAGE_S else f"measured latency {value}"


def compared_with_last_time(timeline: RunTimeline, place: int, at: int) -> str:
    """Markdown: whether the router went elsewhere than for the last query of the same task, and why."""
    run = timeline.runs[place]
    before = np.flatnonzero(run.task[:at] == run.task[at])
    if not len(before):
        return "This was not asked before."
    last = int(before[-1])
    changed = next((change for change in timeline.changes[place] if change.step == at), None)
    if changed is not None:
        return (
            f"Changed its mind: at step {last:,} this went to {escaped(changed.left, 60)}. {escaped(changed.why, 200)}"
        )
    if run.server[last] == run.server[at]:
        return f"As last time, at step {last:,}."
    return f"At step {last:,} this went nowhere." if run.server[last] < 0 else ""
