"""Algorithm 1 played out: a try's costs and results, and invalid calls."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.cli.lab_tables import print_played
from core.domain.catalog import Server
from core.domain.tasks import Step, Task
from core.lab.execution import ROUNDS, Playing, Routed, play
from tests.routers import worlds

SURE = {"price_usd": 0.01, "latency_s": 2.0, "success": 1.0}
CATALOG = worlds.catalog(
    Server("a", "A", conn_s=1.0, post_accept_failure=0.0, tools=(worlds.tool("right", **SURE), worlds.tool("wrong", **SURE))),
    Server("b", "B", conn_s=1.0, post_accept_failure=0.0, tools=(worlds.tool("flaky", price_usd=0.01, latency_s=2.0, success=0.5),)),
)  # fmt: skip
CONTEXT = worlds.context(CATALOG, {}, {})
RIGHT, WRONG, FLAKY = 0, 1, 2


def executed(tasks, route, context, *, live=None, seeds=20, **playing):
    """Possible tasks, routed and played out."""
    mode = Playing(ROUNDS, seeds, **playing)
    possible = [task for task in tasks if task.relevant]
    return play(
        "toy", possible, [Routed.of(task, route(task)) for task in mode.routed(possible)], context, mode, live=live
    )


def played(routed, rows, *, relevant=("a::right", "b::flaky"), tasks=1, **options):
    """Plays a router that always gives these candidates."""
    decision = routed(CONTEXT, candidates=tuple(rows))
    task_list = [Task(f"t{number}", "do it", relevant=relevant) for number in range(tasks)]
    return executed(task_list, lambda _: decision, CONTEXT, **options)


def test_a_right_tool_first_takes_its_price_and_time_and_no_more(routed) -> None:
    run = played(routed, [RIGHT, WRONG, FLAKY])
    assert (run.success_rate.mean, run.invalid_tool_calls.mean, run.invalid_route_calls.mean) == (1.0, 0.0, 0.0)
    assert run.usd_per_solved.mean == pytest.approx(0.01)
    assert run.s_per_solved.mean == pytest.approx(3.0)
    assert run.value.mean == pytest.approx(0.10 - 0.01 - 3.0 / 1000)


def test_a_wrong_tool_first_is_paid_and_a_server_is_connected_to_once(routed) -> None:
    run = played(routed, [WRONG, RIGHT])
    assert run.invalid_tool_calls.mean == 1.0
    assert run.usd_per_solved.mean == pytest.approx(0.02)
    assert run.s_per_solved.mean == pytest.approx(1.0 + 2.0 + 2.0)


def test_what_comes_after_the_last_round_is_not_tried(routed) -> None:
    run = played(routed, [WRONG, WRONG, WRONG, RIGHT])
    assert (run.success_rate.mean, run.invalid_route_calls.mean) == (0.0, 1.0)
    assert math.isnan(run.usd_per_solved.mean)
    assert run.to_json()["usd_per_solved"] is None


def test_a_router_that_shows_more_candidates_has_no_more_tries(routed) -> None:
    """Ten are shown by Tool Attention and three by most; the last sub-task has two steps."""
    task = replace(STEPS, subtask="mail the report")
    more, three = (played_steps(routed, [WRONG, WRONG, RIGHT, *rest], task=task) for rest in ([WRONG, FLAKY], []))
    assert more.to_json() == three.to_json()


PLAN = (Step("a::right"), Step("b::flaky", needs=(0,), equal=("a::wrong",)))
STEPS = Task("s", "find the report, then mail it to Bo", relevant=("a::right", "b::flaky"), plan=PLAN)


def played_steps(routed, *rows, task=STEPS, **options):
    """A router with these candidates for each sub-task in order, or for the whole task."""
    parts = iter([routed(CONTEXT, candidates=tuple(ids)) for ids in rows])
    return executed([task], lambda _: next(parts), CONTEXT, **options)


def test_a_task_is_solved_only_with_all_steps_and_each_sub_task_is_routed(routed) -> None:
    solved = played_steps(routed, [RIGHT], [WRONG])
    assert (solved.success_rate.mean, solved.step_success_rate.mean, solved.invalid_calls.mean) == (1.0, 1.0, 0.0)
    assert solved.usd_per_solved.mean == pytest.approx(0.02)
    half = played_steps(routed, [RIGHT], [RIGHT])
    assert (half.success_rate.mean, half.step_success_rate.mean, half.invalid_tool_calls.mean) == (0.0, 0.5, 1.0)


def test_a_step_without_its_inputs_is_not_solved(routed) -> None:
    early = played_steps(routed, [WRONG], [RIGHT])
    assert (early.success_rate.mean, early.step_success_rate.mean, early.invalid_tool_calls.mean) == (0.0, 0.5, 1.0)
    free = replace(STEPS, plan=(PLAN[0], replace(PLAN[1], needs=())))
    assert played_steps(routed, [WRONG], [RIGHT], task=free).success_rate.mean == 1.0


def test_a_whole_task_tries_the_candidates_of_one_decision_for_all_steps(routed) -> None:
    run = played_steps(routed, [WRONG, RIGHT, WRONG], split=False)
    assert (run.success_rate.mean, run.invalid_tool_calls.mean) == (1.0, 1.0)
    assert run.usd_per_solved.mean == pytest.approx(0.03)
    assert played_steps(routed, [RIGHT], split=False).step_success_rate.mean == 0.5


def test_a_sub_task_that_is_not_needed_any_more_is_not_paid_for(routed) -> None:
    task = replace(
        STEPS, plan=(PLAN[0], Step("a::right")), subtask="find the report, then mail it to Bo and note the date"
    )
    run = played_steps(routed, [RIGHT], [RIGHT], [WRONG, WRONG], task=task)
    assert (run.success_rate.mean, run.invalid_calls.mean) == (1.0, 0.0)
    assert run.usd_per_task.mean == pytest.approx(0.02)


def test_no_candidate_is_an_invalid_route_call_that_costs_nothing(routed) -> None:
    run = played(routed, [])
    assert (run.invalid_calls.mean, run.usd_per_task.mean, run.success_rate.mean) == (1.0, 0.0, 0.0)


def test_a_try_pays_what_the_decision_agreed_on_also_after_storing(routed) -> None:
    paid = Routed.of(
        Task("t", "do it"), replace(routed(CONTEXT, candidates=(RIGHT,)), parameters={"settlement": "ask"})
    )
    posted = Routed.parse(json.loads(json.dumps(replace(paid, payments_usd=(0.5,)).to_json())))
    task, setting = Task("t", "do it", relevant=("a::right",)), Playing(ROUNDS, 2)
    assert play("toy", [task], [posted], CONTEXT, setting).usd_per_task.mean == pytest.approx(0.5)
    assert play("toy", [task], [paid], CONTEXT, setting).usd_per_task.mean == pytest.approx(0.01)


def test_a_right_tool_succeeds_as_often_as_it_is_declared_to(routed) -> None:
    run = played(routed, [FLAKY], tasks=200)
    assert run.success_rate.mean == pytest.approx(0.5, abs=0.03)
    assert run.success_rate.low < run.success_rate.mean < run.success_rate.high
    assert run.invalid_tool_calls.mean == 0.0, "a right tool that fails was no wrong choice"


def test_unpriced_tries_are_counted(routed, capsys) -> None:
    tools = replace(CONTEXT.statistics.tools, price_usd=np.array([np.nan, np.nan, 0.01]))
    unpriced = replace(CONTEXT, statistics=replace(CONTEXT.statistics, tools=tools))
    decision = routed(CONTEXT, candidates=(RIGHT, WRONG))  # the second is not tried
    task = Task("t", "do it", relevant=("a::right",))
    run = executed([task], lambda _: decision, unpriced)
    assert (run.unpriced_tries, run.usd_per_solved.mean) == (1.0, 0.0)
    print_played([run])
    assert "unpriced" in capsys.readouterr().out


def test_a_live_call_says_itself_how_it_went(routed) -> None:
    called = []

    def live(row: int) -> tuple[bool, float]:
        called.append(row)
        return row == FLAKY, 0.5

    run = played(routed, [RIGHT, FLAKY, WRONG], live=live)
    assert (run.success_rate.mean, called) == (1.0, [RIGHT, FLAKY])
    assert run.s_per_solved.mean == pytest.approx(1.0)
