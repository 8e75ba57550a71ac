"""Findable: how often the tools of a catalog would be found, the tools they are taken for, and remedies."""

from __future__ import annotations

from itertools import compress

import numpy as np
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.catalog import Catalog
from core.domain.findings import Findable, Missed, ToolFound
from core.domain.tasks import Says
from dashboard.page_host import GridContainer
from dashboard.pages.catalog import state
from dashboard.pages.catalog.charts import SEPARATOR, taken_for_map
from dashboard.pages.catalog.equal_sets import pair_cards
from dashboard.pages.catalog.requests import lacking_requests, uncounted_requests
from dashboard.session import known_job, only, start_job
from dashboard.ui.catalog_frames import matching
from dashboard.ui.chart import chart
from dashboard.ui.first_look import work_panel, write_button, writing_model
from dashboard.ui.long_work import job_error, job_progress, share_of
from dashboard.ui.table import Column, choice_table, frame_of, page_of, table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import open_page

JOB, PAIR = "catalog:findable.job", "catalog:findable.pair"
HELP = (
    "Each example request was written for one tool. A quarter of each tool's requests is left out in turn and ranked by what the others "
    "teach. Tools of an equal set, and twins on other servers, count as one. Four labelled catalogs tell how much more people find, and "
    "the shares are corrected by that."
)
COLUMNS = (
    Column("tool", width=230),
    Column("first", width=65, help="Requests that rank it first.", cell=lambda tool: f"{tool.first} of {tool.of}"),
    Column(
        "among three", width=85, help="Requests that rank it among the first three, which a search shows.",
        cell=lambda tool: f"{tool.found} of {tool.of}",
    ),
    Column(
        "taken for", width=420, help="The tools that are ranked first in its place, and how often.",
        cell=lambda tool: ", ".join(f"{other} ({times})" for other, times in tool.taken_for[:3]),
    ),
)  # fmt: skip


def findable_body(app: App, catalog: Catalog, query: str) -> None:
    if not catalog.tools:
        state.no_tools(catalog)
        return
    if work_panel(app, catalog.name, "findable"):
        lacking_requests(app, catalog.name, None)
        return
    job = known_job(JOB)
    if job is not None and job.about == catalog.name:
        if job.under_way:
            job_progress(job, _told, stop="catalog.findable.stop")
            return
        job_error(job, "The estimate stopped unexpectedly ({}). Press Estimate again.")
    result, current = app.findable.latest(catalog.name)
    if result is None:
        possible = app.findable.can_estimate(catalog.name)
        request_count = sum(map(len, app.requests.of_catalog(catalog.name).values()))
        st.info(
            f"Which tools would people and agents find? The {request_count:,} example requests of this catalog tell: each is asked as if it "
            f"were new. 1,000 take about {5 + len(catalog.tools) / 5_000:.0f} seconds."
            if possible else "No tool of this catalog has two example requests, so nothing tells yet which tools would be found.",
            icon=":material/troubleshoot:",
        )  # fmt: skip
        with st.container(horizontal=True):
            if possible:
                _button(app, catalog.name, "Estimate", primary=True)
            elif writing_model(app):
                write_button(app, catalog.name, "findable")
        lacking_requests(app, catalog.name, None, expanded=not possible)
        uncounted_requests(app, catalog.name)
        _example()
        return
    _headline(app, catalog.name, result, current)
    lacking_requests(app, catalog.name, result)
    uncounted_requests(app, catalog.name)
    if all(tool.first == tool.of for tool in result.tools):
        st.caption("Every request that was left out finds its tool first.")
        return
    grid = _grid()
    with grid.cell(column_span=3):
        chosen = _tools(result, query)
        if chosen is not None:
            _tool(app, catalog, chosen)
    with grid.cell(column_span=2):
        chart(taken_for_map(result.tools), key="catalog:findable.map", choose=_of_servers)


def _told(job: Job) -> tuple[float, str]:
    words = f"{job.done:,} of {job.of:,} requests are ranked{units.time_left(job.left_s)}. You can continue to work."
    return share_of(job), words


def _button(app: App, catalog: str, words: str, *, primary: bool = False) -> None:
    st.button(
        words, key="catalog.findable.estimate", **only("tune"), icon=":material/troubleshoot:", type="primary" if primary else "secondary",
        on_click=lambda: start_job(JOB, lambda job: app.findable.estimate(catalog, job.report), catalog, title=f"Estimating what is found in {catalog}"),
    )  # fmt: skip


