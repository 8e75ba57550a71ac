"""Stored runs task by task: what was won and lost."""

from __future__ import annotations

from core.domain.tasks import Task
from core.lab.stored_runs import task_changes, task_values

TASKS = [Task(name, name, relevant=(f"s::{name}",)) for name in "abcd"] + [Task("none", "fly to the moon")]


def entry(rank: int | None, *candidates: str, **more: str) -> dict[str, object]:
    return {"rank": rank, "candidates": list(candidates), **more}


BEFORE = {"tasks": {
    "a": entry(1, "s::a"), "b": entry(2, "s::a", "s::b"), "c": entry(None, dropped_by="gated"), "d": entry(None, "s::a"),
    "none": entry(None, "s::a"),
}}  # fmt: skip
AFTER = {"tasks": {
    "a": entry(2, "s::b", "s::a"), "b": entry(1, "s::b"), "c": entry(None, dropped_by="gated"), "d": entry(1, "s::d"),
    "none": entry(None),
}}  # fmt: skip


def test_values_are_of_the_possible_tasks_alone() -> None:
    assert task_values(TASKS, BEFORE, "RR").tolist() == [1.0, 0.5, 0.0, 0.0]
    assert task_values([TASKS[4]], BEFORE, "RR").tolist() == []


def test_a_task_is_won_by_the_measure_and_an_impossible_one_by_being_refused() -> None:
    found = task_changes(TASKS, BEFORE, AFTER, "RR")
    assert [one.change for one in found] == ["lost", "won", "same", "won", "won"]
    assert [(one.was, one.now) for one in found] == [(1, 2), (2, 1), (None, None), (None, 1), (None, None)]
    assert [one.change for one in task_changes(TASKS, BEFORE, AFTER, "Success@3")] == [
        "same",
        "same",
        "same",
        "won",
        "won",
    ]
    assert [one.change for one in task_changes(TASKS[4:], AFTER, BEFORE, "RR")] == ["lost"]
