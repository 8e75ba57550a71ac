"""Estimates over many requests, and fits to many labels, take a sample drawn by chance, and say so."""

from __future__ import annotations

import json

import numpy as np

from core.app import App
from core.domain.feedback import LabelledQuery
from core.lab.findable import drawn_tools, findable, first_place, same_tools
from core.relevance.calibration import LEAST_LABELS, sampled
from core.relevance.requests import Given
from tests.importing import import_text


def given(tools: int, each: int) -> Given:
    owners = np.repeat(np.arange(tools), each)
    return Given([""] * len(owners), np.zeros((len(owners), 2), np.float32), owners, np.ones(len(owners), np.bool_))


def test_whole_tools_are_drawn_and_the_same_ones_each_time() -> None:
    many = given(300, 12)
    drawn = drawn_tools(many, 300, whole=1_000, drawn=600)
    assert drawn == sorted({*drawn}) == drawn_tools(many, 300, whole=1_000, drawn=600)
    assert (len(drawn), drawn_tools(many, 300)) == (50, list(range(300)))
    assert drawn[-1] > 200  # not the beginning of the catalog
    assert len(drawn_tools(many, 100_000)) == 166  # each request is compared with every tool


def test_an_estimate_of_a_sample_says_what_was_drawn(app: App) -> None:
    tools = [{"name": f"t{n}", "description": f"Does {n}.", "requests": [f"do {n}", f"{n} please"]} for n in range(6)]
    import_text(app.catalog_editor, json.dumps({"servers": [{"name": "s", "tools": tools}]}), "asked")
    whole = app.findable.estimate("asked")
    assert (whole.asked, whole.requests, whole.sampled) == (12, 12, "")
    catalog, index = app.catalogs.catalog("asked"), app.catalogs.scorer("asked").index
    known = app.findable.learnt.requests.given(catalog)
    assert known is not None
    rows = drawn_tools(known, 6, whole=4, drawn=6)
    some = findable(catalog, index, known, same_tools(catalog, index, (), rows))
    assert {one.tool for one in some.tools} == {catalog.tools[row].id for row in rows}
    assert {*some.tools} <= {*whole.tools}  # each is ranked as without a sample
    assert some.sampled.startswith("6 of 12 requests were ranked, all of each of 3 tools")
    assert some.without == 0


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
    few = sampled(queries, {"a::x": 0}, cells=40)
    assert len(few) == 41
    assert few == sampled(queries, {"a::x": 0}, cells=40)
    assert few[-1] is queries[-1]  # is counted and left out by the fit
    groups = [one.group for one in few[:-1]]
    assert all(groups.count(group) == 4 for group in groups)
    assert len(sampled(queries, {"a::x": 0}, cells=1)) == LEAST_LABELS + 1
