"""Failed tasks of a stored run, grouped by why."""

from __future__ import annotations

from core.domain.tasks import Task
from core.domain.trace import Drop
from core.lab.stored_runs import STAGES, Why, failures

POSSIBLE = [Task(name, name, relevant=(f"s::{name}",)) for name in "abcdefgh"]
TASKS = [*POSSIBLE, Task("none", "fly to the moon"), Task("fine", "refused", relevant=())]
RESULT = {
    "tasks": {
        "a": {"rank": 1, "candidates": ["s::a"]},
        "b": {"rank": 2, "candidates": ["s::a", "s::b"]},
        "c": {"rank": None, "candidates": [], "dropped_by": "absent"},
        "d": {"rank": None, "candidates": ["s::a"], "dropped_by": "not_shortlisted"},
        "e": {"rank": None, "candidates": ["s::a"], "dropped_by": "not_retrieved"},
        "f": {"rank": None, "candidates": ["s::a"], "dropped_by": "rejected"},
        "g": {"rank": None, "candidates": [], "dropped_by": "refused"},
        "h": {"rank": None, "candidates": ["s::a"]},
        "none": {"rank": None, "candidates": ["s::a"]},
        "fine": {"rank": None, "candidates": []},
    }
}


def test_failed_tasks_are_grouped_by_why_and_the_largest_group_is_first() -> None:
    found = failures(TASKS, RESULT)
    assert {why: [(one.task.id, one.stage) for one in ones] for why, ones in found.items()} == {
        Why.OUT_RANKED: [("b", "not_first"), ("e", "not_retrieved")],
        Why.NOT_IN_INDEX: [("c", "absent")],
        Why.WRONG_SERVER: [("d", "not_shortlisted")],
        Why.PRICED_OUT: [("f", "rejected")],
        Why.REFUSED_WRONGLY: [("g", "refused")],
        Why.UNKNOWN: [("h", "unknown")],
        Why.NOT_REFUSED: [("none", "not_refused")],
    }
    assert next(iter(found)) is Why.OUT_RANKED


def test_every_stage_that_drops_a_tool_has_a_group() -> None:
    assert set(Drop) <= set(STAGES)
