"""The testbeds of Tool Attention and NetMCP: what the papers say of them, and tasks whose labels exist."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from core.domain.catalog import Server, definition_tokens
from core.domain.json_schema import schema_fault
from core.domain.tasks import Task
from core.importers import read_tasks
from core.importers.shipped_catalogs import shipped
from core.planning.rules import predict_tool
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import full, profile
from sample_catalog.authoring import build
from sample_catalog.authoring import testbeds as written
from sample_catalog.authoring.check import EqualSets, servers, task_problems
from sample_catalog.testbeds import (
    ATTENTION_DIR,
    ATTENTION_TASKS,
    CURATED,
    SEARCH_DIR,
    SEARCH_TASKS,
)
from tests.cases import each

ATTENTION, SEARCH = shipped("attention-120"), shipped("search-15")
TABLE = {  # Tool Attention, section 6.2: number of tools and average tokens
    "github": (30, 520),
    "filesystem": (10, 180),
    "database": (20, 410),
    "slack": (15, 290),
    "web": (10, 220),
    "jira": (35, 470),
}
SIZES = {tool.id: definition_tokens(tool) for tool in ATTENTION.tools}
SEARCHERS = [server for server in SEARCH.servers if server.category == "search"]
TASKS = {
    path.stem: (catalog, read_tasks(path.read_bytes(), source=path.name))
    for catalog, path in ((ATTENTION, ATTENTION_TASKS), (SEARCH, SEARCH_TASKS))
}


@each("name", TABLE)
def test_a_server_has_the_tables_number_and_size_of_tools(name: str) -> None:
    count, average_tokens = TABLE[name]
    sizes = [SIZES[tool.id] for tool in ATTENTION.servers[ATTENTION.server_row[name]].tools]
    assert len(sizes) == count
    assert fmean(sizes) == pytest.approx(average_tokens, rel=0.01)
    assert min(sizes) >= written.SMALLEST * average_tokens
    assert max(sizes) > 1.2 * average_tokens


def test_all_of_it_is_as_large_as_the_table_says() -> None:
    assert set(ATTENTION.server_row) == set(TABLE)
    assert sum(SIZES.values()) == pytest.approx(48_600, rel=0.01)
    # counted on the paper's own catalog: 47,312 tokens, which is less than its table says
    assert sum(SIZES.values()) == pytest.approx(47_312, rel=0.03)


def test_thirty_tools_are_curated_and_cost_about_what_the_paper_counted() -> None:
    assert len(set(CURATED)) == len(CURATED) == 30
    assert servers(CURATED) == set(TABLE)
    assert sum(SIZES[tool] for tool in CURATED) == pytest.approx(11_865, rel=0.05)


def test_the_same_sheets_give_the_same_files() -> None:
    assert build.drift(build.texts(written.attention_120()), ATTENTION_DIR) == []
    assert build.drift(build.texts(written.search_15()), SEARCH_DIR) == []


def test_a_sheet_that_is_too_small_or_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = written.read_sheet("web")
    monkeypatch.setattr(written, "read_sheet", lambda name: {**sheet, "count": 9})
    with pytest.raises(ValueError, match="web has 10 tools and should have 9"):
        written.attention_120()
    monkeypatch.setattr(written, "read_sheet", lambda name: {**sheet, "average_tokens": 60})
    with pytest.raises(ValueError, match="no optional parameter left"):
        written.attention_120()


def test_a_tool_is_complete() -> None:
    for tool in (*ATTENTION.tools, *(tool for server in SEARCHERS for tool in server.tools)):
        schema = tool.input_schema or {}
        assert schema_fault(schema) == schema_fault(tool.output_schema or {}) == ""
        assert set(schema.get("required", ())) <= set(schema["properties"])
        assert all(len(parameter["description"]) > 5 for parameter in schema["properties"].values())
        assert None not in (tool.price_usd, tool.latency_s, tool.success, tool.hints.read_only, tool.hints.destructive)
        assert (tool.tier == "high") == (tool.price_usd > 0.0025), tool.id


def test_the_five_have_one_backend() -> None:
    def backend(server: Server) -> object:
        tools = [
            (t.input_schema, t.output_schema, t.hints, t.price_usd, t.latency_s, t.success, t.tier, t.tier_reason)
            for t in server.tools
        ]
        economics = (server.ask_usd, server.conn_s, server.call_s, server.success, server.success_variance)
        return tools, economics, server.post_accept_failure

    assert all(backend(server) == backend(SEARCHERS[0]) for server in SEARCHERS)


def test_words_find_most_of_the_five_for_nearly_every_predicted_text() -> None:
    """They are one text, rephrased: five of the five servers kept, and a tool of each among the ten (NetMCP (1) to (4))."""
    servers = LexicalIndex([profile(server) for server in SEARCH.servers])
    tools = LexicalIndex([full(tool) for tool in SEARCH.tools])
    server_rows = np.array([SEARCH.server_row[tool.server] for tool in SEARCH.tools])
    five = [SEARCH.server_row[server.name] for server in SEARCHERS]
    counts: list[int] = []
    for task in TASKS["search-15.tasks"][1]:
        text = predict_tool(task.subtask)
        shortlist = np.argsort(-servers.scores(text), kind="stable")[:5]
        scores = np.where(np.isin(server_rows, shortlist), tools.scores(text), -1)
        counts.append(len(set(server_rows[np.argsort(-scores, kind="stable")[:10]].tolist()) & set(five)))
    assert np.mean(np.array(counts) >= 3) > 0.9
    assert np.mean(np.array(counts) == 5) > 0.6


@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_right(name: str) -> None:
    catalog, tasks = TASKS[name]
    assert len({task.id for task in tasks}) == len(tasks)
    assert len({task.question.casefold() for task in tasks}) == len({task.subtask.casefold() for task in tasks})
    assert len({task.question.casefold() for task in tasks}) == len(tasks)
    none = EqualSets((), ())
    assert [(task.id, fault) for task in tasks for fault in task_problems(task, catalog, none)] == []


def test_tasks_on_the_120_tools_are_of_the_papers_three_kinds_and_some_are_impossible() -> None:
    _, tasks = TASKS["attention-120.tasks"]
    assert len(tasks) >= 40
    assert {task.level for task in tasks} == {"single-step", "multi-step", "long-horizon", "out-of-scope"}
    assert sum(not task.relevant for task in tasks) >= 5
    assert servers(tool for task in tasks for tool in task.relevant) == set(TABLE)
    assert any(set(task.relevant) <= set(CURATED) for task in tasks if task.relevant)
    assert any(set(task.relevant) - set(CURATED) for task in tasks)
    assert all(_ends_last(task) for task in tasks if task.plan)


def _ends_last(task: Task) -> bool:
    """Steps come after the steps whose results they need."""
    return all(need < place for place, step in enumerate(task.plan) for need in step.needs)


def test_140_tasks_are_for_the_five_search_servers_alike() -> None:
    _, tasks = TASKS["search-15.tasks"]
    assert len(tasks) >= 140
    assert all(servers(task.relevant) == {server.name for server in SEARCHERS} for task in tasks)
    assert len({task.category for task in tasks}) >= 10
