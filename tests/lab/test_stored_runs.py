"""Stored runs task by task: wins and losses, parts, failures by reason, and decisions side by side."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Catalog
from core.domain.tasks import Task
from core.domain.trace import Drop
from core.lab.stored_runs import (
    STAGES,
    Why,
    agreement,
    compared_tools,
    failures,
    parts,
    task_changes,
    winners,
)
from core.routers.baselines import FullCatalog, RagMcp
from core.routers.ehrr import Ehrr
from tests.cases import each
from tests.routers import worlds

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


def test_a_task_is_won_by_the_measure_and_an_impossible_one_by_being_refused() -> None:
    changes = task_changes(TASKS, BEFORE, AFTER, "RR")
    assert [task.change for task in changes] == ["lost", "won", "same", "won", "won"]
    assert [(task.was, task.now) for task in changes] == [(1, 2), (2, 1), (None, None), (None, 1), (None, None)]
    assert [task.change for task in task_changes(TASKS, BEFORE, AFTER, "Success@3")] == [
        "same",
        "same",
        "same",
        "won",
        "won",
    ]
    assert [task.change for task in task_changes(TASKS[4:], AFTER, BEFORE, "RR")] == ["lost"]


@pytest.fixture(scope="module")
def decisions():
    chosen = ((Ehrr, worlds.table_v()), (RagMcp, None), (FullCatalog, None))
    return tuple(router().route("x", worlds.tables_context(), parameters) for router, parameters in chosen)


def test_each_tool_has_its_place_in_each_decision(decisions) -> None:
    placings = {tool.tool: tool.placings for tool in compared_tools(decisions)}
    assert [placing.rank for placing in placings["s1::t12"]] == [1, None, None]
    assert placings["s1::t12"][1].dropped_by is Drop.OUTRANKED
    assert [placing.rank for placing in placings["s2::t21"]] == [None, 1, 1]
    assert placings["s2::t21"][0].dropped_by is Drop.REJECTED
    assert placings["s1::t12"][0].score == pytest.approx(0.516, abs=5e-4)


def test_agreement_is_the_overlap_of_candidates(decisions) -> None:
    overlap = agreement(decisions)
    assert overlap.shape == (3, 3)
    assert np.array_equal(overlap, overlap.T)
    assert np.array_equal(np.diag(overlap), np.ones(3))
    assert overlap[1, 2] == 1.0
    assert overlap[0, 1] == pytest.approx(1 / 4)  # t12, t13 against t21, t11, t13
    assert agreement(()).shape == (0, 0)


def test_winners_are_counted(decisions) -> None:
    assert winners(decisions) == {"s2::t21": 2, "s1::t12": 1}
    nothing = Ehrr().route("x", worlds.context(Catalog("empty"), {}, {}))
    assert winners((nothing,)) == {"": 1}
    assert agreement((nothing, nothing)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


PARTED = (
    Task("a", "a", relevant=("s::x",), level="L1", category="files"),
    Task("b", "b", relevant=("s::x", "t::y"), level="L1"),
    Task("c", "c", level="L5"),
    Task("d", "d", level="L5"),
)
PARTED_RESULT = {
    "tasks": {
        "a": {"candidates": ["s::x"]},
        "b": {"candidates": ["t::z", "t::y"]},
        "c": {"candidates": []},
        "d": {"candidates": ["s::x"]},
    }
}


@each(
    ("by", "expected"),
    [
        ("level", [("L1", 2, 0.75, 0, 0), ("L5", 0, None, 2, 1)]),
        ("category", [("", 1, 0.5, 2, 1), ("files", 1, 1.0, 0, 0)]),
        ("server", [("", 0, None, 2, 1), ("s", 2, 0.75, 0, 0), ("t", 1, 0.5, 0, 0)]),
    ],
)
def test_parts_by_hand(by: str, expected: list[tuple[object, ...]]) -> None:
    groups = parts(PARTED, PARTED_RESULT, "RR", by)
    rows = [(p.group, p.n, None if p.n == 0 else p.mean, p.impossible, p.refused) for p in groups]
    assert rows == expected
    assert all(p.low <= p.mean <= p.high for p in groups if p.n)


POSSIBLE = [Task(name, name, relevant=(f"s::{name}",)) for name in "abcdefgh"]
FAILING = [*POSSIBLE, Task("none", "fly to the moon"), Task("fine", "refused", relevant=())]
FAILING_RESULT = {
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
    failed = failures(FAILING, FAILING_RESULT)
    assert {why: [(task.id, where) for task, where in failures] for why, failures in failed.items()} == {
        Why.OUT_RANKED: [("b", "not_first"), ("e", "not_retrieved")],
        Why.NOT_IN_INDEX: [("c", "absent")],
        Why.WRONG_SERVER: [("d", "not_shortlisted")],
        Why.PRICED_OUT: [("f", "rejected")],
        Why.REFUSED_WRONGLY: [("g", "refused")],
        Why.UNKNOWN: [("h", "unknown")],
        Why.NOT_REFUSED: [("none", "not_refused")],
    }
    assert next(iter(failed)) is Why.OUT_RANKED


def test_every_stage_that_drops_a_tool_has_a_group() -> None:
    assert set(Drop) <= set(STAGES)
