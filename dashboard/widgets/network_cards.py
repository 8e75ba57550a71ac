"""One step of both routers side by side: where the query went, what came of it, and why not where it went last time."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import streamlit as st

from core import units
from core.domain.scenario_run import LIVE
from core.lab.scenario_measures import ScenarioRun
from core.network.traces import OUTAGE_S
from dashboard.charts.network_base import Story
from dashboard.widgets.injected import injected_badge
from dashboard.widgets.text import escaped

SIGNS = (":violet[●]", ":blue[◆]")  # the marks in the charts


def cards(story: Story, at: int) -> None:
    """What was asked, and a card a router."""
    asked = story.subtasks[int(story.runs[0].task[at])]
    passed = timedelta(seconds=at * story.step_s)
    st.markdown(f":gray[Step {at:,}, {passed} after the first query, asks:] **{escaped(asked, 300)}**")
    grid = st.grid(len(story.runs), min_column_width=340, gap="small")
    for place in range(len(story.runs)):
        with grid.cell(), st.container(border=True, gap="xsmall", height="stretch"):
            _card(story, place, at)


def _card(story: Story, place: int, at: int) -> None:
    run, title = story.runs[place], f"{SIGNS[place]} **{escaped(story.titles[place], 60)}**"
    server = int(run.server[at])
    if server < 0:
        st.markdown(f"{title} :orange[✗ found no candidate: the query went nowhere.]")
        return
    tool = f"{story.servers[server]}::{story.tools[int(run.tool[at])]}"
    st.markdown(f"{title} → :violet[★] {escaped(tool, 90)}")
    able = server in story.right[int(run.task[at])]
    st.markdown(
        f"{outcome(run, at)} · {latency(run, at)} · "
        f"costs **{escaped(units.price(float(run.price_usd[at])))}** · "
        + (":green[✓ an expert server]" if able else ":orange[✗ not a server that can do this]")
    )
    if story.live and run.injected[at]:
        injected_badge(run.injected[at])
    st.caption(mind(story, place, at))
    st.caption(ranking(story, place, at))


def ranking(story: Story, place: int, at: int) -> str:
    """Markdown: the best tools of a step by the router's own score."""
    standing = story.standings[place]
    best = [
        f"{escaped(story.tools[int(tool)], 60)} **{score:.3f}**"
        for tool, score in zip(standing.ranked[at], standing.scores[at], strict=True)
        if tool >= 0
    ]
    return f"By {standing.score}: {' · '.join(best)}"


def outcome(run: ScenarioRun, at: int) -> str:
    """What came of the call at a step, with its sign."""
    if run.ok[at]:
        return ":green[✓ answered]"
    if run.network_s[at] >= OUTAGE_S:
        return (
            ":orange[✗ no answer: the server is down]" if run.mode == LIVE else ":orange[✗ timeout: the server is down]"
        )
    return ":orange[✗ failed: the tool or its server]"


def latency(run: ScenarioRun, at: int) -> str:
    """Markdown: the latency of a step, and where it comes from. A live call without an answer has none of its own."""
    said = f"**{escaped(units.seconds(float(run.network_s[at])))}**"
    if run.mode != LIVE:
        return f"network latency {said}"
    return f"counts as {said}" if run.network_s[at] >= OUTAGE_S else f"measured latency {said}"


def mind(story: Story, place: int, at: int) -> str:
    """Markdown: whether the router went elsewhere than the last time that the same was asked, and why."""
    run = story.runs[place]
    before = np.flatnonzero(run.task[:at] == run.task[at])
    if not len(before):
        return "This was not asked before."
    last = int(before[-1])
    changed = next((change for change in story.changes[place] if change.step == at), None)
    if changed is not None:
        return (
            f"Changed its mind: at step {last:,} this went to {escaped(changed.left, 60)}. {escaped(changed.why, 200)}"
        )
    if run.server[last] == run.server[at]:
        return f"As last time, at step {last:,}."
    return f"At step {last:,} this went nowhere." if run.server[last] < 0 else ""
