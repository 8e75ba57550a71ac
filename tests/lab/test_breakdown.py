"""A run in parts: means by hand for each level, category and server."""

from __future__ import annotations

from core.domain.tasks import Task
from core.lab.stored_runs import parts
from tests.cases import each

TASKS = (
    Task("a", "a", relevant=("s::x",), level="L1", category="files"),
    Task("b", "b", relevant=("s::x", "t::y"), level="L1"),
    Task("c", "c", level="L5"),
    Task("d", "d", level="L5"),
)
RESULT = {
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
    found = parts(TASKS, RESULT, "RR", by)
    shown = [(p.group, p.n, None if p.n == 0 else p.mean, p.impossible, p.refused) for p in found]
    assert shown == expected
    assert all(p.low <= p.mean <= p.high for p in found if p.n)
