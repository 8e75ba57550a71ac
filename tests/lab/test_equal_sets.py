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
    """Three servers whose `read` says the same, and a tool that says another thing."""
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
    known = app.equal_sets.of_catalog("twins")
    assert sorted((one.one, one.other) for one in known.proposals) == [
        ("a::read", "b::read"), ("a::read", "c::read"), ("b::read", "c::read"),
    ]  # fmt: skip
    assert all(0.7 < one.cosine <= 1.0 for one in known.proposals)
    assert (known.judged, known.sets) == (0, ())


def test_pairs_join_and_what_follows_needs_no_click(app: App) -> None:
    for one, other in EQUAL:
        app.equal_sets.judge("twins", other, one, "equal")
    known = app.equal_sets.of_catalog("twins")
    assert known.sets == (("a::read", "b::read", "c::read"),)
    assert (known.judged, [one.other for one in known.proposals if one.follows]) == (3, ["c::read"])
    app.equal_sets.judge("twins", "a::read", "c::read", "different")
    assert app.equal_sets.of_catalog("twins").contradictions == (("a::read", "c::read"),)
    app.equal_sets.judge("twins", "b::read", "c::read", None)
    known = app.equal_sets.of_catalog("twins")
    assert (known.sets, known.contradictions) == ((("a::read", "b::read"),), ())
    with pytest.raises(UnknownNameError, match="z::read"):
        app.equal_sets.judge("twins", "a::read", "z::read", "equal")


def test_etoms_measures_count_what_is_equal_as_right(app: App) -> None:
    parameters = app.routing.parameters("rag_mcp")
    decision = app.routing.route("read a file", catalog="twins", router="rag_mcp", parameters=parameters, record=False)
    first = decision.tools.ids[decision.candidates[0]]
    other = next(tool for pair in EQUAL for tool in pair if tool != first)
    tasks = (
        Task("l1", "read a file", relevant=(other,), level="L1"),
        Task("l2", "read a file", relevant=(other,), level="L2"),
        Task("l3", "read a file", relevant=(other,), level="L3", plan=(Step(other),)),
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
    asked = {"catalog": "twins", "router": "rag_mcp", "parameters": app.routing.parameters("rag_mcp")}
    made = app.measuring.measure(Experiment(tasks, source="t", **asked), resumable=False)
    told: list[int] = []
    found = app.lab.levels(tasks, known=made.asked, progress=told.append, **asked)
    assert told == [1, 2]
    assert [(one.level, one.scores) for one in found] == [
        (one.level, one.scores) for one in app.lab.levels(tasks, **asked)
    ]


def test_a_file_takes_them_to_another_catalog(app: App) -> None:
    app.equal_sets.judge("twins", *EQUAL[0], "equal")
    app.equal_sets.judge("twins", *EQUAL[1], "unsure")
    text = app.equal_sets.export("twins")
    for pair in EQUAL:
        app.equal_sets.judge("twins", *pair, None)
    found = app.equal_sets.import_file(text.encode(), source="x.json", catalog="twins")
    assert ((found.taken, found.unknown), app.equal_sets.sets("twins")) == ((2, 0), (("a::read", "b::read"),))
    assert app.equal_sets.export("twins").partition('"pairs"')[0] == text.partition('"pairs"')[0]
    sets = json.dumps({"sets": [["a::read", "b::read", "c::read"], ["a::read", "gone::read"]]})
    found = app.equal_sets.import_file(sets.encode(), source="x.json", catalog="twins")
    assert ((found.taken, found.unknown), app.equal_sets.sets("twins")) == (
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
    catalog, own = app.catalogs.own("twins")
    (whole, none), (some, left_out) = proposed(catalog.tools, own), proposed(catalog.tools, own, most=2)
    assert (len(whole), none) == (3, 0)
    assert (left_out, app.equal_sets.of_catalog("twins").left_out) == (1, 0)
    assert set(some) < set(whole)
