"""Pages on a catalog with more tools than a browser is sent: pages of a table, and a choice that searches."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core.app import App
from core.catalogs.maps import MAP_METHOD
from core.domain.catalog import Catalog, Server, Tool
from core.domain.tool_table import ToolRows
from core.relevance.encoder import EncoderSource
from dashboard.pages.catalog.requests import MOST_TOOLS
from dashboard.pages.map.density import MOST_POINTS
from dashboard.ui.long_work import AT_ONCE
from dashboard.ui.table import FOUND, MOST_SENT, PLAIN
from tests.dashboard.harness import TIMEOUT_S, app_with, charts, open_page, text_of
from tests.relevance.toy_encoders import WordEncoder

LINT_JOB = "catalog:lint.large "
SERVERS, EACH = PLAIN + 200, 2
TOOLS = SERVERS * EACH
CATALOG = {
    "servers": [
        {
            "name": f"server-{number:04}",
            "description": "Keeps things.",
            "tools": [
                {"name": f"get_{number}", "description": "Gets a thing.", "price_usd": (SERVERS - number) / 1e4},
                {"name": "put", "description": "Puts a thing."},
            ],
        }
        for number in range(SERVERS)
    ]
}

LARGE = {"servers": [{"name": f"s{n}", "tools": [{"name": f"tool_{m}"} for m in range(AT_ONCE // 50 + 1)]} for n in range(50)]}  # fmt: skip


def typed(box: Selectbox, words: str) -> AppTest:
    """Enter words that are no option, which AppTest alone refuses."""
    box.options.append(words)
    return box.set_value(words).run()


def choice(page: AppTest) -> Selectbox:
    """The choice of a tool to call."""
    return next(box for box in page.selectbox if box.label == "Tool")


app = app_with(
    {"many": CATALOG, "large": LARGE}, scope="module", encoder=lambda: EncoderSource.of(WordEncoder())
)  # similar letters make all pairs near


def test_a_table_sends_a_page_and_sorts_all_rows(app: App) -> None:
    page = open_page("catalog", catalog="many", view="tools")
    assert len(page.dataframe[0].value) == MOST_SENT
    assert f"Rows 1 to {MOST_SENT:,} of {TOOLS:,}" in text_of(page)
    page.number_input[0].set_value(3).run()
    assert page.dataframe[0].value["server"].iloc[-1] == f"server-{SERVERS - 1:04}"
    assert len(page.dataframe[0].value) == TOOLS - 2 * MOST_SENT
    page = open_page("catalog", catalog="many", view="tools", q="get_")
    page.selectbox(key="catalog.tools.many.order").set_value("price, lowest first").run()
    assert page.dataframe[0].value["tool"].iloc[0] == f"get_{SERVERS - 1}"
    assert not page.exception


def test_a_search_and_a_link_reach_every_row(app: App) -> None:
    page = open_page("catalog", catalog="many", view="tools", q=f"get_{SERVERS - 1}")
    assert list(page.dataframe[0].value["tool"]) == [f"get_{SERVERS - 1}"]
    linked = open_page("catalog", catalog="many", view="servers", server=f"server-{SERVERS - 1:04}")
    assert f"##### server-{SERVERS - 1:04}" in text_of(linked)
    assert linked.dataframe[0].value["server"].iloc[-1] == f"server-{SERVERS - 1:04}"


def test_a_choice_searches_and_sends_few_names(app: App) -> None:
    page = open_page("call", catalog="many")
    assert len(choice(page).options) == FOUND
    typed(choice(page), "get_11")  # get_11, get_110 to get_119, get_1100 to get_1199
    assert (choice(page).value, len(choice(page).options)) == (None, FOUND)
    assert all("get_11" in name for name in choice(page).options)
    assert f"{FOUND} or more of {TOOLS:,} names have" in text_of(page)
    typed(choice(page), f"get_{SERVERS - 1}")  # words that one name has choose it
    assert choice(page).value == f"server-{SERVERS - 1:04}::get_{SERVERS - 1}"
    assert f"#### get_{SERVERS - 1}" in text_of(page)
    assert not page.exception


def test_the_filter_by_server_searches_too(app: App) -> None:
    page = open_page("catalog", catalog="many", view="tools")
    box = page.selectbox(key="catalog.server")
    assert len(box.options) <= FOUND + 1
    typed(box, "server-0777")
    assert list(page.dataframe[0].value["server"]) == ["server-0777"] * EACH
    typed(page.selectbox(key="catalog.server"), "no such server")
    assert "None of 1,200 names have “no such server”" in text_of(page)
    assert len(page.dataframe[0].value) == MOST_SENT


def test_findable_names_the_tools_without_requests_and_opens_no_schema(app: App) -> None:
    app.catalogs.prepare("many")
    tools = app.catalogs.catalog("many").tools
    assert isinstance(tools, ToolRows)
    earlier = tools.table._opened.cache_info()
    page = open_page("catalog", catalog="many", view="findable")
    assert f"{TOOLS:,} tools without requests" in next(expander.label for expander in page.expander)
    prompted = tools.table._opened.cache_info()
    assert prompted.misses - earlier.misses <= MOST_TOOLS  # those in the prompt


def test_lint_of_a_large_catalog_is_a_job_that_can_be_stopped(app: App) -> None:
    page = open_page("catalog", catalog="large", view="lint")
    job = app.background.of(LINT_JOB, "Lint of large")
    assert job in app.background.listed()  # Activity lists it
    while (
        job := app.background.under_way(LINT_JOB)
    ) is not None:  # the first is without vectors, which the page makes then
        assert job.wait(TIMEOUT_S)
        page = open_page("catalog", catalog="large", view="lint")
    assert f"Rows 1 to {MOST_SENT:,} of" in text_of(page)
    assert len(page.dataframe[0].value) == MOST_SENT
    assert not page.exception


def test_pairs_of_equal_tools_of_a_large_catalog_are_found_by_a_job(app: App) -> None:
    page = open_page("catalog", catalog="large", view="equal")
    job = app.background.of("catalog:equal.large ", "Pairs of equal tools of large")
    assert job is not None
    assert job.wait(TIMEOUT_S)
    assert (job.done, job.of) == (len(app.catalogs.catalog("large").tools),) * 2
    page = open_page("catalog", catalog="large", view="equal")
    assert "further ones have a cosine above 0.7, too" in text_of(page)
    assert not page.exception


def test_the_map_draws_what_the_browser_has_in_sight(app: App) -> None:
    def traces(page: AppTest, kind: str) -> list[Any]:
        (figure,) = charts(page)
        return [
            trace for trace in figure["data"] if trace["type"] == kind and (kind == "heatmap" or "customdata" in trace)
        ]

    meanings = app.catalogs.scorer("large").index.own[:]
    layout = np.random.default_rng(0).random((len(meanings), 2)).astype(np.float32)  # stored, so that none is computed
    content = hashlib.sha256(meanings.tobytes()).hexdigest()[:32]
    app.store.vectors.save_vectors(MAP_METHOD, {content: layout.reshape(-1)})
    whole = open_page("map", catalog="large")
    assert len(traces(whole, "heatmap")) == 1
    assert [len(trace["x"]) for trace in traces(whole, "scatter")] == [0]
    assert "Zoom in" in text_of(whole)
    assert "Arranged are 2,000 tools, drawn by chance" in text_of(whole)
    xy = app.maps.map("large").xy
    left, low = (float(end) - 0.05 for end in xy[17])
    near = open_page("map", catalog="large", remembered={"map:view": ("large", [left, left + 0.1, low, low + 0.1])})
    (points,) = traces(near, "scatter")
    assert app.maps.map("large").ids[17] in points["customdata"]
    assert 0 < len(points["x"]) < MOST_POINTS
    other = open_page("map", catalog="large", remembered={"map:view": ("many", [left, left + 0.1, low, low + 0.1])})
    assert "Zoom in" in text_of(other)  # the stored view is of another catalog


def test_compare_begins_without_the_routers_that_read_every_definition_first(app: App) -> None:
    assert len(app.catalogs.catalog("many").tools) < AT_ONCE
    page = open_page("compare", catalog="many")
    assert {"tool_attention", "pa_rag"} <= set(page.multiselect(key="compare.with").value)
    app.catalogs.save(Catalog("more", large_servers(AT_ONCE + 1)), "made up")
    page = open_page("compare", catalog="more")
    assert page.multiselect(key="compare.with").value == ["ehrr", "expected_value", "rag_mcp"]


def large_servers(tools: int) -> tuple[Server, ...]:
    """One server with so many tools."""
    return (Server("one", tools=tuple(Tool("one", f"do_{number}") for number in range(tools))),)
