"""ETOM's scores per level, with equal function sets, against values computed by hand."""

from itertools import permutations

import pytest

from core.domain.catalog import Server
from core.domain.tasks import Step, Task
from core.lab.execution import predicted_tools
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
        (["a::own", "b::same"], 0, 0),  # one thing is asked for: two calls are over-decomposed
    ],
)
def test_level_1_wants_the_tool_itself_and_level_2_one_of_its_equals(predicted, direct, alike) -> None:
    assert (exact_match(predicted, ALIKE), set_match(predicted, ALIKE)) == (direct, alike)


@each(
    ("predicted", "em", "f1"),
    [
        (["a::x", "a::y", "c::z"], 1, 1),
        (["b::x", "a::y", "c::z"], 1, 1),
        (["a::x", "a::y", "b::x"], 1, 1),  # b::x stands for c::z here, and not for a::x, which is there itself
        (["b::x", "a::y"], 0, 2 * 2 / 5),  # it stands for one step only
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
    asked: list[str] = []

    def route(text):
        asked.append(text)
        return routed(context)

    runs = run_levels("toy", tasks, route)
    assert asked == ["long", "short", "impossible"]
    assert [(run.router, run.level, run.n, dict(run.scores)) for run in runs] == [
        ("toy", "L1", 2, {"em": 0.5}),
        ("toy", "L5", 1, {"em": 0.0}),
    ]
    assert run_levels("toy", (), route) == ()
