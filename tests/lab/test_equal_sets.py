"""Equal function sets: proposed, judged, joined, used by ETOM's measures, and taken along as a file."""

from __future__ import annotations

import json

import pytest

from core.app import App
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.tasks import Step, Task
from core.lab.equal_sets import proposed
from core.lab.lab_runs import Experiment
from tests.cases import each

READ = "Read the text of a file."
EQUAL = [("a::read", "b::read"), ("b::read", "c::read")]


@pytest.fixture
def app(app: App) -> App:
    """Three servers with equal `read` tools, and a different tool."""
    servers = [
        Server(
            name,
            "",
            tools=(Tool(name, "read", READ), *((Tool(name, "send", "Post letters abroad."),) if name == "c" else ())),
        )
        for name in ("a", "b", "c")
    ]
    app.catalogs.save(Catalog("twins", tuple(servers)), "test")
    return app


def test_near_tools_are_proposed_once_and_far_ones_are_not(app: App) -> None:
    equal_sets = app.equal_sets.of_catalog("twins")
    assert sorted((pair.one, pair.other) for pair in equal_sets.proposals) == [
        ("a::read", "b::read"), ("a::read", "c::read"), ("b::read", "c::read"),
    ]  # fmt: skip
    assert all(0.7 < pair.cosine <= 1.0 for pair in equal_sets.proposals)
    assert (equal_sets.judged, equal_sets.sets) == (0, ())


def test_pairs_join_and_what_follows_needs_no_click(app: App) -> None:
    for tool, twin in EQUAL:
        app.equal_sets.judge("twins", twin, tool, "equal")
    equal_sets = app.equal_sets.of_catalog("twins")
    assert equal_sets.sets == (("a::read", "b::read", "c::read"),)
    assert (equal_sets.judged, [pair.other for pair in equal_sets.proposals if pair.follows]) == (3, ["c::read"])
    app.equal_sets.judge("twins", "a::read", "c::read", "different")
    assert app.equal_sets.of_catalog("twins").contradictions == (("a::read", "c::read"),)
    app.equal_sets.judge("twins", "b::read", "c::read", None)
    equal_sets = app.equal_sets.of_catalog("twins")
    assert (equal_sets.sets, equal_sets.contradictions) == ((("a::read", "b::read"),), ())
    with pytest.raises(UnknownNameError, match="z::read"):
        app.equal_sets.judge("twins", "a::read", "z::read", "equal")


def test_etoms_measures_count_what_is_equal_as_right(app: App) -> None:
    parameters = app.routing.parameters("rag_mcp")
    decision = app.routing.route("read a file", catalog="twins", router="rag_mcp", parameters=parameters, record=False)
    winner = decision.tools.ids[decision.candidates[0]]
    twin = next(tool for pair in EQUAL for tool in pair if tool != winner)
    tasks = (
        Task("l1", "read a file", relevant=(twin,), level="L1"),
        Task("l2", "read a file", relevant=(twin,), level="L2"),
        Task("l3", "read a file", relevant=(twin,), level="L3", plan=(Step(twin),)),
    )

    def scores() -> dict[str, float]:
        runs = app.lab.levels(tasks, catalog="twins", router="rag_mcp", parameters=parameters)
        return {run.level: run.scores["em"] for run in runs}

    assert scores() == {"L1": 0.0, "L2": 0.0, "L3": 0.0}
    for pair in EQUAL:
        app.equal_sets.judge("twins", *pair, "equal")
    assert scores() == {"L1": 0.0, "L2": 1.0, "L3": 1.0}


def test_a_task_that_was_measured_without_a_hint_is_not_routed_again_for_its_level(app: App) -> None:
    tasks = (
        Task("same", "read a file", relevant=("a::read",), level="L2"),
        Task("other", "read a file", relevant=("c::send",), level="L1", question="post a letter abroad"),
        Task("hint", "post letters abroad", "c", relevant=("c::send",), level="L1"),
    )
    setting = {"catalog": "twins", "router": "rag_mcp", "parameters": app.routing.parameters("rag_mcp")}
    measured = app.measuring.measure(Experiment(tasks, source="t", **setting), resumable=False)
    steps: list[int] = []
    levels = app.lab.levels(tasks, known=measured.asked, progress=steps.append, **setting)
    assert steps == [1, 2]
    assert [(run.level, run.scores) for run in levels] == [
        (run.level, run.scores) for run in app.lab.levels(tasks, **setting)
    ]


def test_a_file_takes_them_to_another_catalog(app: App) -> None:
    app.equal_sets.judge("twins", *EQUAL[0], "equal")
    app.equal_sets.judge("twins", *EQUAL[1], "unsure")
    text = app.equal_sets.export("twins")
    for pair in EQUAL:
        app.equal_sets.judge("twins", *pair, None)
    imported = app.equal_sets.import_file(text.encode(), source="x.json", catalog="twins")
    assert ((imported.taken, imported.unknown), app.equal_sets.sets("twins")) == ((2, 0), (("a::read", "b::read"),))
    assert app.equal_sets.export("twins").partition('"pairs"')[0] == text.partition('"pairs"')[0]
    sets = json.dumps({"sets": [["gone::read", "a::read", "b::read", "c::read"]]})
    imported = app.equal_sets.import_file(sets.encode(), source="x.json", catalog="twins")
    assert ((imported.taken, imported.unknown), app.equal_sets.sets("twins")) == (
        (2, 1),
        (("a::read", "b::read", "c::read"),),
    )


@each(
    "text",
    ["{", "[]", "{}", '{"sets": [3]}', '{"pairs": [{"tools": ["a::read", "b::read"], "says": "maybe"}]}', '{"pairs": [{"tools": ["a"], "says": "equal"}]}'],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_whole(app: App, text: str) -> None:
    with pytest.raises(CatalogError, match=r"x\.json: .*Export wrote"):
        app.equal_sets.import_file(text.encode(), source="x.json", catalog="twins")
    assert app.equal_sets.sets("twins") == ()


def test_the_nearest_pairs_are_proposed_and_the_others_are_counted(app: App) -> None:
    catalog, vectors = app.catalogs.own("twins")
    (pairs, omitted), (nearest, left_out) = proposed(catalog.tools, vectors), proposed(catalog.tools, vectors, most=2)
    assert (len(pairs), omitted) == (3, 0)
    assert (left_out, app.equal_sets.of_catalog("twins").left_out) == (1, 0)
    assert set(nearest) < set(pairs)
