"""Estimates over many requests and fits to many labels take a sample, and say so; requests of a small catalog refuse only missing abilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import sample_catalog
from core.app import App, Settings, open_app
from core.domain.catalog import Catalog
from core.domain.feedback import LabelledQuery
from core.lab.findable import drawn_tools, findable, first_place, same_tools
from core.relevance.calibration import LEAST_LABELS, sampled
from core.relevance.requests import Given
from tests.importing import import_text


def given(tools: int, each: int) -> Given:
    owners = np.repeat(np.arange(tools), each)
    return Given([""] * len(owners), np.zeros((len(owners), 2), np.float32), owners, np.ones(len(owners), np.bool_))


def test_whole_tools_are_drawn_and_the_same_ones_each_time() -> None:
    requests = given(300, 12)
    rows = drawn_tools(requests, 300, whole=1_000, drawn=600)
    assert rows == sorted({*rows}) == drawn_tools(requests, 300, whole=1_000, drawn=600)
    assert (len(rows), drawn_tools(requests, 300)) == (50, list(range(300)))
    assert rows[-1] > 200  # not the beginning of the catalog
    assert len(drawn_tools(requests, 100_000)) == 166  # each request is compared with every tool


def test_an_estimate_of_a_sample_says_what_was_drawn(app: App) -> None:
    tools = [{"name": f"t{n}", "description": f"Does {n}.", "requests": [f"do {n}", f"{n} please"]} for n in range(6)]
    import_text(app.catalog_editor, json.dumps({"servers": [{"name": "s", "tools": tools}]}), "asked")
    estimate = app.findable.estimate("asked")
    assert (estimate.asked, estimate.requests, estimate.sampled) == (12, 12, "")
    catalog, index = app.catalogs.catalog("asked"), app.catalogs.scorer("asked").index
    requests = app.findable.learnt.requests.given(catalog)
    assert requests is not None
    rows = drawn_tools(requests, 6, whole=4, drawn=6)
    sample = findable(catalog, index, requests, same_tools(catalog, index, (), rows))
    assert {entry.tool for entry in sample.tools} == {catalog.tools[row].id for row in rows}
    assert {*sample.tools} <= {*estimate.tools}  # each is ranked as without a sample
    assert sample.sampled.startswith("6 of 12 requests were ranked, all of each of 3 tools")
    assert sample.without == 0


def test_the_place_of_the_first_is_that_of_a_sort() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        scores, rows = rng.integers(0, 5, 20).astype(float), {*rng.integers(0, 20, 3).tolist()}
        order = np.argsort(-scores, kind="stable").tolist()
        assert first_place(scores, rows) == min(order.index(row) for row in rows)


def test_labels_are_drawn_by_whole_questions() -> None:
    queries = [LabelledQuery(f"part {n}", "", ("a::x",), (), f"question {n // 4}") for n in range(200)]
    queries.append(LabelledQuery("of another catalog", "", ("b::y",), (), ""))
    assert sampled(queries, {"a::x": 0}) == queries
    subset = sampled(queries, {"a::x": 0}, cells=40)
    assert len(subset) == 41
    assert subset == sampled(queries, {"a::x": 0}, cells=40)
    assert subset[-1] is queries[-1]  # is counted and left out by the fit
    groups = [query.group for query in subset[:-1]]
    assert all(groups.count(group) == 4 for group in groups)
    assert len(sampled(queries, {"a::x": 0}, cells=1)) == LEAST_LABELS + 1


CATALOGS = (
    ("calendar-desk", "mail-room"), ("larder", "sheet-grid", "pdf-tools"), ("weather-now", "street-maps", "flight-search"),
)  # fmt: skip
REQUESTS = slice(4, 7)  # of each tool: three of those in people's words
EVERY = 80  # of the questions for other servers


def share(refusals: Sequence[bool]) -> float:
    return sum(refusals) / len(refusals)


def test_requests_of_a_small_catalog_refuse_what_it_lacks_and_nothing_else(encoder_cache: Path) -> None:
    answerable, impossible = list[bool](), list[bool]()
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        sample = app.catalogs.catalog("sample")
        tasks = [
            task
            for name in ("everyday", "l2_context")
            for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / f"{name}.jsonl")
        ]
        for number, names in enumerate(CATALOGS):
            servers = [
                replace(server, tools=tuple(replace(tool, requests=tool.requests[REQUESTS]) for tool in server.tools))
                for server in sample.servers
                if server.name in names
            ]
            app.catalogs.save(Catalog(f"own-{number}", tuple(servers)), "test")
            tool_ids = {tool.id for server in servers for tool in server.tools}
            for place, task in enumerate(tasks):
                right = tool_ids.intersection(task.relevant)
                if right or place % EVERY == 5 * number:
                    fit = app.routing.route(task.question or task.subtask, catalog=f"own-{number}", record=False).fit
                    assert fit is not None
                    (answerable if right else impossible).append(fit.confidence == "nothing")
    assert len(answerable) >= 40
    assert share(answerable) <= 0.08  # a fifth before small catalogs had an offset of their own
    assert share(impossible) >= 0.65
