"""Retrieval measures: by hand, against ir_measures, properties of every ranked list, and runs over a scripted router; ETOM's scores per level, with equal function sets, by hand."""

from __future__ import annotations

import math
from itertools import permutations
from types import SimpleNamespace

import pytest

from core.domain.catalog import Server
from core.domain.tasks import Step, Task
from core.domain.trace import DROPS, KEPT
from core.lab.benchmark import JUDGED, MEASURES, BenchmarkRun, measured, measured_run, percentile
from core.lab.execution import ABSENT, Routed, predicted_tools
from core.lab.levels import (
    exact_match,
    node_set_f1,
    node_set_match,
    rejection,
    run_levels,
    set_match,
)
from tests.cases import each
from tests.routers import worlds

RANKED = ["a", "b", "c", "d"]


def one(ranked, grades) -> dict[str, float]:
    """The measures of one task by our keys."""
    scores = measured([(ranked, grades)])
    return {key: float(scores[name][0]) for key, name in MEASURES.items()}


@each(
    ("grades", "rank", "hit_1", "hit_3", "recall_3", "precision_3", "ndcg_10"),
    [
        ({"a": 1.0}, 1.0, 1.0, 1.0, 1.0, 1 / 3, 1.0),
        ({"b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / 3, 1 / math.log2(3)),
        ({"d": 1.0}, 0.25, 0.0, 0.0, 0.0, 0.0, 1 / math.log2(5)),
        ({"x": 1.0}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({"a": 0.0, "b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / 3, 1 / math.log2(3)),
        ({"a": 1.0, "d": 1.0}, 1.0, 1.0, 1.0, 0.5, 1 / 3, (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))),
        # gains 3 and 1: the better tool is second
        ({"b": 2.0, "a": 1.0}, 1.0, 1.0, 1.0, 1.0, 2 / 3, (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))),
        # gains 2^0.5 - 1 and 1
        ({"a": 0.5, "b": 1.0}, 1.0, 1.0, 1.0, 1.0, 2 / 3, (0.414 + 1 / math.log2(3)) / (1 + 0.414 / math.log2(3))),
    ],
)
def test_by_hand(grades, rank, hit_1, hit_3, recall_3, precision_3, ndcg_10) -> None:
    scores = one(RANKED, grades)
    values = [scores[name] for name in ("mrr", "hit@1", "hit@3", "recall@3", "P@3", "ndcg@10")]
    assert values == pytest.approx([rank, hit_1, hit_3, recall_3, precision_3, ndcg_10], abs=1e-6)


def test_judged_is_the_share_that_somebody_judged_right_or_wrong() -> None:
    scores = measured([(RANKED, {"a": 1.0, "b": 0.0}), (RANKED, {}), ([], {"a": 1.0})])[JUDGED["judged@10"]]
    assert scores[:2].tolist() == [0.5, 0.0]
    assert math.isnan(scores[2])


IDS = ("s::a", "s::b", "s::c")


def answering(answers: dict[str, tuple[str, ...]], times_ms: dict[str, float] | None = None):
    """A route function: candidates and the time taken, by sub-task."""

    def route(task: Task):
        rows = tuple(IDS.index(tool) for tool in answers.get(task.subtask, ()))
        return SimpleNamespace(
            tools=SimpleNamespace(
                ids=IDS, similarity=(0.2, 0.9, 0.5), dropped=[KEPT if r in rows else r for r in range(len(IDS))]
            ),
            candidates=rows,
            steps=(),
            settlement="price",
            exposure=SimpleNamespace(exposed=7, cached=5),
            timings_ms={"total": (times_ms or {}).get(task.id, 1.0)},
        )

    return route


def run_benchmark(router: str, parameters, tasks, route) -> BenchmarkRun:
    """The measures of all tasks."""
    return measured_run(router, parameters, tasks, [Routed.of(task, route(task)) for task in tasks])


def possible(name: str, *relevant: str, **grades: float) -> Task:
    return Task(name, name, relevant=relevant or ("s::a",), grades={f"s::{tool}": g for tool, g in grades.items()})


def test_measures_are_means_and_a_task_without_result_counts_0() -> None:
    tasks = [possible("first"), possible("second"), possible("none"), possible("wrong")]
    route = answering({"first": ("s::a",), "second": ("s::b", "s::a"), "wrong": ("s::c",)})
    run = run_benchmark("fake", {"n": 3}, tasks, route)
    assert (run.router, run.parameters, run.n, run.rejection) == ("fake", {"n": 3}, 4, None)
    assert set(run.measures) == set(MEASURES)
    assert run.measures["mrr"] == pytest.approx((1 + 0.5) / 4)
    assert run.measures["hit@1"] == 0.25
    assert run.measures["hit@3"] == run.measures["recall@10"] == 0.5


def test_rejection_is_the_share_of_impossible_tasks_with_no_candidate_and_touches_no_measure() -> None:
    impossible = [Task(name, name) for name in ("refused", "also refused", "taken")]
    run = run_benchmark("fake", {}, [possible("first"), *impossible], answering({"first": IDS, "taken": IDS}))
    assert run.rejection == pytest.approx(2 / 3)
    assert run.measures["mrr"] == 1.0
    assert run.n == 4


def test_no_task_is_no_error() -> None:
    run = run_benchmark("fake", {}, [], answering({}))
    assert (run.n, run.rejection, run.latency_ms_p50, run.latency_ms_p95) == (0, None, 0.0, 0.0)
    assert set(run.measures.values()) == {0.0}


def test_the_json_entry_has_everything_flat() -> None:
    entry = run_benchmark("fake", {"k": 5}, [possible("first")], answering({"first": IDS})).to_json()
    own_keys = {
        "router",
        "parameters",
        "similarity",
        "n",
        "rejection",
        *JUDGED,
        "latency_ms_p50",
        "latency_ms_p95",
        "intervals",
        "tasks",
    }
    assert own_keys | set(MEASURES) == set(entry)
    assert (entry["mrr"], entry["similarity"]) == (1.0, "fit")
    assert run_benchmark("fake", {"similarity": "views"}, [], answering({})).to_json()["similarity"] == "views"
    assert entry["tasks"] == {"first": {"rank": 1, "right": ["s::a"], "candidates": list(IDS)}}


def test_what_nobody_judged_is_told_apart_from_what_is_wrong() -> None:
    task = Task("t", "t", relevant=("s::a",), grades={"s::b": 0.0})
    assert run_benchmark("fake", {}, [task], answering({"t": ("s::a", "s::b")})).judged["judged@10"] == 1.0
    assert run_benchmark("fake", {}, [task], answering({"t": ("s::a", "s::c")})).judged == {
        "judged@1": 1.0, "judged@3": 0.5, "judged@5": 0.5, "judged@10": 0.5,
    }  # fmt: skip
    assert run_benchmark("fake", {}, [task], answering({})).judged == dict.fromkeys(JUDGED)


@each(
    ("values", "percent", "expected"),
    [
        ([], 50, 0.0),
        ([7.0], 100, 7.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([float(n) for n in range(1, 101)], 95, 95.0),
    ],
)
def test_nearest_rank(values, percent, expected) -> None:
    assert percentile(values, percent) == expected


def test_a_task_that_failed_knows_the_stage_that_dropped_its_most_similar_right_tool() -> None:
    tasks = [
        possible("found", "s::a"), possible("lost", "s::a", "s::b", "s::c"), possible("gone", "t::x"), Task("none", "none")
    ]  # fmt: skip
    run = run_benchmark("fake", {}, tasks, answering({"found": ("s::c", "s::a"), "none": ("s::a",)}))
    assert [task.dropped_by for task in run.tasks] == [
        "",
        DROPS[1].value,
        ABSENT,
        "",
    ]  # of the three, s::b is most similar
    assert [sorted(task.to_json()) == sorted(("rank", "right", "candidates")) for task in run.tasks] == [
        True,
        False,
        False,
        True,
    ]


ALIKE = Task("t", "x", relevant=("a::own", "b::same", "c::same"))
PLAN = (Step("a::x", equal=("b::x",)), Step("a::y"), Step("c::z", needs=(0, 1), equal=("b::x",)))
CHAIN = Task("t", "x", plan=PLAN)


@each(
    ("predicted", "direct", "alike"),
    [
        (["a::own"], 1, 1),
        (["b::same"], 0, 1),
        (["d::other"], 0, 0),
        ([], 0, 0),
        (["a::own", "b::same"], 0, 0),  # one request: two calls are over-decomposed
    ],
)
def test_level_1_wants_the_tool_itself_and_level_2_one_of_its_equals(predicted, direct, alike) -> None:
    assert (exact_match(predicted, ALIKE), set_match(predicted, ALIKE)) == (direct, alike)


@each(
    ("predicted", "em", "f1"),
    [
        (["a::x", "a::y", "c::z"], 1, 1),
        (["b::x", "a::y", "c::z"], 1, 1),
        (["a::x", "a::y", "b::x"], 1, 1),  # b::x replaces c::z here, and not a::x, which was predicted
        (["b::x", "a::y"], 0, 2 * 2 / 5),  # it replaces one step only
        (["a::x", "a::y", "c::z", "d::w"], 0, 2 * 3 / 7),
        (["d::w"], 0, 0),
        ([], 0, 0),
    ],
)
def test_levels_3_and_4_match_nodes_one_to_one(predicted, em, f1) -> None:
    for order in permutations(predicted):
        assert node_set_match(order, CHAIN) == em
        assert node_set_f1(order, CHAIN) == pytest.approx(f1)


def test_a_tool_that_two_steps_call_is_one_node() -> None:
    task = Task("t", "x", plan=(Step("a::x"), Step("a::x", needs=(0,)), Step("a::y")))
    assert node_set_match(["a::y", "a::x"], task) == 1


def test_level_5_wants_no_tool_at_all() -> None:
    assert (rejection([], Task("t", "x")), rejection(["a::x"], Task("t", "x"))) == (1, 0)


@pytest.fixture
def context():
    """Tools by how well they fit: x, y, z."""
    catalog = worlds.catalog(Server("a", tools=tuple(worlds.tool(name) for name in "xyz")))
    return worlds.context(catalog, {"a": 0.9}, {"a::x": 0.9, "a::y": 0.8, "a::z": 0.1})


def test_of_a_plan_it_would_call_the_first_of_each_step(context, routed) -> None:
    assert predicted_tools(routed(context, steps=((2, 0), (1,), (), (2,)))) == ("a::z", "a::y")


def test_tasks_are_grouped_by_level_and_the_question_is_asked(context, routed) -> None:
    tasks = [
        Task("1", "short", relevant=("a::x",), level="L1", question="long"),
        Task("2", "short", relevant=("a::y",), level="L1"),
        Task("3", "impossible", level="L5"),
        Task("4", "ignored", relevant=("a::x",), level="simple"),
    ]
    texts: list[str] = []

    def route(text):
        texts.append(text)
        return routed(context)

    runs = run_levels("toy", tasks, route)
    assert texts == ["long", "short", "impossible"]
    assert [(run.router, run.level, run.n, dict(run.scores)) for run in runs] == [
        ("toy", "L1", 2, {"em": 0.5}),
        ("toy", "L5", 1, {"em": 0.0}),
    ]
    assert run_levels("toy", (), route) == ()