def _headline(app: App, catalog: str, result: Findable, current: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        _shares(result)
        st.metric("Seldom found", f"{len(result.seldom):,} of {len(result.tools):,}", help="Tools that less than half of their requests find among three.")  # fmt: skip
        if result.without:
            st.metric("Without requests", f"{result.without:,}", help="Tools of which nothing is known.")
        st.space("stretch")
        if writing_model(app) and app.requests.lacking(catalog):
            write_button(app, catalog, "findable")
        _button(app, catalog, "Estimate again")
    if result.sampled:
        st.caption(result.sampled)
    if not current:
        st.caption(":orange[The catalog, its requests or its equal sets have changed since. Estimate again.]")


def _grid() -> GridContainer:
    return st.grid(5, min_column_width=200, gap="medium")


def _shares(result: Findable) -> None:
    for name, share, (low, high), left_out in (
        ("Found first, about", result.hit_1, result.interval_1, result.left_out_1),
        ("Among three, about", result.hit_3, result.interval_3, result.left_out_3),
    ):
        note = f"{units.share(low)} to {units.share(high)} (95 %, over tools). Of the requests left out, {units.share(left_out)}."
        st.metric(name, units.share(share), help=f"{note} {HELP}", width="content")


def _of_servers(names: str) -> None:
    st.session_state[PAIR] = names.split(SEPARATOR)


def _tools(result: Findable, query: str) -> ToolFound | None:
    pair = st.session_state.get(PAIR)
    tools = [tool for tool in result.tools if tool.first < tool.of and (pair is None or _is_of(tool, *pair))]
    matches = matching((f"{tool.tool} {' '.join(other for other, _ in tool.taken_for)}" for tool in tools), query)
    tools = list(compress(tools, matches))
    with st.container(horizontal=True, vertical_alignment="center"):
        about = (
            f"of {escaped(pair[0], 60)} that are taken for {escaped(pair[1], 60)}"
            if pair
            else "that are not always first"
        )
        st.caption(f"{len(tools):,} tools {about}, the worst first. Choose one for what it is taken for.")
        if pair:
            st.button(
                "All servers",
                key="catalog.findable.all",
                on_click=lambda: st.session_state.pop(PAIR, None),
                type="tertiary",
            )
    tools = [tools[row] for row in page_of(np.arange(len(tools)), "catalog.findable").tolist()]
    row = choice_table(
        frame_of(tools, COLUMNS), COLUMNS, labels=list(range(len(tools))), key="catalog.findable.tools", about="Tools that are not always found first"
    )  # fmt: skip
    return None if row is None else tools[row]


# Measured once over the sample catalog, six of its 950 tools: found first, found among three, and the tools found first instead.
EXAMPLE = Findable(
    0.718, 0.853, 0.522, 0.738, (0.705, 0.731), (0.845, 0.861), without=0,
    tools=tuple(
        ToolFound(tool, first, among_three, 12, tuple(Missed("", other, 0) for other, times in taken_for.items() for _ in range(times)))
        for tool, first, among_three, taken_for in (
            ("Bullring::market.candles", 0, 0, {"stock-desk::price_history": 4, "fx-rates::rate_series": 2, "shop-finder::price_trend": 2}),
            ("Folio::folio.graph.inbound", 0, 1, {"page-reader::list_links": 4, "Folio::folio.page.find": 2, "Trawler::trawl.deadLinks": 2}),
            ("Parley::nudgeMe", 1, 1, {"calendar-desk::add_reminder": 4, "team-chat::remind_me": 3}),
            ("Lodestar::instantAnswer", 0, 2, {"quick-answers::entity_facts": 3, "waypoint-atlas::find_city": 2}),
            ("git-forge::search_code", 0, 2, {"Anvil::code.search": 4, "git-forge::search_repositories": 2}),
            ("quick-answers::web_results", 0, 2, {"web-search::search_web": 4, "page-reader::search_pages": 2}),
        )
    ),
)  # fmt: skip


def _example() -> None:
    st.markdown(f":gray-badge[example] The sample catalog, and {len(EXAMPLE.tools)} of its tools that are seldom found")
    with st.container(key="findable-example"):
        with st.container(horizontal=True, gap="medium"):
            _shares(EXAMPLE)
        grid = _grid()
        with grid.cell(column_span=3):
            table(frame_of(EXAMPLE.tools, COLUMNS), COLUMNS, key="catalog.findable.example")
        with grid.cell(column_span=2):
            chart(taken_for_map(EXAMPLE.tools), key="catalog:findable.example-map")


def _is_of(tool: ToolFound, server: str, rival: str) -> bool:
    return tool.tool.startswith(f"{server}::") and any(other.startswith(f"{rival}::") for other, _ in tool.taken_for)


def _tool(app: App, catalog: Catalog, tool: ToolFound) -> None:
    """Draw a tool beside the tool that it is taken for most often, with the requests that miss it."""
    other, times = tool.taken_for[0]
    with st.container(border=True):
        st.markdown(
            f"**{escaped(tool.tool, 160)}** is taken for **{escaped(other, 160)}** by {times} of its {tool.of} requests:"
        )
        lines = [
            f"- “{escaped(miss.text, 300)}” :gray[finds {escaped(miss.taken_for, 120)}; it is number {miss.rank}]"
            for miss in tool.missed
        ]
        st.markdown("\n".join(lines))
        if other in catalog.tool_row and tool.tool in catalog.tool_row:
            pair_cards(catalog, (tool.tool, other))
        with st.container(horizontal=True):
            for says, words, icon in (
                ("equal", "They do the same", ":material/equal:"),
                ("different", "They do not", ":material/close:"),
            ):
                st.button(words, key=f"catalog.findable.{says}", **only("tune"), icon=icon, on_click=_judge, args=(app, catalog.name, tool.tool, other, says))  # fmt: skip
            if st.button("Show on the map", key="catalog.findable.on_map", icon=":material/scatter_plot:"):
                open_page("map", catalog=catalog.name, tool=tool.tool)
            if st.button("Describe it in your own words", key="catalog.findable.word", icon=":material/edit_note:"):
                open_page("catalog", catalog=catalog.name, view="tools", tool=tool.tool)


def _judge(app: App, catalog: str, tool: str, other: str, says: Says) -> None:
    with state.errors_shown():
        app.equal_sets.judge(catalog, tool, other, says)
